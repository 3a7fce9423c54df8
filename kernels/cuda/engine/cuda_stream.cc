#include "kernels/cuda/engine/cuda_stream.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "kernels/cuda/columns/column_sort.h"
#include "kernels/cuda/columns/search_rows.h"
#include "kernels/cuda/common/iota.h"
#include "kernels/cuda/engine/cuda_status.h"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/join/join.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/merge/split_runs.h"
#include "kernels/cuda/search/search.h"
#include "kernels/cuda/select/select.h"
#include "kernels/cuda/sets/sets.h"
#include "kernels/cuda/sort/small_sort.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::cuda {
namespace {

// Chunks are large, so that a steady load of small requests allocates from the driver once. The first ones are small:
// streams that only copy need no more, and 16 MiB of pinned memory take 6 ms to allocate.
constexpr int64_t kDeviceChunkBytes = int64_t{64} << 20, kPinnedChunkBytes = int64_t{16} << 20;
constexpr int64_t kFirstChunkBytes = int64_t{1} << 20;
constexpr int64_t kKeepPinnedBytes = int64_t{1} << 30;
// A thread that sleeps until the GPU's interrupt wakes 20 to 500 us late. It spins for work of microseconds. For longer
// work it polls after pauses, which grow with the elapsed time and cost a tenth of a core.
constexpr std::chrono::microseconds kSpin{100};
constexpr std::chrono::microseconds kLeastPause{10}, kMostPause{50};
constexpr int kPauseShare = 16;  // fraction of the time waited so far

// Sleeps for microseconds without the 50 us that timers may be late by default.
void Pause(std::chrono::nanoseconds time) {
  thread_local const bool is_prompt = prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  static_cast<void>(is_prompt);
  std::this_thread::sleep_for(time);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create(int device, int numa_node, int64_t keep_bytes,
                                                               const Kept& kept) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  cudaStream_t raw_stream = nullptr;
  CORANK_RETURN_IF_CUDA_FAILED(cudaStreamCreateWithFlags(&raw_stream, cudaStreamNonBlocking), "create stream");
  std::unique_ptr<CudaStream> stream(new CudaStream(device, numa_node, keep_bytes, kept, raw_stream));
  for (int mark = 0; mark < kMarkCount; ++mark) {
    // The GPU takes 1.7 us longer for an event that records its time.
    const unsigned flags = mark == kBriefEnd ? cudaEventDisableTiming : cudaEventDefault;
    cudaEvent_t* const event = &stream->events_[static_cast<size_t>(mark)];
    CORANK_RETURN_IF_CUDA_FAILED(cudaEventCreateWithFlags(event, flags), "create event");
  }
  // The first chunk of each arena takes milliseconds, pinned memory most of all. Allocate it before the first request.
  if (absl::Status status = stream->AllocateResult(1).status(); !status.ok()) return status;
  if (absl::Status status = stream->Begin(Pace::kPhases); !status.ok()) return status;
  return stream;
}

CudaStream::CudaStream(int device, int numa_node, int64_t keep_bytes, const Kept& kept, cudaStream_t stream)
    : device_(device),
      stream_(stream),
      relay_(device, stream, kept.relays),
      device_arena_(DeviceMemory(device, stream), {kDeviceChunkBytes, kFirstChunkBytes, keep_bytes, kept.device}),
      pinned_arena_(PinnedMemory(device, numa_node),
                    {kPinnedChunkBytes, kFirstChunkBytes, kKeepPinnedBytes, kept.host}) {}

CudaStream::~CudaStream() {
  // Running work uses the memory of the arenas. Errors mean a ruined context, and nothing can be done about them.
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(WaitForAll().ok());
  for (cudaEvent_t event : events_) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  }
  for (cudaEvent_t point : points_) static_cast<void>(cudaEventDestroy(point));
  device_arena_.Clear();
  static_cast<void>(cudaStreamDestroy(stream_));
}

absl::Status CudaStream::Begin(Pace pace) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  // After an abandoned request, copies may still read and write the memory that is about to be reused.
  if (has_unfinished_work_) {
    if (absl::Status ended = WaitForAll(); !ended.ok()) return ended;
  }
  device_arena_.Reset();
  pinned_arena_.Reset();
  relay_.Release();
  arrivals_.clear();
  is_recorded_.fill(false);
  marked_points_ = 0;
  workspace_bytes_ = 0;
  d_workspace_bytes_ = 0;
  pace_ = pace;
  if (pace == Pace::kBrief) started_ = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

absl::Status CudaStream::WaitForAll() {
  absl::Status status = relay_.Finish();
  status.Update(ToStatus(cudaStreamSynchronize(stream_), "wait for a request given up"));
  if (status.ok()) has_unfinished_work_ = false;
  return status;
}

absl::Status CudaStream::Enter() {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  has_unfinished_work_ = true;
  return relay_.Join();
}

void CudaStream::End() {
  JoinOrWait();
  device_arena_.Reset();  // in the order of the stream, also after work in progress
  // That of an abandoned request waits for Begin, because freeing pinned memory waits for the device.
  if (has_unfinished_work_) return;
  pinned_arena_.Reset();
  relay_.Release();
}

void CudaStream::Trim() {
  JoinOrWait();
  device_arena_.Trim();
  if (!has_unfinished_work_) pinned_arena_.Trim();
}

void CudaStream::JoinOrWait() {
  if (!relay_.Join().ok()) static_cast<void>(relay_.Finish().ok());
}

absl::Status CudaStream::RecordMark(Mark mark) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  CORANK_RETURN_IF_CUDA_FAILED(cudaEventRecord(events_[mark], stream_), "record event");
  is_recorded_[mark] = true;
  return absl::OkStatus();
}

absl::Status CudaStream::StartClock() {
  // The clock starts with the first copy, not with Begin: the host's work in between is not the GPU's time.
  return is_recorded_[kStart] || pace_ == Pace::kBrief ? absl::OkStatus() : RecordMark(kStart);
}

absl::StatusOr<const void*> CudaStream::Upload(const void* h_bytes, int64_t bytes) {
  if (pace_ == Pace::kBrief) return h_bytes;
  if (absl::Status status = StartClock(); !status.ok()) return status;
  absl::StatusOr<void*> d_bytes = AllocateDevice(bytes);
  if (!d_bytes.ok()) return d_bytes;
  if (absl::Status status = CopyToDevice(*d_bytes, h_bytes, bytes); !status.ok()) return status;
  return *d_bytes;
}

absl::StatusOr<void*> CudaStream::AllocateHost(int64_t bytes) { return pinned_arena_.Allocate(bytes); }

absl::StatusOr<void*> CudaStream::AllocateDevice(int64_t bytes) { return device_arena_.Allocate(bytes); }

absl::StatusOr<ResultBuffer> CudaStream::AllocateResult(int64_t bytes) {
  const absl::StatusOr<void*> h_result = pinned_arena_.Allocate(bytes);
  if (!h_result.ok()) return h_result.status();
  return AllocateResultAt(*h_result, bytes);
}

absl::StatusOr<ResultBuffer> CudaStream::AllocateResultAt(void* h_place, int64_t bytes) {
  if (pace_ == Pace::kBrief) return ResultBuffer{h_place, h_place};
  const absl::StatusOr<void*> d_result = device_arena_.Allocate(bytes);
  if (!d_result.ok()) return d_result.status();
  return ResultBuffer{*d_result, h_place};
}

absl::Status CudaStream::Zero(void* d_bytes, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  CORANK_RETURN_IF_CUDA_FAILED(cudaMemsetAsync(d_bytes, 0, static_cast<size_t>(bytes), stream_), "zero");
  return absl::OkStatus();
}

absl::Status CudaStream::Iota(void* d_out, int element_bytes, int64_t first, int64_t count) {
  if (count == 0) return absl::OkStatus();
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  CORANK_RETURN_IF_CUDA_FAILED(cuda::Iota(d_out, element_bytes, first, count, stream_), "count up");
  return absl::OkStatus();
}

absl::Status CudaStream::Copy(void* d_to, const void* d_from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  // Between GPUs, the driver takes a copy engine of the current one, whatever the stream: all copies would share it.
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  // Without Enter, so that the copy does not wait for the one before.
  const absl::StatusOr<bool> is_known = relay_.Knows(d_to, d_from);
  if (!is_known.ok()) return is_known.status();
  if (*is_known) return CopyThroughHost(d_to, d_from, bytes);
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  const cudaError_t copied =
      cudaMemcpyAsync(d_to, d_from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream_);
  if (copied != cudaErrorInvalidValue) return ToStatus(copied, "copy");
  static_cast<void>(cudaGetLastError());
  return CopyThroughHost(d_to, d_from, bytes);
}

absl::Status CudaStream::CopyThroughHost(void* d_to, const void* d_from, int64_t bytes) {
  has_unfinished_work_ = true;
  absl::Status status = relay_.Copy(d_to, d_from, bytes);
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  return status;
}

absl::Status CudaStream::CopyToDevice(void* d_to, const void* h_from, int64_t bytes) {
  if (absl::Status status = StartClock(); !status.ok()) return status;
  if (bytes == 0) return absl::OkStatus();
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  CORANK_RETURN_IF_CUDA_FAILED(
      cudaMemcpyAsync(d_to, h_from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_), "copy in");
  return absl::OkStatus();
}

absl::Status CudaStream::CopyToHost(void* h_to, const void* d_from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  CORANK_RETURN_IF_CUDA_FAILED(
      cudaMemcpyAsync(h_to, d_from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream_), "copy out");
  return absl::OkStatus();
}

absl::Status CudaStream::EndCopyIn() {
  if (pace_ == Pace::kBrief) return absl::OkStatus();
  if (absl::Status status = StartClock(); !status.ok()) return status;
  return RecordMark(kCopyInEnd);
}

absl::Status CudaStream::EndKernels() { return pace_ == Pace::kBrief ? absl::OkStatus() : RecordMark(kKernelsEnd); }

absl::Status CudaStream::Download(const ResultBuffer& result, int64_t bytes) {
  if (result.host == result.device) return absl::OkStatus();
  return result.is_far ? Copy(result.host, result.device, bytes) : CopyToHost(result.host, result.device, bytes);
}

absl::StatusOr<const void*> CudaStream::MarkPoint() {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  if (marked_points_ == points_.size()) {
    cudaEvent_t point = nullptr;
    CORANK_RETURN_IF_CUDA_FAILED(cudaEventCreateWithFlags(&point, cudaEventDisableTiming), "create event");
    points_.push_back(point);
  }
  has_unfinished_work_ = true;
  if (absl::Status recorded = relay_.Record(points_[marked_points_]); !recorded.ok()) return recorded;
  return points_[marked_points_++];
}

absl::Status CudaStream::After(const void* point) {
  if (point == nullptr) return absl::OkStatus();
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  has_unfinished_work_ = true;
  CORANK_RETURN_IF_CUDA_FAILED(
      cudaStreamWaitEvent(stream_, static_cast<cudaEvent_t>(const_cast<void*>(point)), cudaEventWaitDefault),
      "wait for another stream");
  return absl::OkStatus();
}

absl::Status CudaStream::WaitForMark(Mark mark) {
  const auto start = std::chrono::steady_clock::now();
  cudaError_t state = cudaEventQuery(events_[mark]);
  while (state == cudaErrorNotReady) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kSpin) Pause(std::clamp<std::chrono::nanoseconds>(waited / kPauseShare, kLeastPause, kMostPause));
    state = cudaEventQuery(events_[mark]);
  }
  return ToStatus(state, "wait");
}

int64_t CudaStream::NanosecondsBetween(Mark from, Mark to) const {
  float milliseconds = 0;
  if (!is_recorded_[from] || !is_recorded_[to]) return 0;
  if (cudaEventElapsedTime(&milliseconds, events_[from], events_[to]) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the next launch would take the error for its own
    return 0;
  }
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

absl::StatusOr<PhaseTimes> CudaStream::Finish() {
  const Mark end = pace_ == Pace::kBrief ? kBriefEnd : kEnd;
  absl::Status status = RecordMark(end);
  if (status.ok()) status = WaitForMark(end);
  if (!status.ok()) {
    // The caller is about to free memory that enqueued copies and kernels still use.
    static_cast<void>(WaitForAll().ok());
    return status;
  }
  has_unfinished_work_ = false;
  for (const Arrival& arrival : arrivals_) {
    std::memcpy(arrival.to, arrival.from, static_cast<size_t>(arrival.bytes));
  }
  arrivals_.clear();
  PhaseTimes times;
  if (pace_ == Pace::kBrief) {
    times.kernel_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started_).count();
    return times;
  }
  times.copy_in_ns = NanosecondsBetween(kStart, kCopyInEnd);
  times.kernel_ns = NanosecondsBetween(kCopyInEnd, kKernelsEnd);
  times.copy_out_ns = NanosecondsBetween(kKernelsEnd, kEnd);
  return times;
}

absl::StatusOr<void*> CudaStream::AllocateWorkspace(int64_t bytes) {
  // The work before it on this stream has ended by the time that the next operator begins.
  if (bytes <= d_workspace_bytes_) return d_workspace_;
  const absl::StatusOr<void*> d_workspace = device_arena_.Allocate(bytes);
  if (!d_workspace.ok()) return d_workspace;
  workspace_bytes_ += bytes;
  d_workspace_ = *d_workspace;
  d_workspace_bytes_ = bytes;
  return d_workspace_;
}

absl::Status CudaStream::Sort(const SortArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  *report = OperatorReport();
  const int64_t bytes = SortWorkspaceBytes(args);
  const absl::StatusOr<void*> d_workspace = AllocateWorkspace(bytes);
  if (!d_workspace.ok()) return d_workspace.status();
  const absl::StatusOr<void*> h_letter = AllocateHost(kSortLetterBytes + int64_t{sizeof(int64_t)});
  if (!h_letter.ok()) return h_letter.status();
  if (!args.LimitsSegments()) {
    return ToStatus(cuda::Sort(args, *d_workspace, bytes, report, stream_, *h_letter), "sort");
  }
  auto* const h_results = reinterpret_cast<int64_t*>(static_cast<char*>(*h_letter) + kSortLetterBytes);
  CORANK_RETURN_IF_CUDA_FAILED(
      cuda::Sort(args, *d_workspace, bytes, report, stream_, *h_letter, kAutoLookCount, h_results), "sort");
  arrivals_.push_back({h_results, &report->results, sizeof(int64_t)});
  return absl::OkStatus();
}

absl::Status CudaStream::SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return ToStatus(cuda::SortEach(sorts.data(), static_cast<int>(sorts.size()), reports, stream_), "sort each");
}

absl::Status CudaStream::SortColumns(const ColumnSortArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  if (args.run_count > 0) {
    const auto run = [](const ColumnSortArgs& runs, void* workspace, int64_t bytes, OperatorReport* to,
                        cudaStream_t stream) { return cuda::SortColumns(runs, workspace, bytes, to, stream); };
    return RunReporting(args, ColumnSortWorkspaceBytes(args), +run, "merge by columns", report);
  }
  *report = OperatorReport();
  const int64_t bytes = ColumnSortWorkspaceBytes(args);
  const absl::StatusOr<void*> d_workspace = AllocateWorkspace(bytes);
  if (!d_workspace.ok()) return d_workspace.status();
  if (!args.LimitsSegments()) {
    return ToStatus(cuda::SortColumns(args, *d_workspace, bytes, report, stream_), "sort by columns");
  }
  const absl::StatusOr<void*> h_results = AllocateHost(sizeof(int64_t));
  if (!h_results.ok()) return h_results.status();
  CORANK_RETURN_IF_CUDA_FAILED(
      cuda::SortColumns(args, *d_workspace, bytes, report, stream_, static_cast<int64_t*>(*h_results)),
      "sort by columns");
  arrivals_.push_back({*h_results, &report->results, sizeof(int64_t)});
  return absl::OkStatus();
}

template <typename Args, typename Report>
absl::Status CudaStream::RunReporting(const Args& args, int64_t workspace_bytes,
                                      cudaError_t (*run)(const Args&, void*, int64_t, Report*, cudaStream_t),
                                      const char* name, Report* report) {
  const absl::StatusOr<void*> d_workspace = AllocateWorkspace(workspace_bytes);
  if (!d_workspace.ok()) return d_workspace.status();
  // The last kernel writes the report directly to host memory: a copy would queue behind large downloads of other
  // streams.
  const absl::StatusOr<void*> h_report = AllocateHost(sizeof(Report));
  if (!h_report.ok()) return h_report.status();
  CORANK_RETURN_IF_CUDA_FAILED(run(args, *d_workspace, workspace_bytes, static_cast<Report*>(*h_report), stream_),
                               name);
  arrivals_.push_back({*h_report, report, sizeof(Report)});
  return absl::OkStatus();
}

absl::Status CudaStream::Merge(const MergeArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, MergeWorkspaceBytes(args), &cuda::Merge, "merge", report);
}

absl::Status CudaStream::SplitRuns(const SplitArgs& args) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  const int64_t positions_bytes = args.position_count * static_cast<int64_t>(sizeof(int64_t));
  const int64_t splits_bytes = positions_bytes * args.input_count;
  if (splits_bytes == 0) return absl::OkStatus();
  const absl::StatusOr<void*> h_positions = AllocateHost(positions_bytes);
  if (!h_positions.ok()) return h_positions.status();
  std::memcpy(*h_positions, args.positions, static_cast<size_t>(positions_bytes));
  const absl::StatusOr<void*> d_positions = AllocateDevice(positions_bytes);
  if (!d_positions.ok()) return d_positions.status();
  const absl::StatusOr<ResultBuffer> splits = AllocateResult(splits_bytes);
  if (!splits.ok()) return splits.status();
  if (absl::Status status = CopyToDevice(*d_positions, *h_positions, positions_bytes); !status.ok()) return status;
  CORANK_RETURN_IF_CUDA_FAILED(
      cuda::SplitRuns(args, static_cast<const int64_t*>(*d_positions), static_cast<int64_t*>(splits->device), stream_),
      "cut runs");
  if (absl::Status status = Download(*splits, splits_bytes); !status.ok()) return status;
  arrivals_.push_back({splits->host, args.splits, splits_bytes});
  return absl::OkStatus();
}

absl::Status CudaStream::Expand(const ExpandArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, ExpandWorkspaceBytes(args), &cuda::Expand, "expand", report);
}

absl::Status CudaStream::Move(const MoveArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, MoveWorkspaceBytes(args), &cuda::Move, "move", report);
}

absl::Status CudaStream::LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, LoadBalanceWorkspaceBytes(args), &cuda::LoadBalance, "load balance", report);
}

absl::Status CudaStream::Search(const SearchArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, SearchWorkspaceBytes(args), &cuda::Search, "search", report);
}

absl::Status CudaStream::SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, ColumnSearchWorkspaceBytes(args), &cuda::SearchColumns, "search by columns", report);
}

absl::Status CudaStream::Group(const GroupArgs& args, GroupReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, GroupWorkspaceBytes(args), &cuda::Group, "group", report);
}

absl::Status CudaStream::Select(const SelectArgs& args, SelectReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, SelectWorkspaceBytes(args), &cuda::Select, "select", report);
}

absl::Status CudaStream::CombineSets(const SetArgs& args, SetReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, CombineSetsWorkspaceBytes(args), &cuda::CombineSets, "combine sets", report);
}

absl::Status CudaStream::Join(const JoinArgs& args, JoinReport* report) {
  if (absl::Status entered = Enter(); !entered.ok()) return entered;
  return RunReporting(args, JoinWorkspaceBytes(args), &cuda::Join, "join", report);
}

}  // namespace corank::cuda
