// corank group.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"

namespace corank::cli {
namespace {

absl::StatusOr<client::GroupRequest> ReadGroupOptions(const Arguments& arguments) {
  client::GroupRequest request;
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  request.order = *order;
  absl::StatusOr<client::GroupInput> input = Choice<client::GroupInput>(arguments, "input",
                                                                        {{"unsorted", client::GroupInput::kUnsorted},
                                                                         {"sorted", client::GroupInput::kSorted},
                                                                         {"runs", client::GroupInput::kRuns}});
  if (!input.ok()) return input.status();
  request.input = *input;
  if (request.input == client::GroupInput::kRuns && request.order == Order::kDescending) {
    return UsageError("runs keep the order of the array; leave out --descending, or --input runs");
  }
  request.wants.counts = arguments.Has("counts-output");
  request.wants.firsts = arguments.Has("firsts-output");
  request.wants.sums = arguments.Has("sums-output");
  request.wants.minima = arguments.Has("minima-output");
  request.wants.maxima = arguments.Has("maxima-output");
  const bool reduces = request.wants.sums || request.wants.minima || request.wants.maxima;
  if (reduces && !arguments.Has("values")) return UsageError("sums, minima and maxima are of --values FILE; give it");
  if (!reduces && arguments.Has("values")) {
    return UsageError("--values FILE goes with --sums-output, --minima-output or --maxima-output; give one of them");
  }
  return request;
}

absl::Status RunGroup(const Arguments& arguments) {
  absl::StatusOr<client::GroupRequest> request = ReadGroupOptions(arguments);
  if (!request.ok()) return request.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<client::ElementType>> values_type = TypeOption(arguments, "values-type", nullptr);
  if (!values_type.ok()) return values_type.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(
      arguments, {"output", "counts-output", "firsts-output", "sums-output", "minima-output", "maxima-output"});
  if (!session.ok()) return session.status();
  absl::StatusOr<InputArray> keys = (*session)->LoadMain(arguments.positional()[0], *type, "--type");
  if (!keys.ok()) return keys.status();
  request->keys = keys->view();
  absl::StatusOr<InputArray> values = InputArray();
  if (const std::optional<std::string> path = arguments.Get("values"); path.has_value()) {
    values = (*session)->Load(*path, *values_type, "--values-type");
    if (!values.ok()) return values.status();
    request->values = values->view();
  }
  absl::StatusOr<client::RawGroupResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Group(*request, call); });
  if (!result.ok()) return result.status();
  const std::pair<const char*, const std::optional<client::Array>&> results[] = {
      {"output", result->keys},      {"counts-output", result->counts}, {"firsts-output", result->firsts},
      {"sums-output", result->sums}, {"minima-output", result->minima}, {"maxima-output", result->maxima}};
  for (const auto& [option, array] : results) {
    if (!array.has_value()) continue;
    if (const absl::Status saved = (*session)->Save(option, *array); !saved.ok()) return saved;
  }
  return (*session)->Finish({"group", request->keys.count(), keys->type.Name(), "", std::move(result->stats)});
}

}  // namespace

Command GroupCommand() {
  return {
      {"group", "find the distinct keys, count them, and reduce their values", "KEYS", 1, 1,
       "Keys come out in order, each once. Every other result is a file with an element for each of them: counts\n"
       "(int64), first positions (uint32, or uint64 if there are more than 2^32 keys), and the sums (int64, uint64\n"
       "or float64), minima and maxima of the values. All NaNs are one key.",
       "corank group nums.txt\n"
       "corank group keys.npy -o distinct.npy --counts-output counts.npy\n"
       "corank group shop.npy -o shops.npy --values amount.npy --sums-output totals.npy\n"
       "corank group states.npy --input runs -o runs.npy --counts-output lengths.npy",
       WithOperatorOptions({{"output", 'o', "FILE",
                             "file for the distinct keys: .npy, .txt or raw by its name; - is standard output\n"
                             "(default: standard output if the input is text)"},
                            {"counts-output", 0, "FILE", "file for the number of keys in each group"},
                            {"firsts-output", 0, "FILE", "file for the position of each group's first key"},
                            {"values", 0, "FILE", "one number for each key"},
                            {"values-type", 0, "TYPE", "type of the values in a raw file", false, kTypeNames},
                            {"sums-output", 0, "FILE", "file for the sum of each group's values"},
                            {"minima-output", 0, "FILE", "file for the least value of each group"},
                            {"maxima-output", 0, "FILE", "file for the greatest value of each group"},
                            {"input", 0, "INPUT",
                             "unsorted, sorted or runs: how equal keys lie (default: unsorted); with runs,\n"
                             "each run of equal neighbours is a group",
                             false, "unsorted sorted runs"},
                            kKeyTypeOption,
                            kFormatOption,
                            kOrderOption,
                            kDescendingOption})},
      RunGroup};
}

}  // namespace corank::cli
