// corank sort, corank argsort.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"

namespace corank::cli {
namespace {

constexpr OptionSpec kSortAlgorithmOption = {"algorithm", 'a', "NAME",
                                             "auto (the default), mergesort, radix, odd-even-mergesort"};
constexpr OptionSpec kSegmentsOption = {"segments", 0, "FILE",
                                        "int64 offsets, one more than there are segments; each is sorted for itself"};
constexpr OptionSpec kLimitOption = {"limit", 'n', "N", "only the first N results"};

/// Reads what sort and argsort share. *segments keeps the offsets alive.
absl::Status ReadSortOptions(Session* session, std::vector<int64_t>* segments, client::SortOptions* options) {
  const Arguments& arguments = session->arguments();
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  absl::StatusOr<SortAlgorithm> algorithm = SortAlgorithmChoice(arguments);
  if (!algorithm.ok()) return algorithm.status();
  absl::StatusOr<std::optional<int64_t>> limit = arguments.GetCount("limit");
  if (!limit.ok()) return limit.status();
  if (limit->has_value() && arguments.Has("segments")) {
    return UsageError("--limit does not go together with --segments; give one of them");
  }
  *options = {*order, *algorithm, std::nullopt, *limit};
  if (!arguments.Has("segments")) return absl::OkStatus();
  absl::StatusOr<std::vector<int64_t>> offsets = session->LoadInt64Option("segments");
  if (!offsets.ok()) return offsets.status();
  *segments = *std::move(offsets);
  options->segment_offsets = *segments;
  return absl::OkStatus();
}

absl::StatusOr<InputArray> LoadKeys(Session* session) {
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(session->arguments(), "type", nullptr);
  if (!type.ok()) return type.status();
  return session->LoadMain(session->arguments().positional()[0], *type, "--type, for instance --type uint32");
}

absl::Status RunSort(const Arguments& arguments) {
  if (arguments.Has("values") != arguments.Has("values-output")) {
    return UsageError("--values FILE and --values-output FILE go together");
  }
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "values-output"});
  if (!session.ok()) return session.status();
  std::vector<int64_t> segments;
  client::SortRequest request;
  absl::Status status = ReadSortOptions(session->get(), &segments, &request);
  if (!status.ok()) return status;
  absl::StatusOr<std::optional<client::ElementType>> values_type =
      TypeOption(arguments, "values-type", "values-record-bytes");
  if (!values_type.ok()) return values_type.status();

  absl::StatusOr<InputArray> keys = LoadKeys(session->get());
  if (!keys.ok()) return keys.status();
  request.keys = keys->view();
  status = (*session)->OutputIsLike("output", *keys);
  if (!status.ok()) return status;
  absl::StatusOr<InputArray> values = InputArray();
  if (const std::optional<std::string> path = arguments.Get("values"); path.has_value()) {
    values = (*session)->Load(*path, *values_type, "--values-type or --values-record-bytes");
    if (!values.ok()) return values.status();
    request.values = values->view();
    status = (*session)->OutputIsLike("values-output", *values);
    if (!status.ok()) return status;
  }
  const int64_t count = std::min(request.limit.value_or(keys->view().count()), keys->view().count());
  absl::StatusOr<client::Output> keys_output = (*session)->PlaceOutput("output", keys->type, count);
  if (!keys_output.ok()) return keys_output.status();
  request.keys_output = *std::move(keys_output);
  if (request.values.has_value()) {
    absl::StatusOr<client::Output> values_output = (*session)->PlaceOutput("values-output", values->type, count);
    if (!values_output.ok()) return values_output.status();
    request.values_output = *std::move(values_output);
  }
  absl::StatusOr<client::RawSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Sort(request, call); });
  if (!result.ok()) return result.status();
  if (result->keys.has_value()) status = (*session)->Save("output", *result->keys);
  if (status.ok() && result->values.has_value()) status = (*session)->Save("values-output", *result->values);
  if (!status.ok()) return status;
  return (*session)->Finish(
      {"sort", request.keys.count(), keys->type, SortAlgorithmName(result->algorithm), std::move(result->stats)});
}

absl::Status RunArgsort(const Arguments& arguments) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "keys-output"});
  if (!session.ok()) return session.status();
  std::vector<int64_t> segments;
  client::SortRequest request;
  absl::Status status = ReadSortOptions(session->get(), &segments, &request);
  if (!status.ok()) return status;
  absl::StatusOr<InputArray> keys = LoadKeys(session->get());
  if (!keys.ok()) return keys.status();
  request.keys = keys->view();
  request.output = arguments.Has("keys-output") ? client::SortOutput::kKeysAndIndices : client::SortOutput::kIndices;
  status = (*session)->OutputIsLike("keys-output", *keys);
  if (!status.ok()) return status;
  absl::StatusOr<client::RawSortResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Sort(request, call); });
  if (!result.ok()) return result.status();
  if (result->indices.has_value()) status = (*session)->Save("output", *result->indices);
  if (status.ok() && result->keys.has_value()) status = (*session)->Save("keys-output", *result->keys);
  if (!status.ok()) return status;
  return (*session)->Finish(
      {"argsort", request.keys.count(), keys->type, SortAlgorithmName(result->algorithm), std::move(result->stats)});
}

}  // namespace

Command SortCommand() {
  return {{"sort", "sort keys, alone or with values", "KEYS", 1, 1,
           "The sort is stable in both directions. NaNs come last ascending and first descending.",
           "corank sort keys.npy -o sorted.npy\n"
           "corank sort keys.bin --type uint32 --descending --limit 100 -o top.bin\n"
           "corank sort keys.npy --values rows.bin --values-record-bytes 24 -o k.npy --values-output rows.sorted\n"
           "generate | corank sort - --type f64 -o - | consume",
           WithOperatorOptions({kOutputOption,
                                kKeyTypeOption,
                                kOrderOption,
                                kDescendingOption,
                                kSortAlgorithmOption,
                                {"values", 0, "FILE", "one value for each key; moves with its key"},
                                {"values-type", 0, "TYPE", "type of the values in a raw file"},
                                {"values-record-bytes", 0, "N", "the values in a raw file are records of N bytes"},
                                {"values-output", 0, "FILE", "the values in the order of their keys"},
                                kSegmentsOption,
                                kLimitOption})},
          RunSort};
}

Command ArgsortCommand() {
  return {{"argsort", "the permutation that sorts keys", "KEYS", 1, 1,
           "Indices are uint32, or uint64 where there are more than 2^32 keys.",
           "corank argsort keys.npy -o order.npy\n"
           "corank argsort keys.bin --type f32 -o order.npy --keys-output sorted.bin",
           WithOperatorOptions({{"output", 'o', "FILE", "the indices; .npy or raw by its name, - for standard output"},
                                {"keys-output", 0, "FILE", "the sorted keys too"},
                                kKeyTypeOption,
                                kOrderOption,
                                kDescendingOption,
                                kSortAlgorithmOption,
                                kSegmentsOption,
                                kLimitOption})},
          RunArgsort};
}

}  // namespace corank::cli
