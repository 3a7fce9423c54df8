// Arrays of numbers in text files, one per line.
#ifndef CORANK_CLIENT_CLI_TEXT_ARRAY_H_
#define CORANK_CLIENT_CLI_TEXT_ARRAY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/arrays.h"

namespace corank::cli {

/// FileError, naming the line, if a line is not one number.
absl::StatusOr<InputArray> ParseTextArray(FileBytes file, const std::string& name);

/// Gives all texts among the arrays one type: float64 if one has it, else uint64 if one has it. FileError if a number
/// would change. `paths` names the arrays in messages.
absl::Status UnifyTextTypes(absl::Span<InputArray* const> arrays, absl::Span<const std::string> paths);

/// FileError, naming the line and the remedy, if the array is a text that is not sorted.
absl::Status CheckTextIsSorted(const InputArray& array, const std::string& path, Order order);

/// Writes one element per line. FileError for records, which are not numbers.
absl::Status WriteNumbers(const client::ArrayView& array, OutputFile* file, Progress* progress);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_TEXT_ARRAY_H_
