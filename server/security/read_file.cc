#include "server/security/read_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/steady_wait.h"

namespace corank {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  constexpr size_t kMostBytes = 16 << 20;
  const auto fails = [&path](absl::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": ", reason));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[16 << 10];
  while (file.read(piece, sizeof(piece)) || file.gcount() > 0) {
    text.append(piece, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostBytes) return fails("it has more than 16 MiB");
  }
  if (!file.eof()) return fails(std::strerror(errno));
  return text;
}

FileWatcher::~FileWatcher() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

FileWatcher::State FileWatcher::StateOf(const std::vector<std::string>& paths) {
  State state;
  for (const std::string& path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) status = {};
    state.insert(
        state.end(),
        {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino), static_cast<int64_t>(status.st_size),
         static_cast<int64_t>(status.st_mtim.tv_sec), static_cast<int64_t>(status.st_mtim.tv_nsec),
         static_cast<int64_t>(status.st_ctim.tv_sec), static_cast<int64_t>(status.st_ctim.tv_nsec)});
  }
  return state;
}

void FileWatcher::Watch(std::vector<std::string> paths, std::function<bool()> changed) {
  const State state = StateOf(paths);
  watched_.push_back({std::move(paths), std::move(changed), state, state});
}

void FileWatcher::Start() {
  if (!watched_.empty()) thread_ = std::thread([this] { Run(); });
}

void FileWatcher::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      if (AwaitSteadily(&mutex_, absl::Condition(&stopping_), options_.interval)) return;
    }
    for (Watched& watched : watched_) {
      State now = StateOf(watched.paths);
      // Several files are rarely replaced in one instant, so wait until they stop changing.
      const bool settled = now == watched.last_seen;
      watched.last_seen = std::move(now);
      const Instant time = options_.clock->Now();
      if (!settled || (watched.last_seen == watched.known && time < watched.retry_at)) continue;
      watched.known = watched.last_seen;
      watched.retry_at = watched.changed() ? kForever : time + options_.retry;
    }
  }
}

}  // namespace corank
