#include "client/cli/arrays.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"

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
  std::string names;
  for (const KeyType type : kAllKeyTypes) {
    if (name == KeyTypeName(type) || name == ShortName(type)) return type;
    absl::StrAppend(&names, names.empty() ? "" : ", ", KeyTypeName(type));
  }
  return UsageError(absl::StrCat("unknown type '", name, "'; the types are ", names));
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

absl::StatusOr<InputArray> LoadArray(const std::string& path, std::optional<ElementType> type,
                                     absl::string_view type_flags, Progress* progress) {
  const bool is_stream = path == kStandardStream;
  const std::string name = is_stream ? "standard input" : path;
  const bool named_npy = absl::EndsWith(path, ".npy");
  if (!named_npy && !is_stream && !type.has_value()) {
    return UsageError(absl::StrCat("the type of the elements of ", name, " is not known; give ", type_flags));
  }
  absl::StatusOr<FileBytes> file = LoadFile(path, progress);
  if (!file.ok()) return file.status();
  InputArray array;
  array.file = *std::move(file);
  array.is_npy = named_npy || (is_stream && IsNpy(array.file.bytes()));
  if (array.is_npy) {
    absl::StatusOr<NpyHeader> header = ReadNpyHeader(array.file.bytes());
    if (!header.ok()) return FileError(absl::StrCat("cannot use ", name, ": ", header.status().message()));
    if (type.has_value() && *type != header->type) {
      return FileError(absl::StrCat(name, " holds elements of type ", header->type.Name(), ", not ", type->Name()));
    }
    array.type = header->type;
    array.data_offset = header->data_offset;
    array.spelling = header->spelling;
    return array;
  }
  if (!type.has_value()) {
    return UsageError(absl::StrCat("the type of the elements of ", name, " is not known; give ", type_flags));
  }
  array.type = *type;
  const size_t size = array.file.bytes().size();
  if (size % static_cast<size_t>(type->bytes()) != 0) {
    return FileError(absl::StrCat(name, " has ", size, " bytes, which is not a whole number of elements of ",
                                  type->bytes(), " bytes (", type->Name(), ")"));
  }
  return array;
}

absl::StatusOr<std::vector<int64_t>> LoadInt64s(const std::string& path, Progress* progress) {
  // A .npy file says itself what it holds, and is refused below with the remedy.
  const auto type = absl::EndsWith(path, ".npy") ? std::nullopt : std::optional<ElementType>(KeyType::kInt64);
  absl::StatusOr<InputArray> array = LoadArray(path, type, "an int64 file", progress);
  if (!array.ok()) return array.status();
  if (array->type != KeyType::kInt64) {
    return FileError(absl::StrCat(path, " holds elements of type ", array->type.Name(),
                                  "; offsets and counts are int64: convert them with array.astype('<i8')"));
  }
  const absl::string_view bytes = array->view().bytes;
  std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

bool WritesNpy(const std::string& path, bool input_is_npy) {
  return path == kStandardStream ? input_is_npy : absl::EndsWith(path, ".npy");
}

absl::Status WriteArray(const client::ArrayView& array, bool as_npy, RecordSpelling spelling, OutputFile* file,
                        Progress* progress) {
  std::string header;
  if (as_npy) {
    absl::StatusOr<std::string> npy = NpyHeaderFor(array.type, array.count(), spelling);
    if (!npy.ok()) return FileError(absl::StrCat("cannot write ", file->path(), ": ", npy.status().message()));
    header = *std::move(npy);
  }
  progress->Start("writing", static_cast<int64_t>(header.size() + array.bytes.size()));
  absl::Status written = file->Write(header, progress);
  if (written.ok()) written = file->Write(array.bytes, progress);
  progress->Stop();
  return written;
}

}  // namespace corank::cli
