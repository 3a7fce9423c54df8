// A POSIX shared-memory object for tests.
#ifndef CORANK_TESTS_SERVER_SHARED_OBJECT_H_
#define CORANK_TESTS_SERVER_SHARED_OBJECT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace corank::testing {

/// Created and mapped; unlinked at the end.
class SharedObject {
 public:
  static constexpr char kPrefix[] = "/corank-test-";

  explicit SharedObject(int64_t bytes) : SharedObject(NextKey(), bytes) {}
  /// No object may have this name yet.
  SharedObject(std::string key, int64_t bytes) : bytes_(static_cast<size_t>(bytes)), key_(std::move(key)) {
    fd_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    Resize(bytes);
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  ~SharedObject() {
    munmap(data_, bytes_);
    close(fd_);
    shm_unlink(key_.c_str());
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  const std::string& key() const { return key_; }
  /// When it was made.
  int64_t size_bytes() const { return static_cast<int64_t>(bytes_); }
  template <typename T>
  T* As(int64_t offset_bytes = 0) {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset_bytes);
  }
  void Resize(int64_t bytes) {
    if (ftruncate(fd_, bytes) != 0) fd_ = -1;
  }

 private:
  static std::string NextKey() {
    static int made = 0;
    return absl::StrCat(kPrefix, getpid(), "-", made++);
  }

  const size_t bytes_;
  const std::string key_;
  int fd_ = -1;
  void* data_ = nullptr;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SHARED_OBJECT_H_
