#include "bench/kernels/gpu.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/kernels/device_inputs.h"
#include "kernels/cuda/columns/column_sort.h"
#include "kernels/cuda/group/group.h"
#include "kernels/cuda/intervals/intervals.h"
#include "kernels/cuda/join/join.h"
#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/select/select.h"
#include "kernels/cuda/sets/sets.h"
#include "kernels/cuda/sort/sort.h"

namespace corank::bench {
namespace {

bool HasFault(const OperatorReport& report) { return report.fault != OperatorReport::Fault::kNone; }
bool HasFault(const GroupReport& report) { return report.unsorted >= 0 || report.overflow >= 0; }
bool HasFault(const SelectReport& report) { return report.out_of_range >= 0; }
bool HasFault(const SetReport& report) { return report.unsorted >= 0; }
bool HasFault(const JoinReport& report) { return report.unsorted >= 0; }

}  // namespace

absl::Status KeyArrays::Create(int64_t key_bytes, int64_t value_bytes) {
  absl::StatusOr<Memory> created_keys = Memory::Create(key_bytes);
  if (!created_keys.ok()) return created_keys.status();
  keys = *std::move(created_keys);
  if (value_bytes == 0) return absl::OkStatus();
  absl::StatusOr<Memory> created_values = Memory::Create(value_bytes);
  if (!created_values.ok()) return created_values.status();
  values = *std::move(created_values);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Gpu>> Gpu::Create(int device) {
  std::unique_ptr<Gpu> gpu(new Gpu);
  int driver = 0;
  cudaDeviceProp properties;
  absl::Status status = ToStatus(cudaSetDevice(device), "no usable NVIDIA GPU");
  if (!status.ok()) return status;
  status.Update(ToStatus(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  status.Update(ToStatus(cudaDriverGetVersion(&driver), "cudaDriverGetVersion"));
  status.Update(ToStatus(cudaStreamCreateWithFlags(&gpu->stream_, cudaStreamNonBlocking), "cudaStreamCreate"));
  status.Update(ToStatus(cudaEventCreate(&gpu->start_), "cudaEventCreate"));
  status.Update(ToStatus(cudaEventCreate(&gpu->stop_), "cudaEventCreate"));
  absl::StatusOr<Memory> counter = Memory::Create(sizeof(uint64_t));
  absl::StatusOr<Memory> report = Memory::Create(std::max(
      {sizeof(OperatorReport), sizeof(GroupReport), sizeof(SelectReport), sizeof(SetReport), sizeof(JoinReport)}));
  absl::StatusOr<Memory> letter = Memory::Create(cuda::kSortLetterBytes, MemoryKind::kPinnedHost);
  status.Update(counter.status());
  status.Update(report.status());
  status.Update(letter.status());
  if (!status.ok()) return status;
  gpu->counter_ = *std::move(counter);
  gpu->report_ = *std::move(report);
  gpu->letter_ = *std::move(letter);
  gpu->description_ = absl::StrCat(properties.name, ", CUDA driver ", driver / 1000, ".", driver % 1000 / 10);
  return gpu;
}

Gpu::~Gpu() {
  if (start_ != nullptr) cudaEventDestroy(start_);
  if (stop_ != nullptr) cudaEventDestroy(stop_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

absl::Status Gpu::Reserve(int64_t bytes) {
  if (bytes <= workspace_bytes_) return absl::OkStatus();
  workspace_ = Memory();
  workspace_bytes_ = 0;
  absl::StatusOr<Memory> larger = Memory::Create(bytes);
  if (!larger.ok()) return larger.status();
  workspace_ = *std::move(larger);
  workspace_bytes_ = bytes;
  return absl::OkStatus();
}

absl::StatusOr<double> Gpu::Time(const SortArgs& args, SortAlgorithm* taken) {
  const int64_t bytes = cuda::SortWorkspaceBytes(args);
  const absl::Status reserved = Reserve(bytes);
  if (!reserved.ok()) return reserved;
  OperatorReport report;
  const absl::StatusOr<double> seconds = Time(
      [&](cudaStream_t stream) { return cuda::Sort(args, workspace_.get(), bytes, &report, stream, letter_.get()); });
  if (taken != nullptr) *taken = report.sort_algorithm;
  return seconds;
}

absl::StatusOr<double> Gpu::Time(const ColumnSortArgs& args, SortAlgorithm* taken) {
  const int64_t bytes = cuda::ColumnSortWorkspaceBytes(args);
  const absl::Status reserved = Reserve(bytes);
  if (!reserved.ok()) return reserved;
  auto* const h_report = letter_.as<OperatorReport>();  // pinned, because the stream writes it if there are runs
  const absl::StatusOr<double> seconds =
      Time([&](cudaStream_t stream) { return cuda::SortColumns(args, workspace_.get(), bytes, h_report, stream); });
  if (!seconds.ok()) return seconds;
  if (h_report->fault != OperatorReport::Fault::kNone) return absl::InternalError("a run is out of order");
  if (taken != nullptr) *taken = h_report->sort_algorithm;
  return seconds;
}

template <typename Args, typename Report>
absl::StatusOr<double> Gpu::TimeReporting(const Args& args, int64_t workspace_bytes,
                                          cudaError_t (*run)(const Args&, void*, int64_t, Report*, cudaStream_t)) {
  const absl::Status reserved = Reserve(workspace_bytes);
  if (!reserved.ok()) return reserved;
  const absl::StatusOr<double> seconds = Time(
      [&](cudaStream_t stream) { return run(args, workspace_.get(), workspace_bytes, report_.as<Report>(), stream); });
  if (!seconds.ok()) return seconds.status();
  Report report;
  const absl::Status copied = Run([&](cudaStream_t stream) {
    return cudaMemcpyAsync(&report, report_.get(), sizeof(report), cudaMemcpyDeviceToHost, stream);
  });
  if (!copied.ok()) return copied;
  if (HasFault(report)) return absl::InternalError("the operator reports a faulty input");
  return seconds;
}

absl::StatusOr<double> Gpu::Time(const MergeArgs& args) {
  return TimeReporting(args, cuda::MergeWorkspaceBytes(args), cuda::Merge);
}

absl::StatusOr<double> Gpu::Time(const MoveArgs& args) {
  return TimeReporting(args, cuda::MoveWorkspaceBytes(args), cuda::Move);
}

absl::StatusOr<double> Gpu::Time(const ExpandArgs& args) {
  return TimeReporting(args, cuda::ExpandWorkspaceBytes(args), cuda::Expand);
}

absl::StatusOr<double> Gpu::Time(const LoadBalanceArgs& args) {
  return TimeReporting(args, cuda::LoadBalanceWorkspaceBytes(args), cuda::LoadBalance);
}

absl::StatusOr<double> Gpu::Time(const GroupArgs& args) {
  return TimeReporting(args, cuda::GroupWorkspaceBytes(args), cuda::Group);
}

absl::StatusOr<double> Gpu::Time(const SelectArgs& args) {
  return TimeReporting(args, cuda::SelectWorkspaceBytes(args), cuda::Select);
}

absl::StatusOr<double> Gpu::Time(const SetArgs& args) {
  return TimeReporting(args, cuda::CombineSetsWorkspaceBytes(args), cuda::CombineSets);
}

absl::StatusOr<double> Gpu::Time(const JoinArgs& args) {
  return TimeReporting(args, cuda::JoinWorkspaceBytes(args), cuda::Join);
}

absl::StatusOr<double> Gpu::Time(const std::function<cudaError_t(cudaStream_t)>& work) {
  float milliseconds = 0;
  absl::Status status = ToStatus(cudaEventRecord(start_, stream_), "cudaEventRecord");
  status.Update(ToStatus(work(stream_), "the timed call"));
  status.Update(ToStatus(cudaEventRecord(stop_, stream_), "cudaEventRecord"));
  status.Update(ToStatus(cudaEventSynchronize(stop_), "cudaEventSynchronize"));
  status.Update(ToStatus(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime"));
  if (!status.ok()) return status;
  return static_cast<double>(milliseconds) * 1e-3;
}

absl::Status Gpu::Run(const std::function<cudaError_t(cudaStream_t)>& work) {
  absl::Status status = ToStatus(work(stream_), "preparing a case");
  status.Update(ToStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"));
  return status;
}

absl::Status Gpu::CompareBits(const void* d_ours, const void* d_reference, int64_t bytes) {
  return ExpectNoDifferences([=](uint64_t* d_counter, cudaStream_t stream) {
    return CountDifferences(d_ours, d_reference, bytes, d_counter, stream);
  });
}

absl::Status Gpu::ExpectNoDifferences(const std::function<cudaError_t(uint64_t*, cudaStream_t)>& count) {
  uint64_t* d_counter = counter_.as<uint64_t>();
  uint64_t differences = 0;
  absl::Status status = ToStatus(cudaMemsetAsync(d_counter, 0, sizeof(differences), stream_), "cudaMemsetAsync");
  status.Update(ToStatus(count(d_counter, stream_), "comparing answers"));
  status.Update(ToStatus(cudaMemcpyAsync(&differences, d_counter, sizeof(differences), cudaMemcpyDeviceToHost, stream_),
                         "cudaMemcpyAsync"));
  status.Update(ToStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"));
  if (!status.ok()) return status;
  if (differences != 0) return absl::InternalError(absl::StrCat("wrong answer: ", differences, " differences"));
  return absl::OkStatus();
}

}  // namespace corank::bench
