#include <cstring>

#include "tests/faults/engine_workloads.h"
#include "tests/faults/workload_request.h"
#include "tests/faults/workload_sizes.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

// Floats include zeros of both signs and NaNs of several kinds.
Bytes SortedKeys(KeyType type, int64_t count, uint64_t seed) {
  if (!IsFloat(type)) return MakeKeys(type, Distribution::kSorted, count, seed);
  const Bytes keys = MakeKeys(type, Distribution::kSpecialFloats, count, seed);
  return Gather(keys, KeyBytes(type), StableOrder(type, Order::kAscending, keys));
}

WorkloadRun Merge(KeyType type, MergeAlgorithm algorithm, int inputs, int value_bytes) {
  constexpr int64_t kCount = 9000;
  std::vector<Bytes> keys, values;
  for (int i = 0; i < inputs; ++i) {
    keys.push_back(SortedKeys(type, kCount, static_cast<uint64_t>(i)));
    values.push_back(MakeBytes(kCount * value_bytes, static_cast<uint64_t>(i)));
  }
  return Whole([=](Request& request) -> absl::Status {
    std::vector<MergeInput> merged(static_cast<size_t>(inputs));
    for (size_t i = 0; i < merged.size(); ++i) {
      merged[i].count = kCount;
      CORANK_ASSIGN_OR_RETURN(merged[i].keys, request.Input(keys[i]));
      if (value_bytes > 0) {
        CORANK_ASSIGN_OR_RETURN(merged[i].values, request.Input(values[i]));
      }
    }
    MergeArgs args;
    args.key_type = type;
    args.algorithm = algorithm;
    args.inputs = merged.data();
    args.input_count = inputs;
    args.value_bytes = value_bytes;
    CORANK_ASSIGN_OR_RETURN(args.keys_out, request.Output(args.TotalCount() * KeyBytes(type)));
    if (value_bytes > 0) {
      CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(args.TotalCount() * value_bytes));
    }
    return request.Run(&EngineStream::Merge, args);
  });
}

// Zeros made by the device, and a tail of other keys. Only the tail of the result is shown.
WorkloadRun MergeOfManyKeys() {
  constexpr int kInputs = 3;
  constexpr int64_t kTail = 5000;
  const int64_t count = KeysOfTwoPartitions() / kInputs + 1;
  std::vector<Bytes> tails;
  for (uint64_t i = 0; i < kInputs; ++i) tails.push_back(MakeKeys(KeyType::kUint8, Distribution::kSorted, kTail, i));
  return Whole([=](Request& request) -> absl::Status {
    EngineStream& stream = request.stream();
    MergeInput inputs[kInputs];
    for (size_t i = 0; i < kInputs; ++i) {
      CORANK_ASSIGN_OR_RETURN(void* const d_keys, stream.AllocateDevice(count));
      CORANK_ASSIGN_OR_RETURN(void* const h_tail, stream.AllocateHost(kTail));
      std::memcpy(h_tail, tails[i].data(), tails[i].size());
      CORANK_RETURN_IF_ERROR(stream.Zero(d_keys, count - kTail));
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(static_cast<char*>(d_keys) + count - kTail, h_tail, kTail));
      inputs[i].keys = d_keys;
      inputs[i].count = count;
    }
    MergeArgs args;
    args.key_type = KeyType::kUint8;
    args.inputs = inputs;
    args.input_count = kInputs;
    CORANK_ASSIGN_OR_RETURN(args.keys_out, stream.AllocateDevice(args.TotalCount()));
    constexpr int64_t kShown = kInputs * kTail;
    CORANK_RETURN_IF_ERROR(request.Show(static_cast<char*>(args.keys_out) + args.TotalCount() - kShown, kShown));
    return request.Run(&EngineStream::Merge, args);
  });
}

WorkloadRun SplitRuns() {
  constexpr int64_t kCount = 5000;
  return [](EngineStream& stream, WorkloadResult* result) -> absl::Status {
    const std::vector<int64_t> positions = {0, 1, 777, 4096, 3 * kCount};
    std::vector<int64_t> splits(positions.size() * 3, -1);
    CORANK_RETURN_IF_ERROR(stream.Begin());
    Request request(&stream);
    const absl::Status enqueued = [&]() -> absl::Status {
      MergeInput inputs[3];
      for (uint64_t i = 0; i < 3; ++i) {
        inputs[i].count = kCount;
        CORANK_ASSIGN_OR_RETURN(inputs[i].keys, request.Input(SortedKeys(KeyType::kUint32, kCount, i)));
      }
      SplitArgs args;
      args.inputs = inputs;
      args.input_count = 3;
      args.positions = positions.data();
      args.position_count = static_cast<int64_t>(positions.size());
      args.splits = splits.data();
      return stream.SplitRuns(args);
    }();
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    result->outputs = {AsBytes(splits)};
    return absl::OkStatus();
  };
}

WorkloadRun Search() {
  constexpr int64_t kCount = 20000;
  const Bytes haystack = MakeKeys(KeyType::kFloat64, Distribution::kSorted, kCount, 1);
  const Bytes needles = MakeKeys(KeyType::kFloat64, Distribution::kUniform, kCount, 2);
  return Whole([=](Request& request) -> absl::Status {
    SearchArgs args;
    args.key_type = KeyType::kFloat64;
    args.haystack_count = args.needle_count = kCount;
    CORANK_ASSIGN_OR_RETURN(args.haystack, request.Input(haystack));
    CORANK_ASSIGN_OR_RETURN(args.needles, request.Input(needles));
    CORANK_ASSIGN_OR_RETURN(args.positions_out, request.Output(kCount * IndexBytes(kCount)));
    return request.Run(&EngineStream::Search, args);
  });
}

}  // namespace

std::vector<Workload> MergeWorkloads() {
  return {
      {"merge of one", Merge(KeyType::kUint32, MergeAlgorithm::kAuto, 1, 4), {"SortedCheckKernel<"}},
      {"merge of two",
       Merge(KeyType::kUint32, MergeAlgorithm::kAuto, 2, 0),
       {"BulkMergeKernel<", "CopyRunsKernel<", "SortedCheckKernel<", "WriteReportKernel<"}},
      {"merge of two of floats", Merge(KeyType::kFloat32, MergeAlgorithm::kAuto, 2, 0), {"BulkMergeKernel<"}},
      {"merge of two with values",
       Merge(KeyType::kUint32, MergeAlgorithm::kAuto, 2, 4),
       {"::PartitionKernel<", "PathMergeKernel<"}},
      {"basic merge",
       Merge(KeyType::kInt64, MergeAlgorithm::kBasic, 2, 4),
       {"::PartitionKernel<", "BasicMergeKernel<"}},
      {"tiled merge", Merge(KeyType::kInt64, MergeAlgorithm::kTiled, 2, 4), {"TiledMergeKernel<"}},
      {"circular merge",
       Merge(KeyType::kInt64, MergeAlgorithm::kCircularBuffer, 3, 16),
       {"CircularBufferMergeKernel<", "WriteInputsKernel(", "GatherInputsKernel<"}},
      {"merge of three of floats",
       Merge(KeyType::kFloat32, MergeAlgorithm::kAuto, 3, 0),
       {"MultiwayPartitionKernel<false", "MultiwayMergeKernel<", "RestoreRunBitsKernel<", "CopyRunsKernel<"}},
      {"merge of forty", Merge(KeyType::kUint16, MergeAlgorithm::kAuto, 40, 8), {"MultiwayMergeKernel<"}},
      {"merge of many keys",
       MergeOfManyKeys(),
       {"MultiwayPartitionKernel<false", "MultiwayPartitionKernel<true", "MultiwayMergeKernel<"}},
      {"cut of runs", SplitRuns(), {"SplitRunsKernel<"}},
      {"search", Search(), {"SortedCheckKernel<", "SearchKernel<"}},
  };
}

}  // namespace corank::testing
