// The sequence of work of one lane on a GPU.
#ifndef CORANK_KERNELS_CUDA_ENGINE_CUDA_STREAM_H_
#define CORANK_KERNELS_CUDA_ENGINE_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/engine/cuda_memory.h"
#include "kernels/cuda/engine/host_relay.h"
#include "kernels/cuda/engine/relay_memory.h"
#include "kernels/engine/arena.h"
#include "kernels/engine/budget.h"
#include "kernels/engine/engine.h"

namespace corank::cuda {

/// An EngineStream on a CUDA stream of its own. Keeps device and pinned memory between requests.
class CudaStream final : public EngineStream {
 public:
  /// What streams of a device keep together.
  struct Kept {
    std::shared_ptr<Budget> device, host;
    std::shared_ptr<RelayMemory> relays;
  };

  /// `numa_node`: of the device (EngineInfo). `keep_bytes`: the most device memory that the stream keeps.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Create(int device, int numa_node, int64_t keep_bytes,
                                                            const Kept& kept);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  absl::Status Begin(Pace pace) override;
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override;
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override;
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override;
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override;
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override;
  absl::Status Zero(void* d_bytes, int64_t bytes) override;
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override;
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override;
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override;
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override;
  absl::Status EndCopyIn() override;
  absl::Status EndKernels() override;
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override;
  absl::StatusOr<const void*> MarkPoint() override;
  absl::Status After(const void* point) override;
  absl::StatusOr<PhaseTimes> Finish() override;

  absl::Status Sort(const SortArgs& args, OperatorReport* report) override;
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override;
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override;
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override;
  absl::Status SplitRuns(const SplitArgs& args) override;
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override;
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override;
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override;
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override;
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override;
  absl::Status Group(const GroupArgs& args, GroupReport* report) override;
  absl::Status Select(const SelectArgs& args, SelectReport* report) override;
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override;
  absl::Status Join(const JoinArgs& args, JoinReport* report) override;

  void End() override;
  void Trim() override;
  int64_t workspace_bytes() const override { return workspace_bytes_; }

 private:
  // The borders between the phases of a request. kBriefEnd ends a request whose phases are not timed.
  enum Mark { kStart, kCopyInEnd, kKernelsEnd, kEnd, kBriefEnd, kMarkCount };

  CudaStream(int device, int numa_node, int64_t keep_bytes, const Kept& kept, cudaStream_t stream);

  // Precedes whatever is enqueued on the stream: it comes after the copies through the host so far.
  absl::Status Enter();
  // The same for memory that is freed in the order of the stream. An error leaves no copy in progress.
  void JoinOrWait();
  absl::Status WaitForAll();
  absl::Status CopyThroughHost(void* d_to, const void* d_from, int64_t bytes);
  absl::Status RecordMark(Mark mark);
  absl::Status StartClock();
  absl::StatusOr<void*> AllocateWorkspace(int64_t bytes);
  absl::Status WaitForMark(Mark mark);
  int64_t NanosecondsBetween(Mark from, Mark to) const;
  // Runs an operator whose report the device writes.
  template <typename Args, typename Report>
  absl::Status RunReporting(const Args& args, int64_t workspace_bytes,
                            cudaError_t (*run)(const Args&, void*, int64_t, Report*, cudaStream_t), const char* name,
                            Report* report);

  const int device_;
  const cudaStream_t stream_;
  std::array<cudaEvent_t, kMarkCount> events_{};
  std::array<bool, kMarkCount> is_recorded_{};
  std::vector<cudaEvent_t> points_;  // the first marked_points_ belong to this request
  size_t marked_points_ = 0;
  HostRelay relay_;
  Arena<DeviceMemory> device_arena_;
  Arena<PinnedMemory> pinned_arena_;
  // For each report and for the splits of this request: the pinned memory that the device writes, the caller's place,
  // and the bytes.
  struct Arrival {
    const void* from;
    void* to;
    int64_t bytes;
  };
  std::vector<Arrival> arrivals_;
  void* d_workspace_ = nullptr;  // of the operators of this request, one after the other
  int64_t d_workspace_bytes_ = 0;
  int64_t workspace_bytes_ = 0;
  bool has_unfinished_work_ = false;
  Pace pace_ = Pace::kPhases;
  std::chrono::steady_clock::time_point started_;  // start of a brief request
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_CUDA_STREAM_H_
