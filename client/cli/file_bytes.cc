#include "client/cli/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cpp/short_memory.h"

namespace corank::cli {
namespace {

constexpr size_t kPiece = 4 << 20;

/// Reads to the end; returns 0 or an errno.
int ReadAll(int fd, Progress* progress, std::string* bytes) {
  while (true) {
    const size_t before = bytes->size();
    const size_t room = bytes->capacity() > before ? std::min(kPiece, bytes->capacity() - before) : kPiece;
    bytes->resize(before + room);
    const ssize_t got = read(fd, &(*bytes)[before], room);
    const int error = errno;
    bytes->resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got <= 0) return got < 0 ? error : 0;
    progress->Add(got);
  }
}

}  // namespace

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_size_, other.mapped_size_);
  std::swap(owned_, other.owned_);
  return *this;
}

FileBytes::~FileBytes() {
  if (mapped_ != nullptr) munmap(const_cast<char*>(mapped_), mapped_size_);
}

absl::Status CheckReadable(const std::string& path) {
  if (access(path.c_str(), R_OK) == 0) return absl::OkStatus();
  return FileError(absl::StrCat("cannot read ", path), errno);
}

absl::StatusOr<FileBytes> LoadFile(const std::string& path, Progress* progress) {
  const bool is_stream = path == kStandardStream;
  const std::string name = is_stream ? "standard input" : path;
  const int fd = is_stream ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(absl::StrCat("cannot read ", name), errno);
  FileBytes file;
  struct stat info = {};
  if (!is_stream && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) {
      madvise(mapped, size, MADV_SEQUENTIAL);
      file.mapped_ = static_cast<const char*>(mapped);
      file.mapped_size_ = size;
      close(fd);
      return file;
    }
  }
  progress->Start("reading", 0);
  int error = 0;
  if (!client::WithinMemory(name, [&] { error = ReadAll(fd, progress, &file.owned_); }).ok()) error = ENOMEM;
  if (!is_stream) close(fd);
  progress->Stop();
  if (error != 0) return FileError(absl::StrCat("cannot read ", name), error);
  return file;
}

}  // namespace corank::cli
