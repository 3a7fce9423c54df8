#include "server/observe/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace corank {

LineWriter::LineWriter(int descriptor, absl::Duration patience, Notice notice)
    : descriptor_(descriptor), patience_(patience), notice_(std::move(notice)) {}

void LineWriter::Write(absl::string_view line) {
  absl::MutexLock lock(&mutex_);
  const int64_t untold = lost_ - told_;
  if (untold > 0 && Put(notice_(untold))) told_ += untold;
  is_stuck_ = !Put(line);
  if (is_stuck_) ++lost_;
}

bool LineWriter::HasRoom(absl::Duration patience) const {
  pollfd asked = {descriptor_, POLLOUT, 0};
  int ready = 0;
  do {
    ready = poll(&asked, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

bool LineWriter::Put(absl::string_view line) {
  // A pipe with room takes this many bytes without blocking (POSIX, write), whatever its flags are.
  constexpr size_t kPiece = PIPE_BUF;
  bool ends_line = is_cut_;
  while (ends_line || !line.empty()) {
    if (!HasRoom(is_stuck_ ? absl::ZeroDuration() : patience_)) return false;
    const absl::string_view piece = ends_line ? "\n" : line.substr(0, kPiece);
    const ssize_t written = write(descriptor_, piece.data(), piece.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return false;  // there is nowhere left to report it
    if (!ends_line) line.remove_prefix(static_cast<size_t>(written));
    ends_line = false;
    is_cut_ = !line.empty();
  }
  return true;
}

}  // namespace corank
