#include "client/cli/arrays.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/failure.h"
#include "client/cli/text_array.h"
#include "spelling/nearest.h"

namespace corank::cli {
namespace {

using client::ElementType;

/// "u32" for uint32, "bf16" for bfloat16.
std::string ShortName(KeyType type) {
  const char* kind = type == KeyType::kBfloat16 ? "bf" : IsFloat(type) ? "f" : IsSigned(type) ? "i" : "u";
  return absl::StrCat(kind, 8 * KeyBytes(type));
}

}  // namespace

absl::StatusOr<KeyType> ParseKeyType(absl::string_view name) {
  std::vector<std::string> names;
  for (const KeyType type : kAllKeyTypes) {
    if (absl::EqualsIgnoreCase(name, KeyTypeName(type)) || absl::EqualsIgnoreCase(name, ShortName(type))) return type;
    names.push_back(KeyTypeName(type));
  }
  return UsageError(
      absl::StrCat("unknown type '", name, "'; the types are ", absl::StrJoin(names, ", "), DidYouMean(name, names)));
}

absl::StatusOr<std::optional<ElementType>> TypeOption(const Arguments& arguments, const char* type_option,
                                                      const char* record_option) {
  const std::optional<std::string> name = arguments.Get(type_option);
  std::optional<int64_t> record_bytes;
  if (record_option != nullptr) {
    absl::StatusOr<std::optional<int64_t>> given = arguments.GetCount(record_option, 1);
    if (!given.ok()) return given.status();
    record_bytes = *given;
    if (record_bytes.has_value() && name.has_value()) {
      return UsageError(absl::StrCat("give --", type_option, " or --", record_option, ", not both"));
    }
  }
  if (record_bytes.has_value()) {
    if (*record_bytes > kMaxRecordBytes) {
      return UsageError(absl::StrCat("--", record_option, " must be 1 to ", kMaxRecordBytes));
    }
    return std::optional<ElementType>(ElementType::Record(static_cast<int>(*record_bytes)));
  }
  if (!name.has_value()) return std::optional<ElementType>();
  absl::StatusOr<KeyType> type = ParseKeyType(*name);
  if (!type.ok()) return type.status();
  return std::optional<ElementType>(*type);
}

absl::StatusOr<InputArray> LoadArray(const InputSource& source, Progress* progress) {
  const std::string name = DisplayName(source.path);
  std::optional<Format> format = source.forced.has_value() ? source.forced : FormatOfName(source.path);
  if (const absl::Status checked = CheckIsOneArray(source.path, source.forced.has_value()); !checked.ok()) {
    return checked;
  }
  if (format == Format::kCsv || format == Format::kTsv) {
    return UsageError(
        absl::StrCat(name, " is a table, which only corank sort takes: corank sort ", source.path, " --column NAME"));
  }
  const absl::Status unknown_type =
      UsageError(absl::StrCat("the type of the elements of ", name, " is not known; give ", source.type_flags));
  if (format == Format::kRaw && !source.type.has_value()) return unknown_type;

  absl::StatusOr<FileBytes> file = LoadFile(source.path, progress);
  if (!file.ok()) return file.status();
  const absl::string_view bytes = file->bytes();
  if (!format.has_value()) {
    const bool is_empty_stream = bytes.empty() && !source.type.has_value() && source.path == kStandardStream;
    format = IsNpy(bytes) ? Format::kNpy : LooksLikeText(bytes) || is_empty_stream ? Format::kText : Format::kRaw;
    // Bytes of a text, such as a column of names, may be records: only numbers in them would be read wrongly.
    const bool is_record = source.type.has_value() && source.type->is_record();
    if (format == Format::kText && is_record) format = Format::kRaw;
  }
  if (format == Format::kText) {
    if (source.type.has_value()) {
      return UsageError(absl::StrCat(name,
                                     " is text, but a type is for raw binary data; leave the type out to read the ",
                                     "numbers in the text; binary data that only looks like text needs ",
                                     source.is_main ? "--format raw" : "a name that ends in .bin"));
    }
    return ParseTextArray(*std::move(file), name);
  }
  InputArray array;
  array.file = *std::move(file);
  array.format = *format;
  if (format == Format::kNpy) {
    absl::StatusOr<NpyHeader> header = ReadNpyHeader(array.file.bytes());
    if (!header.ok()) return FileError(absl::StrCat("cannot use ", name, ": ", header.status().message()));
    if (source.type.has_value() && *source.type != header->type) {
      return FileError(absl::StrCat(name, " holds elements of type ", header->type.Name(), ", not ",
                                    source.type->Name(), "; a .npy file names its type, so leave ", source.type_flags,
                                    " out"));
    }
    array.type = header->type;
    array.data_offset = header->data_offset;
    array.spelling = header->spelling;
    return array;
  }
  if (!source.type.has_value()) return unknown_type;
  array.type = *source.type;
  const size_t size = array.file.bytes().size();
  if (size % static_cast<size_t>(array.type.bytes()) != 0) {
    return FileError(absl::StrCat(name, " has ", size, " bytes, which is not a whole number of elements of ",
                                  array.type.bytes(), " bytes (", array.type.Name(), ")"));
  }
  return array;
}

absl::StatusOr<InputArray> LoadInt64s(const std::string& path, std::vector<int64_t>* numbers, Progress* progress) {
  const std::optional<Format> format = FormatOfName(path);
  InputSource source{path, std::nullopt, "an int64 file", std::nullopt};
  // A .npy file and a text name their own type.
  if (format != Format::kNpy && format != Format::kText) {
    source.type = KeyType::kInt64;
    source.forced = Format::kRaw;
  }
  absl::StatusOr<InputArray> array = LoadArray(source, progress);
  if (!array.ok()) return array.status();
  if (array->type != KeyType::kInt64) {
    const char* const advice = array->format == Format::kNpy ? ": convert them with array.astype('<i8')" : "";
    return FileError(
        absl::StrCat(path, " holds elements of type ", array->type.Name(), "; offsets and counts are int64", advice));
  }
  const absl::string_view bytes = array->view().bytes;
  numbers->resize(bytes.size() / sizeof(int64_t));
  if (!numbers->empty()) std::memcpy(numbers->data(), bytes.data(), bytes.size());
  return array;
}

absl::Status WriteArray(const client::ArrayView& array, Format format, RecordSpelling spelling, OutputFile* file,
                        Progress* progress) {
  std::string header;
  if (format == Format::kNpy) {
    absl::StatusOr<std::string> npy = NpyHeaderFor(array.type, array.count(), spelling);
    if (!npy.ok()) return FileError(absl::StrCat("cannot write ", file->path(), ": ", npy.status().message()));
    header = *std::move(npy);
  }
  progress->Start("writing", format == Format::kText ? 0 : static_cast<int64_t>(header.size() + array.bytes.size()));
  absl::Status written = file->Write(header, progress);
  if (written.ok()) {
    written = format == Format::kText ? WriteNumbers(array, file, progress) : file->Write(array.bytes, progress);
  }
  progress->Stop();
  return written;
}

}  // namespace corank::cli
