// Numbers as text: how they are read, exactly or not at all, and how they are written.
#ifndef CORANK_CLIENT_CLI_NUMBERS_H_
#define CORANK_CLIENT_CLI_NUMBERS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/lines.h"
#include "corank/types.h"

namespace corank::cli {

/// Elements of one type: int64; uint64 if one is larger than int64 holds; float64 if one has a point, an exponent, or
/// is nan or inf.
struct Numbers {
  KeyType type = KeyType::kInt64;
  std::string bytes;
};

/// The index of the first cell that is no number; none if all are.
std::optional<size_t> FirstNotANumber(absl::Span<const Cell> cells);

/// The numbers of cells that all are numbers. FileError, naming file and line, if no type holds every one of them: an
/// integer is never rounded.
absl::StatusOr<Numbers> ReadNumbers(absl::Span<const Cell> cells, const std::string& file_name);

/// The same numbers as `type`: float64 or uint64. FileError if one of them would change.
absl::Status ConvertNumbers(absl::Span<const Cell> cells, const std::string& file_name, KeyType type, Numbers* numbers);

/// The index of the first element that belongs before its predecessor; none if they are in order.
std::optional<size_t> FirstOutOfOrder(KeyType type, absl::string_view bytes, Order order);

/// The element of this type that a text spells. INVALID_ARGUMENT if the text is no number, or if the type does not hold
/// it; float32 and float64 take the nearest number.
absl::StatusOr<std::string> ReadElement(KeyType type, absl::string_view text);
/// Appends one element in its shortest spelling that reads back as the same value.
void AppendNumber(KeyType type, const char* element, std::string* text);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_NUMBERS_H_
