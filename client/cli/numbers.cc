#include "client/cli/numbers.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/failure.h"
#include "corank/element.h"

namespace corank::cli {
namespace {

enum class Spelling : uint8_t { kNone, kInteger, kFloat };

size_t ConsumeDigits(absl::string_view* text) {
  size_t digits = 0;
  while (digits < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[digits]))) ++digits;
  text->remove_prefix(digits);
  return digits;
}

bool ConsumeSign(absl::string_view* text) { return absl::ConsumePrefix(text, "-") || absl::ConsumePrefix(text, "+"); }

Spelling SpellingOf(absl::string_view text) {
  ConsumeSign(&text);
  if (absl::EqualsIgnoreCase(text, "nan") || absl::EqualsIgnoreCase(text, "inf") ||
      absl::EqualsIgnoreCase(text, "infinity")) {
    return Spelling::kFloat;
  }
  size_t digits = ConsumeDigits(&text);
  if (digits > 0 && text.empty()) return Spelling::kInteger;
  if (absl::ConsumePrefix(&text, ".")) digits += ConsumeDigits(&text);
  if (digits == 0) return Spelling::kNone;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    ConsumeSign(&text);
    if (ConsumeDigits(&text) == 0) return Spelling::kNone;
  }
  return text.empty() ? Spelling::kFloat : Spelling::kNone;
}

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends a float of 16 bits, if one has this value.
template <typename Narrow>
bool AppendNarrow(double number, std::string* bytes) {
  for (int bits = 0; bits <= 0xFFFF; ++bits) {
    const Narrow narrow{static_cast<uint16_t>(bits)};
    const float value = narrow.ToFloat();
    if (value != number && !(std::isnan(value) && std::isnan(number))) continue;
    Append(narrow, bytes);
    return true;
  }
  return false;
}

absl::Status LineError(const std::string& file, const Cell& cell, absl::string_view what) {
  return FileError(absl::StrCat(file, ", line ", cell.line, ": ", cell.text, " ", what));
}

/// What decides the type of a column.
struct Survey {
  const Cell* floating = nullptr;  // the first cell of each kind
  const Cell* negative = nullptr;
  const Cell* above_int64 = nullptr;
  const Cell* beyond_64_bits = nullptr;
};

Survey Look(absl::Span<const Cell> cells) {
  Survey survey;
  const auto note = [](const Cell** first, const Cell& cell) { *first = *first == nullptr ? &cell : *first; };
  for (const Cell& cell : cells) {
    int64_t number = 0;
    uint64_t large = 0;
    if (SpellingOf(cell.text) == Spelling::kFloat) {
      note(&survey.floating, cell);
    } else if (absl::SimpleAtoi(cell.text, &number)) {
      if (number < 0) note(&survey.negative, cell);
    } else if (absl::SimpleAtoi(cell.text, &large)) {
      note(&survey.above_int64, cell);
    } else {
      note(&survey.beyond_64_bits, cell);
    }
  }
  return survey;
}

absl::StatusOr<std::string> ReadFloats(absl::Span<const Cell> cells, const std::string& file, const Cell* because) {
  std::string bytes;
  bytes.reserve(cells.size() * sizeof(double));
  for (const Cell& cell : cells) {
    double value = 0;
    if (!absl::SimpleAtod(cell.text, &value)) return LineError(file, cell, "is not a number");
    absl::int128 integer = 0;
    const bool is_float = SpellingOf(cell.text) == Spelling::kFloat;
    if (is_float && std::isinf(value) && cell.text.find_first_of("0123456789") != absl::string_view::npos) {
      return LineError(file, cell, "is too large for float64; write inf for infinity");
    }
    int64_t number = 0;
    uint64_t large = 0;
    bool is_exact = is_float;
    if (absl::SimpleAtoi(cell.text, &number)) {
      integer = number;
      is_exact = is_exact || static_cast<absl::int128>(value) == integer;
    } else if (absl::SimpleAtoi(cell.text, &large)) {
      integer = large;
      is_exact = is_exact || static_cast<absl::int128>(value) == integer;
    }
    if (!is_exact) {
      const std::string reason =
          because == nullptr ? ""
                             : absl::StrCat(", the type that ", because->text, " in line ", because->line, " needs");
      return LineError(file, cell,
                       absl::StrCat("has no exact float64", reason, "; write it as ", cell.text, ".0 to round it"));
    }
    Append(value, &bytes);
  }
  return bytes;
}

template <typename T>
std::string ReadIntegers(absl::Span<const Cell> cells) {
  std::string bytes;
  bytes.reserve(cells.size() * sizeof(T));
  for (const Cell& cell : cells) {
    T value = 0;
    if (!absl::SimpleAtoi(cell.text, &value)) value = 0;  // Look has read every cell
    Append(value, &bytes);
  }
  return bytes;
}

template <typename T>
std::optional<size_t> FirstOutOfOrderOf(absl::string_view bytes, Order order) {
  T previous = {};
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    const auto is_before = [](T a, T b) {
      if constexpr (std::is_floating_point_v<T>) return !std::isnan(a) && (std::isnan(b) || a < b);
      return a < b;
    };
    const bool is_wrong = order == Order::kAscending ? is_before(value, previous) : is_before(previous, value);
    if (i > 0 && is_wrong) return i;
    previous = value;
  }
  return std::nullopt;
}

template <typename T>
T Load(const char* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

template <typename T>
void AppendFloat(T value, std::string* text) {
  char digits[64];
  const std::to_chars_result result = std::to_chars(digits, digits + sizeof(digits), value);
  text->append(digits, static_cast<size_t>(result.ptr - digits));
}

}  // namespace

std::optional<size_t> FirstNotANumber(absl::Span<const Cell> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (SpellingOf(cells[i].text) == Spelling::kNone) return i;
  }
  return std::nullopt;
}

absl::StatusOr<Numbers> ReadNumbers(absl::Span<const Cell> cells, const std::string& file_name) {
  const Survey survey = Look(cells);
  if (survey.floating != nullptr) {
    absl::StatusOr<std::string> bytes = ReadFloats(cells, file_name, survey.floating);
    if (!bytes.ok()) return bytes.status();
    return Numbers{KeyType::kFloat64, *std::move(bytes)};
  }
  if (survey.beyond_64_bits != nullptr) {
    return LineError(file_name, *survey.beyond_64_bits,
                     absl::StrCat("has more than 64 bits; write it as ", survey.beyond_64_bits->text,
                                  ".0 to sort the file as float64"));
  }
  if (survey.above_int64 == nullptr) return Numbers{KeyType::kInt64, ReadIntegers<int64_t>(cells)};
  if (survey.negative != nullptr) {
    return LineError(file_name, *survey.above_int64,
                     absl::StrCat("fits uint64 only, and line ", survey.negative->line, " is negative; write it as ",
                                  survey.above_int64->text, ".0 to sort the file as float64"));
  }
  return Numbers{KeyType::kUint64, ReadIntegers<uint64_t>(cells)};
}

absl::Status ConvertNumbers(absl::Span<const Cell> cells, const std::string& file_name, KeyType type,
                            Numbers* numbers) {
  if (type == numbers->type) return absl::OkStatus();
  if (type == KeyType::kFloat64) {
    absl::StatusOr<std::string> bytes = ReadFloats(cells, file_name, nullptr);
    if (!bytes.ok()) return bytes.status();
    *numbers = {type, *std::move(bytes)};
    return absl::OkStatus();
  }
  if (const Survey survey = Look(cells); survey.negative != nullptr) {
    return LineError(file_name, *survey.negative, "is negative, but another input needs uint64");
  }
  *numbers = {type, ReadIntegers<uint64_t>(cells)};
  return absl::OkStatus();
}

std::optional<size_t> FirstOutOfOrder(KeyType type, absl::string_view bytes, Order order) {
  if (type == KeyType::kFloat64) return FirstOutOfOrderOf<double>(bytes, order);
  if (type == KeyType::kUint64) return FirstOutOfOrderOf<uint64_t>(bytes, order);
  return FirstOutOfOrderOf<int64_t>(bytes, order);
}

absl::StatusOr<std::string> ReadElement(KeyType type, absl::string_view text) {
  std::string bytes;
  bool fits = false;
  const auto read = [&](auto zero) {
    using T = decltype(zero);
    absl::int128 number = 0;
    fits = SpellingOf(text) == Spelling::kInteger && absl::SimpleAtoi(text, &number) &&
           number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
    if (fits) Append(static_cast<T>(number), &bytes);
  };
  const auto read_float = [&](const auto& append) {
    double number = 0;
    fits = SpellingOf(text) != Spelling::kNone && absl::SimpleAtod(text, &number);
    if (fits) append(number);
  };
  switch (type) {
    case KeyType::kInt8:
      read(int8_t{});
      break;
    case KeyType::kInt16:
      read(int16_t{});
      break;
    case KeyType::kInt32:
      read(int32_t{});
      break;
    case KeyType::kInt64:
      read(int64_t{});
      break;
    case KeyType::kUint8:
      read(uint8_t{});
      break;
    case KeyType::kUint16:
      read(uint16_t{});
      break;
    case KeyType::kUint32:
      read(uint32_t{});
      break;
    case KeyType::kUint64:
      read(uint64_t{});
      break;
    case KeyType::kFloat16:
      read_float([&](double number) { fits = AppendNarrow<client::Float16>(number, &bytes); });
      break;
    case KeyType::kBfloat16:
      read_float([&](double number) { fits = AppendNarrow<client::Bfloat16>(number, &bytes); });
      break;
    case KeyType::kFloat32:
      read_float([&](double number) { Append(static_cast<float>(number), &bytes); });
      break;
    case KeyType::kFloat64:
      read_float([&](double number) { Append(number, &bytes); });
      break;
  }
  if (fits) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no ", KeyTypeName(type)));
}

void AppendNumber(KeyType type, const char* element, std::string* text) {
  switch (type) {
    case KeyType::kInt8:
      return absl::StrAppend(text, int{Load<int8_t>(element)});
    case KeyType::kInt16:
      return absl::StrAppend(text, Load<int16_t>(element));
    case KeyType::kInt32:
      return absl::StrAppend(text, Load<int32_t>(element));
    case KeyType::kInt64:
      return absl::StrAppend(text, Load<int64_t>(element));
    case KeyType::kUint8:
      return absl::StrAppend(text, int{Load<uint8_t>(element)});
    case KeyType::kUint16:
      return absl::StrAppend(text, Load<uint16_t>(element));
    case KeyType::kUint32:
      return absl::StrAppend(text, Load<uint32_t>(element));
    case KeyType::kUint64:
      return absl::StrAppend(text, Load<uint64_t>(element));
    case KeyType::kFloat16:
      return AppendFloat(Load<client::Float16>(element).ToFloat(), text);
    case KeyType::kBfloat16:
      return AppendFloat(Load<client::Bfloat16>(element).ToFloat(), text);
    case KeyType::kFloat32:
      return AppendFloat(Load<float>(element), text);
    case KeyType::kFloat64:
      return AppendFloat(Load<double>(element), text);
  }
}

}  // namespace corank::cli
