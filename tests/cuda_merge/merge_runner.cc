#include "tests/cuda_merge/merge_runner.h"

#include <deque>

#include "kernels/cuda/merge/merge.h"
#include "kernels/cuda/search/search.h"
#include "tests/support/device_buffer.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

/// Device memory that reports and operators use, and one stream.
struct Device {
  explicit Device(int64_t workspace_bytes) : workspace(workspace_bytes), report(int64_t{sizeof(OperatorReport)}) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  ~Device() { cudaStreamDestroy(stream); }

  OperatorReport* d_report() const { return static_cast<OperatorReport*>(report.data()); }
  OperatorReport Finish() const {
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    workspace.Download();  // checks its guards
    OperatorReport result;
    std::memcpy(&result, report.Download().data(), sizeof(result));
    return result;
  }

  DeviceBuffer workspace;
  DeviceBuffer report;
  cudaStream_t stream = nullptr;
};

}  // namespace

MergeAnswer RunMerge(const MergeProblem& problem) {
  const int key_bytes = KeyBytes(problem.type);
  std::deque<DeviceBuffer> buffers;
  std::vector<MergeInput> inputs;
  MergeArgs args;
  for (size_t i = 0; i < problem.keys.size(); ++i) {
    MergeInput input;
    input.count = static_cast<int64_t>(problem.keys[i].size()) / key_bytes;
    input.keys = buffers.emplace_back(problem.keys[i], problem.shift * key_bytes).data();
    if (problem.value_bytes != 0) {
      input.values = buffers.emplace_back(problem.values[i], problem.shift * problem.value_bytes).data();
    }
    inputs.push_back(input);
  }
  args.key_type = problem.type;
  args.order = problem.order;
  args.algorithm = problem.algorithm;
  args.inputs = inputs.data();
  args.input_count = static_cast<int32_t>(inputs.size());
  args.value_bytes = problem.value_bytes;
  args.check_sorted = problem.check_sorted;
  const int64_t total = args.TotalCount();
  DeviceBuffer keys_out(total * key_bytes, problem.shift * key_bytes);
  DeviceBuffer values_out(total * problem.value_bytes, problem.shift * problem.value_bytes);
  args.keys_out = keys_out.data();
  args.values_out = problem.value_bytes == 0 ? nullptr : values_out.data();

  const int64_t workspace_bytes = cuda::MergeWorkspaceBytes(args);
  Device device(workspace_bytes);
  EXPECT_EQ(cuda::Merge(args, device.workspace.data(), workspace_bytes, device.d_report(), device.stream), cudaSuccess);
  for (MergeInput& input : inputs) input = MergeInput();  // Merge no longer needs the host array
  MergeAnswer answer;
  answer.report = device.Finish();
  answer.keys = keys_out.Download();
  answer.values = values_out.Download();
  return answer;
}

SearchAnswer RunSearch(const SearchProblem& problem) {
  const int key_bytes = KeyBytes(problem.type);
  const DeviceBuffer haystack(problem.haystack, key_bytes), needles(problem.needles, key_bytes);
  SearchArgs args;
  args.key_type = problem.type;
  args.order = problem.order;
  args.bound = problem.bound;
  args.haystack = haystack.data();
  args.haystack_count = static_cast<int64_t>(problem.haystack.size()) / key_bytes;
  args.needles = needles.data();
  args.needle_count = static_cast<int64_t>(problem.needles.size()) / key_bytes;
  args.check_sorted = problem.check_sorted;
  DeviceBuffer positions(args.needle_count * IndexBytes(args.haystack_count));
  args.positions_out = positions.data();

  const int64_t workspace_bytes = cuda::SearchWorkspaceBytes(args);
  Device device(workspace_bytes);
  EXPECT_EQ(cuda::Search(args, device.workspace.data(), workspace_bytes, device.d_report(), device.stream),
            cudaSuccess);
  SearchAnswer answer;
  answer.report = device.Finish();
  answer.positions = positions.Download();
  return answer;
}

Bytes SortedKeys(KeyType type, Order order, int64_t count, int distribution, uint64_t seed) {
  const Bytes keys = MakeKeys(type, kAllDistributions[static_cast<size_t>(distribution)], count, seed);
  return Gather(keys, KeyBytes(type), StableOrder(type, order, keys));
}

}  // namespace corank::testing
