// Arrays in files: raw elements, whose type the command line names; .npy files, which name it themselves; and numbers
// as text, one per line, whose spelling decides it.
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
#include "client/cli/formats.h"
#include "client/cli/lines.h"
#include "client/cli/npy.h"
#include "client/cli/options.h"
#include "client/cli/progress.h"
#include "corank/element.h"

namespace corank::cli {

/// The array of a file. Its elements lie in `file` after the header. The elements of a text file were converted.
struct InputArray {
  FileBytes file;
  client::ElementType type = KeyType::kUint8;
  int64_t data_offset = 0;
  Format format = Format::kRaw;
  RecordSpelling spelling = RecordSpelling::kVoid;  // the dtype of records in a .npy file, for the output
  TextLines lines = {};                             // of a text

  client::ArrayView view() const { return {type, file.bytes().substr(static_cast<size_t>(data_offset))}; }
};

/// Where an array comes from.
struct InputSource {
  std::string path;
  std::optional<client::ElementType> type;  // as the options name it
  std::string type_flags;                   // the options that name it, for messages
  std::optional<Format> forced = {};        // by --format
  bool is_main = false;                     // --format is about it
};

/// "uint32", or short "u32", in any case of letters. UsageError with all names for an unknown one.
absl::StatusOr<KeyType> ParseKeyType(absl::string_view name);

/// The type that the options name: `type_option`, or `record_option` if the command has it; none if neither is given.
absl::StatusOr<std::optional<client::ElementType>> TypeOption(const Arguments& arguments, const char* type_option,
                                                              const char* record_option);

/// Reads an array. Its format is the forced one, else the one that the name says, else the one that the content shows.
/// Raw data need a type. A text with a type is refused, because its bytes are not the elements that the user means.
absl::StatusOr<InputArray> LoadArray(const InputSource& source, Progress* progress);

/// Reads offsets or counts: int64, raw, .npy or text.
absl::StatusOr<InputArray> LoadInt64s(const std::string& path, std::vector<int64_t>* numbers, Progress* progress);

/// Appends a whole array to a new file.
absl::Status WriteArray(const client::ArrayView& array, Format format, RecordSpelling spelling, OutputFile* file,
                        Progress* progress);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_ARRAYS_H_
