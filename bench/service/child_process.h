// A server that the benchmark starts and stops.
#ifndef CORANK_BENCH_SERVICE_CHILD_PROCESS_H_
#define CORANK_BENCH_SERVICE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace corank::bench {

/// A running server process. Reads its addresses from the file of --ports-file; its standard error goes to `name`.log
/// in the folder given to Start. The destructor stops the process and waits for it.
class ServerProcess {
 public:
  /// Runs `program` with `arguments` and --ports-file, and waits until it serves. UNAVAILABLE, with the end of its log,
  /// if it stops or does not serve within `patience`.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(const std::string& name, const std::string& program,
                                                              std::vector<std::string> arguments,
                                                              const std::string& folder, absl::Duration patience);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Its gRPC address: "127.0.0.1:50051".
  const std::string& address() const { return address_; }
  /// Its metrics address; empty without metrics.
  const std::string& metrics_address() const { return metrics_address_; }
  pid_t pid() const { return pid_; }

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::string address_;
  std::string metrics_address_;
};

/// Leaves the first `cores` cores of this process to the servers that it starts from here on, and has the others
/// itself. 0: all share all. Call it before the process has other threads.
void LeaveCoresToServers(int cores);

/// How many threads make the load of small calls: one for each core that is not a server's, but half of those shared.
int ClientThreads();

/// CPU time of a process and all its threads so far, in steps of the kernel's clock (10 ms); 0 if there is no such
/// process.
double CpuSeconds(pid_t pid);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_CHILD_PROCESS_H_
