// Reports the findings of kernels: a cell in device memory that holds the least fault, and the kernel that converts it
// into an OperatorReport.
#ifndef CORANK_KERNELS_CUDA_COMMON_OPERATOR_REPORT_CUH_
#define CORANK_KERNELS_CUDA_COMMON_OPERATOR_REPORT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/operators.h"

namespace corank::cuda {

/// The least fault so far, as the complement of input << 48 | index. One atomicMax then keeps the first fault for any
/// order of blocks, and a cell of zero bytes holds no fault.
using FaultCell = unsigned long long;

inline constexpr FaultCell kNoFault = 0;
inline constexpr int kFaultIndexBits = 48;

CORANK_HOST_DEVICE FaultCell PackFault(int32_t input, int64_t index) {
  return ~(static_cast<FaultCell>(input) << kFaultIndexBits | static_cast<FaultCell>(index));
}
CORANK_HOST_DEVICE int32_t FaultInput(FaultCell fault) { return static_cast<int32_t>(~fault >> kFaultIndexBits); }
CORANK_HOST_DEVICE int64_t FaultIndex(FaultCell fault) {
  return static_cast<int64_t>(~fault & ((FaultCell{1} << kFaultIndexBits) - 1));
}

/// One thread. Writes `report`, with kUnsorted if `d_cell` holds a fault. `d_cell` may be null.
template <typename Report>
__global__ void WriteReportKernel(Report report, const FaultCell* d_cell, Report* d_report) {
  if (d_cell != nullptr && *d_cell != kNoFault) {
    report.fault = Report::Fault::kUnsorted;
    report.input = FaultInput(*d_cell);
    report.index = FaultIndex(*d_cell);
  }
  *d_report = report;
}

/// Enqueues a write of `report`, with the fault in `d_cell` if there is one. Either pointer may be null.
inline cudaError_t WriteReport(const OperatorReport& report, const FaultCell* d_cell, OperatorReport* d_report,
                               cudaStream_t stream) {
  if (d_report == nullptr) return cudaSuccess;
  WriteReportKernel<OperatorReport><<<1, 1, 0, stream>>>(report, d_cell, d_report);
  return cudaGetLastError();
}

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_COMMON_OPERATOR_REPORT_CUH_
