// The building blocks of workloads: requests and their arrays.
#ifndef CORANK_TESTS_FAULTS_WORKLOAD_REQUEST_H_
#define CORANK_TESTS_FAULTS_WORKLOAD_REQUEST_H_

#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"
#include "server/base/status_macros.h"
#include "tests/faults/engine_workloads.h"
#include "tests/support/real_keys.h"

namespace corank::testing {

using WorkloadRun = std::function<absl::Status(EngineStream& stream, WorkloadResult* result)>;

Bytes AsBytes(const std::vector<int64_t>& numbers);

/// One request. Copies inputs to pinned memory first, as the server does with payloads.
class Request {
 public:
  explicit Request(EngineStream* stream) : stream_(stream) {}

  absl::StatusOr<const void*> Input(const Bytes& bytes);
  absl::StatusOr<const int64_t*> Numbers(const std::vector<int64_t>& numbers);
  /// `bytes` bytes on the device that repeat the pattern. Keeps the transfer of large arrays small.
  absl::StatusOr<const void*> Repeated(const Bytes& pattern, int64_t bytes);
  /// 0, 1, 2, ..., made on the device, `runs` times; `count` numbers of element_bytes bytes (4 or 8) in total.
  absl::StatusOr<const void*> Counted(int element_bytes, int64_t count, int runs = 1);

  absl::StatusOr<void*> Output(int64_t bytes);
  /// Shows these bytes of device memory as an output, for results that are too large to show completely.
  absl::Status Show(void* d_bytes, int64_t bytes);

  template <typename Args, typename Report>
  absl::Status Run(absl::Status (EngineStream::*run)(const Args&, Report*), const Args& args) {
    CORANK_RETURN_IF_ERROR(stream_->EndCopyIn());
    CORANK_RETURN_IF_ERROR((stream_->*run)(args, &std::get<Report>(reports_)));
    CORANK_RETURN_IF_ERROR(stream_->EndKernels());
    for (const auto& [result, bytes] : outputs_) CORANK_RETURN_IF_ERROR(stream_->Download(result, bytes));
    return absl::OkStatus();
  }
  void Collect(WorkloadResult* result) const;

  OperatorReport& report() { return std::get<OperatorReport>(reports_); }
  EngineStream& stream() { return *stream_; }

 private:
  EngineStream* const stream_;
  std::vector<std::pair<ResultBuffer, int64_t>> outputs_;
  std::tuple<OperatorReport, GroupReport, SelectReport, SetReport, JoinReport> reports_;
};

/// The source of an array.
using Source = std::function<absl::StatusOr<const void*>(Request&)>;
Source Uploaded(Bytes bytes);
Source Repeated(Bytes pattern, int64_t bytes);
Source Counted(int element_bytes, int64_t count, int runs = 1);

/// `enqueue` does everything between Begin and Finish.
WorkloadRun Whole(std::function<absl::Status(Request&)> enqueue, Pace pace = Pace::kPhases);

}  // namespace corank::testing

#endif  // CORANK_TESTS_FAULTS_WORKLOAD_REQUEST_H_
