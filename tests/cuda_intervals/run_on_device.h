// Runs an interval operator, or a part of one, on the GPU.
#ifndef CORANK_TESTS_CUDA_INTERVALS_RUN_ON_DEVICE_H_
#define CORANK_TESTS_CUDA_INTERVALS_RUN_ON_DEVICE_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "kernels/common/operators.h"
#include "tests/support/device_buffer.h"

namespace corank::testing {

/// Runs fn(d_workspace, d_report, stream) and returns the report.
template <typename Fn>
OperatorReport RunOnDevice(int64_t workspace_bytes, Fn fn) {
  const DeviceBuffer workspace(workspace_bytes), report(int64_t{sizeof(OperatorReport)});
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(fn(workspace.data(), static_cast<OperatorReport*>(report.data()), stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaStreamDestroy(stream);
  workspace.Download();  // checks its guards
  OperatorReport result;
  std::memcpy(&result, report.Download().data(), sizeof(result));
  return result;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_CUDA_INTERVALS_RUN_ON_DEVICE_H_
