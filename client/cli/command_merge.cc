// corank merge.
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"

namespace corank::cli {
namespace {

absl::Status RunMerge(const Arguments& arguments) {
  const std::vector<std::string>& key_paths = arguments.positional();
  const std::vector<std::string> value_paths = arguments.GetAll("values");
  if (value_paths.empty() == arguments.Has("values-output")) {
    return UsageError("--values FILE, once for each input, and --values-output FILE go together");
  }
  if (!value_paths.empty() && value_paths.size() != key_paths.size()) {
    return UsageError(absl::StrCat("give --values once for each of the ", key_paths.size(), " inputs, not ",
                                   value_paths.size(), value_paths.size() == 1 ? " time" : " times"));
  }
  client::MergeRequest request;
  absl::StatusOr<Order> order = OrderChoice(arguments);
  if (!order.ok()) return order.status();
  absl::StatusOr<MergeAlgorithm> algorithm = MergeAlgorithmChoice(arguments);
  if (!algorithm.ok()) return algorithm.status();
  absl::StatusOr<std::optional<client::ElementType>> type = TypeOption(arguments, "type", nullptr);
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<client::ElementType>> values_type =
      TypeOption(arguments, "values-type", "values-record-bytes");
  if (!values_type.ok()) return values_type.status();
  request.order = *order;
  request.algorithm = *algorithm;
  request.assume_sorted = arguments.Has("assume-sorted");

  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(arguments, {"output", "values-output"});
  if (!session.ok()) return session.status();
  std::vector<InputArray> arrays;  // keeps the files that the request's views look into
  arrays.reserve(key_paths.size() + value_paths.size());
  int64_t elements = 0;
  for (const std::string& path : key_paths) {
    absl::StatusOr<InputArray> keys = (*session)->LoadMain(path, *type, "--type, for instance --type uint32");
    if (!keys.ok()) return keys.status();
    arrays.push_back(*std::move(keys));
    request.keys.push_back(arrays.back().view());
    elements += request.keys.back().count();
  }
  for (const std::string& path : value_paths) {
    absl::StatusOr<InputArray> values = (*session)->Load(path, *values_type, "--values-type or --values-record-bytes");
    if (!values.ok()) return values.status();
    arrays.push_back(*std::move(values));
    request.values.push_back(arrays.back().view());
  }
  absl::Status status = (*session)->OutputIsLike("output", arrays.front());
  if (status.ok() && !value_paths.empty()) {
    status = (*session)->OutputIsLike("values-output", arrays[key_paths.size()]);
  }
  if (!status.ok()) return status;
  absl::StatusOr<client::Output> keys_output = (*session)->PlaceOutput("output", request.keys[0].type, elements);
  if (!keys_output.ok()) return keys_output.status();
  request.keys_output = *std::move(keys_output);
  if (!request.values.empty()) {
    absl::StatusOr<client::Output> values_output =
        (*session)->PlaceOutput("values-output", request.values[0].type, elements);
    if (!values_output.ok()) return values_output.status();
    request.values_output = *std::move(values_output);
  }
  absl::StatusOr<client::RawMergeResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Merge(request, call); });
  if (!result.ok()) return result.status();
  status = (*session)->Save("output", result->keys);
  if (status.ok() && result->values.has_value()) status = (*session)->Save("values-output", *result->values);
  if (!status.ok()) return status;
  return (*session)->Finish(
      {"merge", elements, result->keys.type, MergeAlgorithmName(result->algorithm), std::move(result->stats)});
}

}  // namespace

Command MergeCommand() {
  return {
      {"merge", "merge sorted arrays into one", "KEYS KEYS...", 2, kMaxMergeInputs,
       "Each input must be sorted in the order that is asked for. Equal keys are taken from the earlier input first.",
       "corank merge a.npy b.npy c.npy -o all.npy\n"
       "corank merge a.bin b.bin --type u64 --values a.rows --values b.rows --values-record-bytes 16 \\\n"
       "    -o all.bin --values-output all.rows",
       WithOperatorOptions({kOutputOption,
                            kKeyTypeOption,
                            kOrderOption,
                            kDescendingOption,
                            {"algorithm", 'a', "NAME", "auto (the default), merge-path, basic, tiled, circular-buffer"},
                            {"values", 0, "FILE", "one value for each key; once for each input, in their order", true},
                            {"values-type", 0, "TYPE", "type of the values in raw files"},
                            {"values-record-bytes", 0, "N", "the values in raw files are records of N bytes"},
                            {"values-output", 0, "FILE", "the values in the order of their keys"},
                            kAssumeSortedOption})},
      RunMerge};
}

}  // namespace corank::cli
