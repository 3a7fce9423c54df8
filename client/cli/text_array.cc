#include "client/cli/text_array.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "client/cli/numbers.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

constexpr size_t kNumbersPiece = 1 << 20;

}  // namespace

absl::StatusOr<InputArray> ParseTextArray(FileBytes file, const std::string& name) {
  InputArray array;
  array.format = Format::kText;
  absl::StatusOr<TextLines> lines = SplitLines(std::move(file), name);
  if (!lines.ok()) return lines.status();
  array.lines = *std::move(lines);
  if (const std::optional<size_t> stranger = FirstNotANumber(array.lines.lines); stranger.has_value()) {
    const Cell& cell = array.lines.lines[*stranger];
    return FileError(absl::StrCat(name, ", line ", cell.line, ": ", Excerpt(cell.text),
                                  " is not one number; a text has one number per line, and columns need ",
                                  "--format csv or tsv with --column"));
  }
  absl::StatusOr<Numbers> numbers = ReadNumbers(array.lines.lines, name);
  if (!numbers.ok()) return numbers.status();
  array.type = numbers->type;
  array.file = FileBytes(std::move(numbers->bytes));
  return array;
}

absl::Status UnifyTextTypes(absl::Span<InputArray* const> arrays, absl::Span<const std::string> paths) {
  KeyType type = KeyType::kInt64;
  for (const InputArray* array : arrays) {
    if (array->format != Format::kText) continue;
    const bool is_wider = array->type == KeyType::kFloat64 || (array->type == KeyType::kUint64 && IsSigned(type));
    if (is_wider) type = array->type.key_type();
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i]->format != Format::kText || arrays[i]->type == type) continue;
    Numbers numbers{arrays[i]->type.key_type(), ""};
    const absl::Status converted = ConvertNumbers(arrays[i]->lines.lines, DisplayName(paths[i]), type, &numbers);
    if (!converted.ok()) return converted;
    arrays[i]->type = type;
    arrays[i]->file = FileBytes(std::move(numbers.bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckTextIsSorted(const InputArray& array, const std::string& path, Order order) {
  if (array.format != Format::kText) return absl::OkStatus();
  const std::optional<size_t> wrong = FirstOutOfOrder(array.type.key_type(), array.view().bytes, order);
  if (!wrong.has_value()) return absl::OkStatus();
  const Cell& cell = array.lines.lines[*wrong];
  const Cell& before = array.lines.lines[*wrong - 1];
  const bool is_descending = order == Order::kDescending;
  return FileError(absl::StrCat(DisplayName(path), ", line ", cell.line, ": ", cell.text, " follows ", before.text,
                                ", so the input is not sorted ", is_descending ? "descending" : "ascending",
                                "; sort it first: corank sort ", path, is_descending ? " --descending" : "",
                                " -o sorted.txt"));
}

absl::Status WriteNumbers(const client::ArrayView& array, OutputFile* file, Progress* progress) {
  if (array.type.is_record()) {
    return FileError(absl::StrCat("cannot write ", file->path(),
                                  ": a record is not a number; name an output that does ", "not end in .txt"));
  }
  std::string text;
  for (int64_t i = 0; i < array.count(); ++i) {
    AppendNumber(array.type.key_type(), array.bytes.data() + i * array.type.bytes(), &text);
    text.push_back('\n');
    if (text.size() < kNumbersPiece && i + 1 < array.count()) continue;
    if (const absl::Status written = file->Write(text, progress); !written.ok()) return written;
    text.clear();
  }
  return absl::OkStatus();
}

}  // namespace corank::cli
