// The bytes of whole files: mapped if possible, else read.
#ifndef CORANK_CLIENT_CLI_FILE_BYTES_H_
#define CORANK_CLIENT_CLI_FILE_BYTES_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/progress.h"

namespace corank::cli {

/// The bytes of a file, valid as long as this object. A mapped file is read page by page when its bytes are used.
/// Move-only.
class FileBytes {
 public:
  FileBytes() = default;
  /// Bytes that come from no file.
  explicit FileBytes(std::string bytes) : owned_(std::move(bytes)) {}
  FileBytes(FileBytes&& other) noexcept { *this = std::move(other); }
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  absl::string_view bytes() const {
    return mapped_ != nullptr ? absl::string_view(mapped_, mapped_size_) : absl::string_view(owned_);
  }

 private:
  friend absl::StatusOr<FileBytes> LoadFile(const std::string& path, Progress* progress);

  const char* mapped_ = nullptr;
  size_t mapped_size_ = 0;
  std::string owned_;
};

/// The FileError that LoadFile would return now because the file is missing or not readable.
absl::Status CheckReadable(const std::string& path);

/// Maps a regular file. Reads anything else, and "-", standard input, to its end now.
absl::StatusOr<FileBytes> LoadFile(const std::string& path, Progress* progress);

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FILE_BYTES_H_
