#include "tests/fuzz/scratch_file.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz_target.h"

namespace corank::fuzz {

ScratchFile::ScratchFile(const char* suffix)
    : path_(absl::StrCat(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", "/corank-fuzz-XXXXXX", suffix)),
      fd_(mkstemps(&path_[0], static_cast<int>(std::strlen(suffix)))) {
  FUZZ_CHECK(fd_ >= 0, path_);
}

ScratchFile::~ScratchFile() {
  close(fd_);
  unlink(path_.c_str());
}

const std::string& ScratchFile::Fill(absl::string_view bytes) const {
  FUZZ_CHECK(ftruncate(fd_, 0) == 0, path_);
  FUZZ_CHECK(pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), path_);
  return path_;
}

}  // namespace corank::fuzz
