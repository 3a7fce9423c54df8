#include "corank/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/cpp/leftovers.h"

namespace corank::client {
namespace {

absl::Status Failed(absl::string_view doing, int64_t bytes, int errnum) {
  const std::string message =
      absl::StrCat("cannot ", doing, " shared memory of ", bytes, " bytes: ", std::strerror(errnum));
  const bool is_full = errnum == ENOSPC || errnum == ENOMEM || errnum == EFBIG;
  return is_full ? absl::ResourceExhaustedError(message) : absl::FailedPreconditionError(message);
}

}  // namespace

absl::StatusOr<SharedMemory> SharedMemory::Create(int64_t bytes, absl::string_view prefix) {
  if (bytes < 1) return absl::InvalidArgumentError("bytes: must be 1 or more");
  if (prefix.empty() || prefix[0] != '/') return absl::InvalidArgumentError("prefix: must begin with a slash");
  static const bool has_tidied = (RemoveLeftovers(prefix), true);  // once a process
  static_cast<void>(has_tidied);
  SharedMemory memory;
  memory.key_ = ObjectName(prefix);
  const int fd = shm_open(memory.key_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Failed("make", bytes, errno);
  memory.is_linked_ = true;
  HoldObject(fd);
  // Reserves the memory. With ftruncate alone, a later access could kill the process.
  int error = posix_fallocate(fd, 0, bytes);
  if (error == 0) {
    void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      error = errno;
    } else {
      memory.mapping_ = std::make_shared<const Mapping>(static_cast<char*>(data), bytes);
    }
  }
  close(fd);
  if (error != 0) return Failed("make", bytes, error);
  return memory;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this == &other) return *this;
  Unlink();
  key_ = std::move(other.key_);
  mapping_ = std::move(other.mapping_);
  is_linked_ = std::exchange(other.is_linked_, false);
  return *this;
}

SharedMemory::~SharedMemory() { Unlink(); }

SharedMemory::Mapping::~Mapping() { munmap(data, static_cast<size_t>(size)); }

void SharedMemory::Unlink() {
  if (is_linked_) shm_unlink(key_.c_str());
  is_linked_ = false;
}

}  // namespace corank::client
