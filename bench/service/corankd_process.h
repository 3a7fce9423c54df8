// corankd, started and stopped by a benchmark.
#ifndef CORANK_BENCH_SERVICE_CORANKD_PROCESS_H_
#define CORANK_BENCH_SERVICE_CORANKD_PROCESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/service/child_process.h"

namespace corank::bench {

/// A temporary folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

/// `flag` or, if that is empty, the program of this name beside the running one.
std::string Beside(const std::string& flag, const std::string& name);

/// A corankd on free ports of this host.
class CorankdProcess {
 public:
  struct Options {
    std::string program;  // empty: the one beside this program
    std::string engine = "auto";
    std::vector<std::string> arguments;  // further ones
  };

  /// Waits until it serves, a minute at most.
  static absl::StatusOr<std::unique_ptr<CorankdProcess>> Start(const Options& options);

  const std::string& address() const { return process_->address(); }
  const std::string& metrics_address() const { return process_->metrics_address(); }
  pid_t pid() const { return process_->pid(); }
  bool on_gpu() const { return on_gpu_; }
  /// "cuda engine on NVIDIA H200; 16 x AMD EPYC 9654".
  const std::string& machine() const { return machine_; }

 private:
  CorankdProcess() = default;

  TemporaryFolder folder_;  // holds the log
  std::unique_ptr<ServerProcess> process_;
  bool on_gpu_ = false;
  std::string machine_;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_CORANKD_PROCESS_H_
