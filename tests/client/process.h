// Processes for the end-to-end tests: programs that run and end, and a corankd that serves.
#ifndef CORANK_TESTS_CLIENT_PROCESS_H_
#define CORANK_TESTS_CLIENT_PROCESS_H_

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace corank::testing {

/// A private folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  /// Names of all files in the folder, including hidden ones, in order.
  std::vector<std::string> Names() const;

 private:
  std::filesystem::path path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

/// The result of a process.
struct Finished {
  int exit_code = -1;  // -signal if a signal ended it
  std::string out;
  std::string err;
};

/// A process. The destructor kills it if it still runs.
class Process {
 public:
  /// Starts arguments[0] with this standard input. `environment` (NAME=VALUE) extends this process's environment.
  explicit Process(const std::vector<std::string>& arguments, const std::string& input = "",
                   const std::vector<std::string>& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  /// Waits until it ends; kills it after a minute.
  Finished Wait();

 private:
  TemporaryFolder streams_;
  pid_t pid_ = -1;
};

/// Starts a process, waits, and returns its result.
Finished RunToEnd(const std::vector<std::string>& arguments, const std::string& input = "",
                  const std::vector<std::string>& environment = {});

/// Whether `condition` becomes true within a minute. Polls every few milliseconds.
template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 12000; ++i) {
    if (condition()) return true;
    timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

/// The real corankd on the CPU engine and free ports.
class Server {
 public:
  explicit Server(const std::vector<std::string>& flags = {});

  /// host:port; empty if the server did not start.
  const std::string& address() const { return address_; }
  Process& process() { return process_; }

 private:
  TemporaryFolder folder_;
  Process process_;
  std::string address_;
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_CLIENT_PROCESS_H_
