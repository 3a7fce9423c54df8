// corankd as a process, as its users and its supervisor see it.
#ifndef CORANK_TESTS_SERVER_CORANKD_PROCESS_H_
#define CORANK_TESTS_SERVER_CORANKD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace corank::testing {

/// The string value of a name in a flat JSON object; empty if it has none.
std::string JsonString(const std::string& json, const std::string& name);

/// A program in the folder of this one.
std::string ProgramBeside(const std::string& name);

/// A process. The destructor kills it if it has not ended.
class Process {
 public:
  /// Starts `program` with these arguments and a --ports-file.
  Process(const std::string& program, std::vector<std::string> arguments);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until it serves. Returns false if it ended instead.
  bool AwaitReady();
  std::string Ports() const;
  std::string Address() const { return JsonString(Ports(), "grpc"); }
  std::string MetricsAddress() const { return JsonString(Ports(), "metrics"); }
  std::string Log() const;
  void Signal(int signal) const;
  /// Whether it has ended.
  bool HasExited();
  /// The exit code, or 128 + the signal that ended it.
  int Wait();

 private:
  std::string PortsPath() const;
  std::string LogPath() const;
  void SetExit(int status);

  std::string folder_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

/// Arguments for free ports, followed by `more`.
std::vector<std::string> FreePorts(const std::string& engine, const std::vector<std::string>& more = {});

/// Sends bytes to 127.0.0.1:port and returns everything that comes back, until the other side closes or is silent for a
/// second.
std::string Exchange(const std::string& address, const std::string& bytes);

/// The metrics at that address, including the HTTP head.
std::string Scrape(const std::string& address);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_CORANKD_PROCESS_H_
