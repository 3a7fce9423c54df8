// Arrays in files: raw elements, whose type the command line names, and .npy files, which name it themselves.
#ifndef CORANK_CLIENT_CLI_ARRAYS_H_
#define CORANK_CLIENT_CLI_ARRAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/file_bytes.h"
#include "client/cli/files.h"
#include "client/cli/npy.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "corank/element.h"

namespace corank::cli {

/// A file's array: its elements lie in it after the header.
struct InputArray {
  FileBytes file;
  client::ElementType type = KeyType::kUint8;
  int64_t data_offset = 0;
  bool is_npy = false;
  RecordSpelling spelling = RecordSpelling::kVoid;  // as it is written back

  client::ArrayView view() const { return {type, file.bytes().substr(static_cast<size_t>(data_offset))}; }
};

/// "uint32", or short "u32". UsageError with all names for an unknown one.
absl::StatusOr<KeyType> ParseKeyType(absl::string_view name);

/// The type that the options name: `type_option` or `record_option` (null: not offered); none if neither is given.
absl::StatusOr<std::optional<client::ElementType>> TypeOption(const Arguments& arguments, const char* type_option,
                                                              const char* record_option);

/// Reads an array. A file is .npy if its name ends in .npy or, on standard input, if it begins as one; it is raw
/// otherwise and then needs the type. `type_flags` is what a message tells the user to give.
absl::StatusOr<InputArray> LoadArray(const std::string& path, std::optional<client::ElementType> type,
                                     absl::string_view type_flags, Progress* progress);

/// Reads offsets or counts: int64, raw or .npy.
absl::StatusOr<std::vector<int64_t>> LoadInt64s(const std::string& path, Progress* progress);

/// Whether an array written to `path` is a .npy file; standard output is one where the input was.
bool WritesNpy(const std::string& path, bool input_is_npy);

/// Appends a whole array to a new file.
absl::Status WriteArray(const client::ArrayView& array, bool as_npy, RecordSpelling spelling, OutputFile* file,
                        Progress* progress);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_ARRAYS_H_
