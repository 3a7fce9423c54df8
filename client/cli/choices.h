// Options whose value is one of a few names.
#ifndef CORANK_CLIENT_CLI_CHOICES_H_
#define CORANK_CLIENT_CLI_CHOICES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/failure.h"
#include "client/cli/options.h"
#include "corank/operators.h"
#include "corank/types.h"
#include "spelling/nearest.h"

namespace corank::cli {

/// The value whose name the option gives, in any case of letters; the first one if the option is not given. UsageError
/// for any other name.
template <typename T>
absl::StatusOr<T> Choice(const Arguments& arguments, const char* option,
                         const std::vector<std::pair<std::string, T>>& choices) {
  const std::string given = arguments.GetOr(option, choices.front().first);
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (absl::EqualsIgnoreCase(name, given)) return value;
    names.push_back(name);
  }
  return UsageError(absl::StrCat("--", option, " is one of ", absl::StrJoin(names, ", "), ", not '", given, "'",
                                 DidYouMean(given, names)));
}

/// --order, or the switch --descending.
absl::StatusOr<Order> OrderChoice(const Arguments& arguments);
absl::StatusOr<SortAlgorithm> SortAlgorithmChoice(const Arguments& arguments);
absl::StatusOr<MergeAlgorithm> MergeAlgorithmChoice(const Arguments& arguments);
absl::StatusOr<SearchBound> BoundChoice(const Arguments& arguments);
/// --place.
absl::StatusOr<client::Place> PlaceChoice(const Arguments& arguments);
const char* PlaceName(client::Place place);

/// The names that --type takes, separated by spaces, for completion.
inline constexpr char kTypeNames[] =
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64";

// Entries of CommandSpec tables that several commands share.
inline constexpr OptionSpec kOutputOption = {
    "output", 'o', "FILE",
    "file for the result: .npy, .txt or raw by its name; - is standard output\n(default: standard output if the input "
    "is text)"};
inline constexpr OptionSpec kKeyTypeOption = {"type",
                                              't',
                                              "TYPE",
                                              "type of the keys in raw files: int8 to int64, uint8 to uint64,\n"
                                              "float16, bfloat16, float32, float64, or short: u32, f16, bf16",
                                              false,
                                              kTypeNames};
inline constexpr OptionSpec kElementTypeOption = {
    "type", 't', "TYPE", "type of the elements in raw files, such as uint32", false, kTypeNames};
inline constexpr OptionSpec kRecordOption = {"record-bytes", 0, "N",
                                             "the elements in raw files are records of N bytes, 1 to 256"};
inline constexpr OptionSpec kOrderOption = {
    "order", 0, "ORDER", "ascending or descending (default: ascending)", false, "ascending descending"};
inline constexpr OptionSpec kDescendingOption = {"descending", 'd', nullptr, "short for --order descending"};
inline constexpr OptionSpec kAssumeSortedOption = {"assume-sorted", 0, nullptr,
                                                   "skip the check that the input is sorted"};
inline constexpr OptionSpec kFormatOption = {"format",
                                             0,
                                             "FORMAT",
                                             "text, npy or raw: how the input is written (default: by its name\n"
                                             ".txt, .npy, .bin or .raw, else by its content)",
                                             false,
                                             "text npy raw"};
inline constexpr OptionSpec kSortAlgorithmOption = {
    "algorithm", 'a',
    "NAME",      "auto, mergesort, radix or odd-even-mergesort (default: auto)",
    false,       "auto mergesort radix odd-even-mergesort"};
inline constexpr OptionSpec kSegmentsOption = {"segments", 0, "FILE",
                                               "sort each segment separately: the file holds int64 offsets,\n"
                                               "one more than there are segments; --limit is then of each"};
inline constexpr OptionSpec kLimitOption = {"limit", 'n', "N", "keep only the first N results (default: all)"};
inline constexpr OptionSpec kOffsetOption = {
    "offset", 0, "N", "leave out the first N results, before --limit counts; without --segments"};

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_CHOICES_H_
