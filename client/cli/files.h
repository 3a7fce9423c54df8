// Writing files that appear whole or not at all.
#ifndef CORANK_CLIENT_CLI_FILES_H_
#define CORANK_CLIENT_CLI_FILES_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/progress.h"

namespace corank::cli {

/// The name that stands for standard input and standard output.
inline constexpr char kStandardStream[] = "-";

/// A file that is being made. The bytes go to a hidden temporary file in the same folder, which takes the wanted name
/// in Commit, after fsync; until then, and for ever after a failure or a signal, the wanted name is as it was. Standard
/// output and devices are written directly. Move-only; not thread-safe.
class OutputFile {
 public:
  /// Makes the temporary file now, so that a name or folder that will not do is found before any work. FileError if the
  /// name is taken and not `force`.
  static absl::StatusOr<OutputFile> Create(const std::string& path, bool force);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes what was not committed.
  ~OutputFile();

  /// Appends.
  absl::Status Write(absl::string_view bytes, Progress* progress);
  /// Whether Map can be used: not standard output and devices.
  bool is_mappable() const { return !temporary_.empty(); }
  /// Instead of Write: sets `bytes` bytes, 1 or more, aside behind the first `offset` ones, and maps them. They are the
  /// file's until Commit, and all zero.
  absl::StatusOr<absl::Span<char>> Map(int64_t offset, int64_t bytes);
  /// Puts all of it on disk. Nothing may be written after it. FileError also if the name was taken meanwhile: with
  /// several files, close them all before the first Commit.
  absl::Status Close();
  /// Closes the file, and gives it its name.
  absl::Status Commit();

  /// As given by the caller.
  const std::string& path() const { return path_; }

 private:
  OutputFile(std::string path, std::string target, std::string temporary, bool force, int fd)
      : path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)), force_(force), fd_(fd) {}

  absl::Status Error(absl::string_view doing, int errnum) const;
  void Unmap();

  std::string path_;
  std::string target_;     // path_ with symbolic links followed, also to what is not there yet
  std::string temporary_;  // empty: written directly, or committed
  bool force_;
  int fd_;
  absl::Span<char> mapped_;  // from the file's first byte on
};

/// Whether an output goes where standard output goes, as "-" and /dev/stdout do. What goes to /dev/null meets nothing.
bool IsStandardOutput(const std::string& path);

/// Whether two outputs would replace each other, however they are spelled: one file, or one name in one folder.
bool AreOneFile(const std::string& a, const std::string& b);

/// Takes the numbers of those of the three standard streams that are closed, before a file or connection of this
/// process does, and messages go there. To use such a stream stays an error.
void HoldStandardStreams();

/// From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU remove temporary files and then end the process as they
/// would have, SIGPIPE and SIGXFSZ are errors of Write and Map, and an input file that was made shorter while it is
/// mapped ends the process with kExitFile and no output. Call it before any thread is started, once.
void RemoveTemporariesOnSignals();

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FILES_H_
