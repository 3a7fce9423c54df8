// corank expand, move, gather, scatter.
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"

namespace corank::cli {
namespace {

using client::RawResult;

constexpr OptionSpec kCountsOption = {"counts", 'c', "FILE",
                                      "file with the number of elements of each interval, int64"};
constexpr OptionSpec kSourceOffsetsOption = {"source-offsets", 0, "FILE",
                                             "file with the index in the source where each interval begins, int64"};
constexpr OptionSpec kDestinationOffsetsOption = {"destination-offsets", 0, "FILE",
                                                  "file with the index in the result where each interval goes, int64"};
constexpr OptionSpec kDestinationOption = {"destination", 0, "FILE",
                                           "file with the result before the move; it has the type of the source"};
constexpr OptionSpec kDestinationCountOption = {"destination-count", 0, "N", "instead of --destination: N zeros"};
constexpr OptionSpec kAllowOverlapOption = {"allow-overlap", 0, nullptr,
                                            "skip the check that intervals do not overlap in the result"};

/// One run of an interval command: the source and the int64 files that the command has.
struct IntervalInputs {
  std::unique_ptr<Session> session;
  InputArray source;
  std::vector<int64_t> source_offsets, destination_offsets, counts;
};

absl::StatusOr<IntervalInputs> LoadIntervals(const Arguments& arguments, bool has_source_offsets,
                                             bool has_destination_offsets) {
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", "record-bytes");
  if (!type.ok()) return type.status();
  IntervalInputs inputs;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output"});
  if (!session.ok()) return session.status();
  inputs.session = *std::move(session);
  const auto load = [&inputs](bool wanted, const char* option, std::vector<int64_t>* to) -> absl::Status {
    if (!wanted) return absl::OkStatus();
    absl::StatusOr<std::vector<int64_t>> numbers = inputs.session->LoadInt64Option(option);
    if (!numbers.ok()) return numbers.status();
    *to = *std::move(numbers);
    return absl::OkStatus();
  };
  absl::Status status = load(has_source_offsets, "source-offsets", &inputs.source_offsets);
  if (status.ok()) status = load(has_destination_offsets, "destination-offsets", &inputs.destination_offsets);
  if (status.ok()) status = load(true, "counts", &inputs.counts);
  if (!status.ok()) return status;
  absl::StatusOr<InputArray> source =
      inputs.session->LoadMain(arguments.positional()[0], *type, "--type or --record-bytes");
  if (!source.ok()) return source.status();
  inputs.source = *std::move(source);
  status = inputs.session->OutputIsLike("output", inputs.source);
  if (!status.ok()) return status;
  return inputs;
}

absl::Status SaveAndFinish(const char* operation, IntervalInputs* inputs, absl::StatusOr<RawResult> result) {
  if (!result.ok()) return result.status();
  const absl::Status saved = inputs->session->Save("output", result->array);
  if (!saved.ok()) return saved;
  return inputs->session->Finish(
      {operation, inputs->source.view().count(), inputs->source.type.Name(), "", std::move(result->stats)});
}

absl::Status RunExpand(const Arguments& arguments) {
  absl::StatusOr<IntervalInputs> inputs = LoadIntervals(arguments, false, false);
  if (!inputs.ok()) return inputs.status();
  const client::ExpandRequest request{inputs->source.view(), inputs->counts};
  return SaveAndFinish("expand", &*inputs,
                       inputs->session->Call([&](const client::Client& client, const client::CallOptions& call) {
                         return client.ExpandIntervals(request, call);
                       }));
}

absl::Status RunGather(const Arguments& arguments) {
  absl::StatusOr<IntervalInputs> inputs = LoadIntervals(arguments, true, false);
  if (!inputs.ok()) return inputs.status();
  const client::GatherRequest request{inputs->source.view(), inputs->source_offsets, inputs->counts};
  return SaveAndFinish("gather", &*inputs,
                       inputs->session->Call([&](const client::Client& client, const client::CallOptions& call) {
                         return client.GatherIntervals(request, call);
                       }));
}

absl::Status RunMove(const Arguments& arguments) {
  absl::StatusOr<IntervalInputs> inputs = LoadIntervals(arguments, true, true);
  if (!inputs.ok()) return inputs.status();
  InputArray storage;
  absl::StatusOr<client::InitialDestination> destination =
      inputs->session->LoadDestination(inputs->source.type, &storage);
  if (!destination.ok()) return destination.status();
  const client::MoveRequest request{inputs->source.view(), inputs->source_offsets,  inputs->destination_offsets,
                                    inputs->counts,        *std::move(destination), arguments.Has("allow-overlap")};
  return SaveAndFinish("move", &*inputs,
                       inputs->session->Call([&](const client::Client& client, const client::CallOptions& call) {
                         return client.MoveIntervals(request, call);
                       }));
}

absl::Status RunScatter(const Arguments& arguments) {
  absl::StatusOr<IntervalInputs> inputs = LoadIntervals(arguments, false, true);
  if (!inputs.ok()) return inputs.status();
  InputArray storage;
  absl::StatusOr<client::InitialDestination> destination =
      inputs->session->LoadDestination(inputs->source.type, &storage);
  if (!destination.ok()) return destination.status();
  const client::ScatterRequest request{inputs->source.view(), inputs->destination_offsets, inputs->counts,
                                       *std::move(destination), arguments.Has("allow-overlap")};
  return SaveAndFinish("scatter", &*inputs,
                       inputs->session->Call([&](const client::Client& client, const client::CallOptions& call) {
                         return client.ScatterIntervals(request, call);
                       }));
}

}  // namespace

Command ExpandCommand() {
  return {{"expand", "repeat value i counts[i] times", "VALUES", 1, 1, "Counts are int64.",
           "corank expand values.npy --counts counts.npy -o expanded.npy",
           WithOperatorOptions({kOutputOption, kCountsOption, kElementTypeOption, kRecordOption, kFormatOption})},
          RunExpand};
}

Command MoveCommand() {
  return {{"move", "copy intervals of a source to any places of a result", "SOURCE", 1, 1, "",
           "corank move data.npy --source-offsets from.npy --destination-offsets to.npy --counts n.npy \\\n"
           "    --destination-count 1000 -o moved.npy",
           WithOperatorOptions({kOutputOption, kSourceOffsetsOption, kDestinationOffsetsOption, kCountsOption,
                                kDestinationOption, kDestinationCountOption, kAllowOverlapOption, kElementTypeOption,
                                kRecordOption, kFormatOption})},
          RunMove};
}

Command GatherCommand() {
  return {{"gather", "copy intervals of a source into one dense array", "SOURCE", 1, 1, "",
           "corank gather data.bin --record-bytes 24 --source-offsets from.npy --counts n.npy -o gathered.bin",
           WithOperatorOptions(
               {kOutputOption, kSourceOffsetsOption, kCountsOption, kElementTypeOption, kRecordOption, kFormatOption})},
          RunGather};
}

Command ScatterCommand() {
  return {{"scatter", "copy a dense source into intervals of a result", "SOURCE", 1, 1,
           "Piece i of the source has counts[i] elements and goes to destination_offsets[i].",
           "corank scatter data.npy --destination-offsets to.npy --counts n.npy --destination old.npy -o new.npy",
           WithOperatorOptions({kOutputOption, kDestinationOffsetsOption, kCountsOption, kDestinationOption,
                                kDestinationCountOption, kAllowOverlapOption, kElementTypeOption, kRecordOption,
                                kFormatOption})},
          RunScatter};
}

}  // namespace corank::cli
