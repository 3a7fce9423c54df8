// A file that each input overwrites.
#ifndef CORANK_TESTS_FUZZ_SCRATCH_FILE_H_
#define CORANK_TESTS_FUZZ_SCRATCH_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace corank::fuzz {

/// In memory if the system has /dev/shm. Deleted with the object, but not if the process aborts.
class ScratchFile {
 public:
  explicit ScratchFile(const char* suffix);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Replaces the contents by these bytes. Returns the path.
  const std::string& Fill(absl::string_view bytes) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_;
};

}  // namespace corank::fuzz

#endif  // CORANK_TESTS_FUZZ_SCRATCH_FILE_H_
