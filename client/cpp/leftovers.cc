#include "client/cpp/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace corank::client {
namespace {

constexpr time_t kYoungSeconds = 60;
constexpr size_t kRandomDigits = 16;

// Whether ObjectName could have made this name.
bool IsOfClient(absl::string_view name, absl::string_view prefix) {
  if (!absl::ConsumePrefix(&name, prefix.substr(1))) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  if (parts.size() != 2 || parts[0].empty() || parts[1].size() != kRandomDigits) return false;
  const auto is_digit = [](char c) { return absl::ascii_isdigit(c); };
  const auto is_hex = [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); };
  return std::all_of(parts[0].begin(), parts[0].end(), is_digit) &&
         std::all_of(parts[1].begin(), parts[1].end(), is_hex);
}

void RemoveIfLeft(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  struct stat info;
  if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && time(nullptr) - info.st_mtime >= kYoungSeconds &&
      flock(fd, LOCK_EX | LOCK_NB) == 0) {
    unlink(path.c_str());
  }
  close(fd);
}

}  // namespace

std::string ObjectName(absl::string_view prefix) {
  absl::BitGen random;
  return absl::StrCat(prefix, getpid(), "-", absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
}

void HoldObject(int fd) { static_cast<void>(flock(fd, LOCK_SH)); }

void RemoveLeftovers(absl::string_view prefix, const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (IsOfClient(entry->path().filename().string(), prefix)) RemoveIfLeft(entry->path());
  }
}

}  // namespace corank::client
