#include "client/cli/files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/failure.h"

namespace corank::cli {
namespace {

constexpr size_t kWritePiece = 4 << 20;

/// The temporary files that exist now. One lock covers their creation, renaming and removal, and the end of the process
/// by a signal, so that a signal misses none.
struct Temporaries {
  absl::Mutex mutex;
  std::set<std::string> names ABSL_GUARDED_BY(mutex);
};

Temporaries& TheTemporaries() {
  static Temporaries* const temporaries = new Temporaries;  // never destroyed: the signal thread outlives main
  return *temporaries;
}

/// Somebody truncated a mapped input, so its bytes are gone.
void EndOnBusError(int) {
  static constexpr char kMessage[] = "corank: an input file was made shorter while it was in use\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  Temporaries& temporaries = TheTemporaries();
  // This thread does not hold the lock, because nothing reads mapped bytes under it; another thread may.
  for (int i = 0; i < 1000 && !temporaries.mutex.TryLock(); ++i) usleep(1000);
  for (const std::string& name : temporaries.names) unlink(name.c_str());
  _exit(kExitFile);
}

/// Waits for one of `signals`, which all threads block, removes the temporary files and ends the process by that
/// signal.
void EndOnSignal(sigset_t signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) continue;
  Temporaries& temporaries = TheTemporaries();
  absl::MutexLock lock(&temporaries.mutex);  // held to the end, so that no file is created or renamed after this
  for (const std::string& name : temporaries.names) unlink(name.c_str());
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  raise(signal);
}

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Follows the symbolic links of the path's last part, whether their target exists or not. A loop of links ends after
/// as many steps as the kernel allows.
std::string FollowLinks(std::string path) {
  constexpr int kMostLinks = 40;
  char target[PATH_MAX];
  for (int i = 0; i < kMostLinks; ++i) {
    const ssize_t size = readlink(path.c_str(), target, sizeof(target));
    if (size <= 0) break;
    const std::string next(target, static_cast<size_t>(size));
    path = next[0] == '/' ? next : absl::StrCat(Folder(path), "/", next);
  }
  return path;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsSameInode(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// False if there is no such file.
bool StatOutput(const std::string& path, struct stat* info) {
  return (path == kStandardStream ? fstat(STDOUT_FILENO, info) : stat(path.c_str(), info)) == 0;
}

std::string Taken(const std::string& path) {
  return absl::StrCat(path, " exists already; choose another name, or give --force to replace it");
}

/// Whether the parent ignores SIGPIPE, as `trap "" PIPE` does.
bool parent_ignores_sigpipe = false;

mode_t Umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

}  // namespace

void HoldStandardStreams() {
  // Each is opened for the opposite direction, so that using it fails as if it were closed.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0)
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the first free one
  }
}

bool IsStandardOutput(const std::string& path) {
  struct stat output = {}, info = {}, null = {};
  if (path == kStandardStream) return true;
  if (fstat(STDOUT_FILENO, &output) != 0 || !StatOutput(path, &info) || !IsSameInode(output, info)) return false;
  return stat("/dev/null", &null) != 0 || !IsSameInode(output, null);
}

bool AreOneFile(const std::string& a, const std::string& b) {
  if (a == b) return true;
  struct stat of_a = {}, of_b = {};
  const bool has_a = StatOutput(a, &of_a), has_b = StatOutput(b, &of_b);
  if (has_a || has_b) return has_a && has_b && IsSameInode(of_a, of_b);
  const std::string real_a = FollowLinks(a), real_b = FollowLinks(b);
  return BaseName(real_a) == BaseName(real_b) && stat(Folder(real_a).c_str(), &of_a) == 0 &&
         stat(Folder(real_b).c_str(), &of_b) == 0 && IsSameInode(of_a, of_b);
}

void RemoveTemporariesOnSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction now;
    // A signal that the parent ignores (nohup) stays ignored.
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(EndOnSignal, signals).detach();
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before = {};
  sigaction(SIGPIPE, &ignore, &before);
  parent_ignores_sigpipe = before.sa_handler == SIG_IGN;
  sigaction(SIGXFSZ, &ignore, nullptr);
  struct sigaction bus = {};
  bus.sa_handler = EndOnBusError;
  sigaction(SIGBUS, &bus, nullptr);
}

bool IsStandardOutputClosed() {
  pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void EndByClosedPipe() {
  if (parent_ignores_sigpipe) return;
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &action, nullptr);
  raise(SIGPIPE);
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path, bool force) {
  if (path == kStandardStream) return OutputFile(path, path, "", force, STDOUT_FILENO);
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return FileError(absl::StrCat("cannot write ", path), errno);
  if (exists && S_ISDIR(info.st_mode)) return FileError(absl::StrCat("cannot write ", path), EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return FileError(absl::StrCat("cannot write ", path), errno);
    return OutputFile(path, path, "", force, fd);
  }
  if (exists && !force) return FileError(Taken(path));
  std::string target = FollowLinks(path);
  std::string temporary = absl::StrCat(Folder(target), "/.corank-XXXXXX");
  Temporaries& temporaries = TheTemporaries();
  absl::MutexLock lock(&temporaries.mutex);
  const int fd = mkostemp(&temporary[0], O_CLOEXEC);
  if (fd < 0) return FileError(absl::StrCat("cannot write ", path), errno);
  temporaries.names.insert(temporary);
  fchmod(fd, exists ? info.st_mode & 0777 : 0666 & ~Umask());
  return OutputFile(path, std::move(target), std::move(temporary), force, fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, "")),
      force_(other.force_),
      fd_(std::exchange(other.fd_, -1)),
      mapped_(std::exchange(other.mapped_, {})) {}

OutputFile::~OutputFile() {
  Unmap();
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) close(fd_);
  if (temporary_.empty()) return;
  Temporaries& temporaries = TheTemporaries();
  absl::MutexLock lock(&temporaries.mutex);
  unlink(temporary_.c_str());
  temporaries.names.erase(temporary_);
}

absl::Status OutputFile::Error(absl::string_view doing, int errnum) const {
  return FileError(absl::StrCat("cannot ", doing, " ", path_ == kStandardStream ? "standard output" : path_), errnum);
}

absl::Status OutputFile::Write(absl::string_view bytes, Progress* progress) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), std::min(bytes.size(), kWritePiece));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error("write", errno);
    bytes.remove_prefix(written);
    progress->Add(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<char>> OutputFile::Map(int64_t offset, int64_t bytes) {
  if (const int error = posix_fallocate(fd_, 0, offset + bytes); error != 0) return Error("write", error);
  const auto size = static_cast<size_t>(offset + bytes);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return Error("write", errno);
  mapped_ = absl::MakeSpan(static_cast<char*>(mapped), size);
  return mapped_.subspan(static_cast<size_t>(offset));
}

void OutputFile::Unmap() {
  if (mapped_.data() != nullptr) munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
}

absl::Status OutputFile::Close() {
  Unmap();
  if (fd_ < 0 || fd_ == STDOUT_FILENO) return absl::OkStatus();
  if (!temporary_.empty() && fsync(fd_) != 0) return Error("write", errno);
  if (close(std::exchange(fd_, -1)) != 0) return Error("write", errno);
  struct stat info = {};
  const bool is_taken = !temporary_.empty() && !force_ && lstat(target_.c_str(), &info) == 0;
  return is_taken ? FileError(Taken(path_)) : absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (const absl::Status closed = Close(); !closed.ok()) return closed;
  if (temporary_.empty()) return absl::OkStatus();

  Temporaries& temporaries = TheTemporaries();
  absl::MutexLock lock(&temporaries.mutex);
  int renamed = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), force_ ? 0 : RENAME_NOREPLACE);
  if (renamed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // This file system lacks RENAME_NOREPLACE. Create and Close have checked that the name is free.
    renamed = rename(temporary_.c_str(), target_.c_str());
  }
  if (renamed != 0) return errno == EEXIST ? FileError(Taken(path_)) : Error("write", errno);
  temporaries.names.erase(temporary_);
  temporary_.clear();
  // Syncing the folder puts the new name on disk, where the file system can sync folders.
  const int folder = open(Folder(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return absl::OkStatus();
}

}  // namespace corank::cli
