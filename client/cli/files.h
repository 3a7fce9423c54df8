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

/// An output file under construction. The bytes go to a hidden temporary file in the same folder. Commit syncs it and
/// gives it the wanted name. Until then, and after a failure or a signal, the wanted name is as it was. Standard output
/// and devices are written directly. Move-only; not thread-safe.
class OutputFile {
 public:
  /// Makes the temporary file now, so that an unusable name or folder is found before any work. FileError if the name
  /// is taken and not `force`.
  static absl::StatusOr<OutputFile> Create(const std::string& path, bool force);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes a temporary file that was not committed.
  ~OutputFile();

  /// Appends.
  absl::Status Write(absl::string_view bytes, Progress* progress);
  /// Whether Map works: not for standard output and devices.
  bool is_mappable() const { return !temporary_.empty(); }
  /// Instead of Write: reserves `bytes` bytes, 1 or more, after the first `offset` ones, and maps them. They are zero
  /// at first, and stay mapped until Close.
  absl::StatusOr<absl::Span<char>> Map(int64_t offset, int64_t bytes);
  /// Syncs the file to disk. Write nothing after it. FileError also if the name was taken meanwhile: with several
  /// files, close them all before the first Commit.
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
  std::string target_;     // path_ with symbolic links followed, also to a file that does not exist yet
  std::string temporary_;  // empty: written directly, or committed
  bool force_;
  int fd_;
  absl::Span<char> mapped_;  // from the file's first byte on
};

/// Whether an output goes to the same file as standard output, as "-" and /dev/stdout do. /dev/null does not count.
bool IsStandardOutput(const std::string& path);

/// Whether two outputs would replace each other, however they are spelled: one file, or one name in one folder.
bool AreOneFile(const std::string& a, const std::string& b);

/// Occupies the descriptors of standard streams that are closed, so that no file or connection gets one of them and
/// receives messages. Using such a stream stays an error.
void HoldStandardStreams();

/// Whether standard output is a pipe whose reader has gone.
bool IsStandardOutputClosed();

/// Ends the process by SIGPIPE, silently, as other tools end when the reader of their output has gone. Returns only if
/// the parent ignores SIGPIPE. Call it when no temporary file is left.
void EndByClosedPipe();

/// Sets the reactions to signals. SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU remove temporary files and then end the
/// process as usual. SIGPIPE and SIGXFSZ become errors of Write and Map. Truncating a mapped input ends the process
/// with kExitFile and no output. Call it once, before any thread is started.
void RemoveTemporariesOnSignals();

}  // namespace corank::cli

#endif  // CORANK_CLIENT_CLI_FILES_H_
