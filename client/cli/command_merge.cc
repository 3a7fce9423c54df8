// corank merge.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text_array.h"

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
  std::vector<InputArray> arrays;  // keeps the files that the request's views refer to
  arrays.reserve(key_paths.size() + value_paths.size());
  std::vector<InputArray*> keys_of_inputs;
  int64_t elements = 0;
  for (const std::string& path : key_paths) {
    absl::StatusOr<InputArray> keys = (*session)->LoadMain(path, *type, "--type, for instance --type uint32");
    if (!keys.ok()) return keys.status();
    arrays.push_back(*std::move(keys));
    keys_of_inputs.push_back(&arrays.back());
  }
  if (const absl::Status unified = UnifyTextTypes(keys_of_inputs, key_paths); !unified.ok()) return unified;
  for (size_t i = 0; i < key_paths.size(); ++i) {
    const absl::Status sorted =
        request.assume_sorted ? absl::OkStatus() : CheckTextIsSorted(arrays[i], key_paths[i], *order);
    if (!sorted.ok()) return sorted;
    request.keys.push_back(arrays[i].view());
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
  // The lines of texts move with their numbers, so that each keeps its spelling.
  std::vector<absl::string_view> lines;
  std::vector<std::vector<int64_t>> numbers_of_lines;
  const bool are_texts = std::all_of(keys_of_inputs.begin(), keys_of_inputs.end(),
                                     [](const InputArray* keys) { return keys->format == Format::kText; });
  const bool keeps_lines = are_texts && value_paths.empty() && (*session)->IsTextOutput("output");
  if (keeps_lines) {
    for (const InputArray* keys : keys_of_inputs) {
      std::vector<int64_t>& numbers = numbers_of_lines.emplace_back();
      for (const Cell& line : keys->lines.lines) {
        numbers.push_back(static_cast<int64_t>(lines.size()));
        lines.push_back(line.text);
      }
      request.values.push_back(client::ViewOf(numbers));
    }
  }
  absl::StatusOr<client::Output> keys_output = (*session)->PlaceOutput("output", request.keys[0].type, elements);
  if (!keys_output.ok()) return keys_output.status();
  request.keys_output = *std::move(keys_output);
  if (!value_paths.empty()) {
    absl::StatusOr<client::Output> values_output =
        (*session)->PlaceOutput("values-output", request.values[0].type, elements);
    if (!values_output.ok()) return values_output.status();
    request.values_output = *std::move(values_output);
  }
  absl::StatusOr<client::RawMergeResult> result = (*session)->Call(
      [&](const client::Client& client, const client::CallOptions& call) { return client.Merge(request, call); });
  if (!result.ok()) return result.status();
  if (keeps_lines) {
    if (!result->values.has_value()) return absl::InternalError("the server answered without values");
    status = (*session)->SaveLines("output", "", lines, arrays.front().lines.line_end, *result->values,
                                   result->keys.type.Name());
  } else {
    status = (*session)->Save("output", result->keys);
  }
  if (status.ok() && !value_paths.empty() && result->values.has_value())
    status = (*session)->Save("values-output", *result->values);
  if (!status.ok()) return status;
  return (*session)->Finish(
      {"merge", elements, result->keys.type.Name(), MergeAlgorithmName(result->algorithm), std::move(result->stats)});
}

}  // namespace

Command MergeCommand() {
  return {{"merge", "merge sorted arrays into one", "KEYS KEYS...", 2, kMaxMergeInputs,
           "Each input must be sorted in the chosen order. Of equal keys, those of earlier inputs come first.",
           "corank merge a.npy b.npy c.npy -o all.npy\n"
           "corank merge monday.txt tuesday.txt >both.txt\n"
           "corank merge a.bin b.bin --type u64 --values a.rows --values b.rows --values-record-bytes 16 \\\n"
           "    -o all.bin --values-output all.rows",
           WithOperatorOptions(
               {kOutputOption,
                kKeyTypeOption,
                kFormatOption,
                kOrderOption,
                kDescendingOption,
                {"algorithm", 'a', "NAME", "auto, merge-path, basic, tiled or circular-buffer (default: auto)", false,
                 "auto merge-path basic tiled circular-buffer"},
                {"values", 0, "FILE", "one value for each key; give it once for each input", true},
                {"values-type", 0, "TYPE", "type of the values in raw files", false, kTypeNames},
                {"values-record-bytes", 0, "N", "the values in raw files are records of N bytes"},
                {"values-output", 0, "FILE", "file for the values, in the order of their keys"},
                kAssumeSortedOption})},
          RunMerge};
}

}  // namespace corank::cli
