#include <algorithm>
#include <iterator>

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/launch.h"
#include "kernels/cuda/sort/core_sort.h"
#include "kernels/cuda/sort/float_bits.h"
#include "kernels/cuda/sort/small_cluster.cuh"
#include "kernels/cuda/sort/small_each.cuh"
#include "kernels/cuda/sort/small_sort.cuh"

namespace corank::cuda {
namespace {

/// Dynamic shared memory that every kernel may use without a request, beside the static part of these kernels.
constexpr int kUnaskedSharedBytes = 40 * 1024;
/// The largest size of any plan. A constant, because threads share the attribute: none may lower it before another
/// one's launch.
template <SmallForm kForm, int kItems>
constexpr int MostSharedBytes() {
  using Element = SmallElement<kForm>;
  const int run = kItems == 8 ? kSmallLongestRun : kSmallLongestRun / 2;
  const int samples =
      kSmallMostRuns * static_cast<int>(kSmallSamples * sizeof(typename Element::Key) + 2 * sizeof(int));
  const int most = std::max(kSmallSlack * run * Element::kBytes, samples);
  static_assert(sizeof(typename SmallSorter<kForm, kItems>::Shared) <= 5 * 1024);
  return most;
}
// Beside up to 5 KiB of the static part. The longest runs with an index need larger blocks.
static_assert(MostSharedBytes<SmallForm::kRank32, 8>() <= 94 * 1024);
static_assert(MostSharedBytes<SmallForm::kRank64, 8>() <= 94 * 1024);
static_assert(MostSharedBytes<SmallForm::kRankIndex32, 8>() <= 94 * 1024);
static_assert(MostSharedBytes<SmallForm::kRankIndex64, 4>() <= 94 * 1024);
static_assert(MostSharedBytes<SmallForm::kRankIndex64, 8>() <= 158 * 1024);

template <typename Kernel>
cudaError_t AllowShared(Kernel* kernel, int bytes, int most_bytes) {
  if (bytes <= kUnaskedSharedBytes) return cudaSuccess;
  if (bytes > most_bytes) return cudaErrorInvalidValue;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
}

/// Whether a GPU of this generation runs code that was compiled for Hopper or later, which introduced clusters and
/// dependent launches. Older code that the driver translates for a newer GPU has neither.
bool RunsHopperCode(int major, int minor) {
  constexpr int kCompiledFor[] = {__CUDA_ARCH_LIST__};
  const auto is_hopper = [&](int architecture) {
    return architecture >= 900 && architecture <= 100 * major + 10 * minor;
  };
  return std::any_of(std::begin(kCompiledFor), std::end(kCompiledFor), is_hopper);
}

template <SmallForm kForm>
SmallPass<kForm> MakePass(const CoreSort& sort, const SmallRuns<typename SmallElement<kForm>::Key>& runs) {
  return {AnyKeyOrder(sort.key_type, sort.order),
          sort.d_keys_in,
          sort.d_keys_out,
          sort.d_payload_in,
          sort.d_payload_out,
          sort.payload_bytes,
          static_cast<int>(sort.result_count),
          runs};
}

template <typename... Parameters>
cudaError_t Launch(void (*kernel)(Parameters...), int most_shared_bytes, int blocks, int threads, int shared_bytes,
                   cudaStream_t stream, const cudaLaunchAttribute* attribute, Parameters... parameters) {
  CORANK_RETURN_IF_CUDA_ERROR(AllowShared(kernel, shared_bytes, most_shared_bytes));
  cudaLaunchAttribute copy{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  if (attribute != nullptr) {
    copy = *attribute;
    config.attrs = &copy;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, kernel, parameters...);
}

template <SmallForm kForm, int kItems>
cudaError_t RunCluster(const CoreSort& sort, const SmallPlan& plan, Workspace& workspace, cudaStream_t stream) {
  using Element = SmallElement<kForm>;
  SmallRuns<typename Element::Key> runs{};
  runs.count = static_cast<int>(sort.count);
  runs.tile = plan.run;
  const int blocks = static_cast<int>(CeilDiv(sort.count, plan.run));
  runs.keys = workspace.Carve<typename Element::Key>(blocks * plan.run);
  if (workspace.IsSizing()) return cudaSuccess;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(blocks);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  // Two runs, the minimum, are longer than a tile.
  const int bytes = blocks * plan.run * static_cast<int>(sizeof(typename Element::Key));
  constexpr int kMostBytes = SmallClusterCount(kItems) * static_cast<int>(sizeof(typename Element::Key));
  static_assert(kMostBytes <= 94 * 1024);
  return Launch(SmallClusterKernel<kForm, kItems>, kMostBytes, blocks, kSmallClusterThreads, bytes, stream, &attribute,
                MakePass<kForm>(sort, runs));
}

template <SmallForm kForm, int kItems>
cudaError_t RunBlocks(const CoreSort& sort, const SmallPlan& plan, bool has_dependent_launch, Workspace& workspace,
                      cudaStream_t stream) {
  using Element = SmallElement<kForm>;
  using Key = typename Element::Key;
  const int count = static_cast<int>(sort.count);
  const int run_count = static_cast<int>(CeilDiv(count, plan.run));
  const bool one_launch = run_count == 1;
  SmallRuns<Key> runs{};
  runs.keys = workspace.Carve<Key>(one_launch ? 0 : count);
  runs.indices = workspace.Carve<uint32_t>(!one_launch && Element::kHasIndex ? count : 0);
  runs.samples = workspace.Carve<Key>(one_launch ? 0 : run_count * kSmallSamples);
  runs.count = count;
  runs.tile = plan.run;
  runs.run_count = run_count;
  if (workspace.IsSizing()) return cudaSuccess;

  const SmallPass<kForm> pass = MakePass<kForm>(sort, runs);
  auto* const kernel = SmallSortKernel<kForm, kItems>;
  const int warps = static_cast<int>(CeilDiv(Min(count, plan.run), 32 * kItems));
  constexpr int kMostBytes = MostSharedBytes<kForm, kItems>();
  CORANK_RETURN_IF_CUDA_ERROR(Launch(kernel, kMostBytes, run_count, 32 * warps, 32 * warps * kItems * Element::kBytes,
                                     stream, nullptr, pass, one_launch ? SmallStage::kAll : SmallStage::kRuns));
  if (one_launch) return cudaSuccess;

  int samples = (run_count - 1) * kSmallSamples;
  for (int sample = 0; sample < kSmallSamples; ++sample) {
    samples += runs.SamplePosition(run_count - 1, sample) < runs.RunLength(run_count - 1) ? 1 : 0;
  }
  const int capacity = kSmallSlack * plan.run;
  const int bytes =
      Max(capacity * Element::kBytes, run_count * static_cast<int>(kSmallSamples * sizeof(Key) + 2 * sizeof(int)));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return Launch(kernel, kMostBytes, static_cast<int>(CeilDiv(samples, kSmallSamples)), capacity / kItems, bytes, stream,
                has_dependent_launch ? &attribute : nullptr, pass, SmallStage::kBuckets);
}

template <SmallForm kForm>
cudaError_t RunForm(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  DeviceTraits device;
  CORANK_RETURN_IF_CUDA_ERROR(GetDeviceTraits(&device));
  const bool is_hopper = RunsHopperCode(device.major, device.minor);
  const SmallPlan plan = SmallPlanFor(sort.count, kForm, is_hopper, device.block_bytes);
  if (plan.shape == SmallShape::kOneCluster) {
    return plan.items == kSmallClusterItems[0]
               ? RunCluster<kForm, kSmallClusterItems[0]>(sort, plan, workspace, stream)
               : RunCluster<kForm, kSmallClusterItems[1]>(sort, plan, workspace, stream);
  }
  return plan.items == 4 ? RunBlocks<kForm, 4>(sort, plan, is_hopper, workspace, stream)
                         : RunBlocks<kForm, 8>(sort, plan, is_hopper, workspace, stream);
}

template <SmallForm kForm>
cudaError_t RunEach(const SortArgs* sorts, int count, cudaStream_t stream) {
  SmallArrays all{AnyKeyOrder(sorts->key_type, sorts->order), {}};
  int64_t longest = 0;
  for (int i = 0; i < count; ++i) {
    all.arrays[i] = {sorts[i].keys_in, sorts[i].keys_out, static_cast<int>(sorts[i].count)};
    longest = std::max(longest, sorts[i].count);
  }
  const int warps = static_cast<int>(CeilDiv(longest, 32 * kSmallArrayItems));
  constexpr int kMostBytes = static_cast<int>(kSortEachKeys) * SmallElement<kForm>::kBytes;
  return Launch(SmallEachKernel<kForm>, kMostBytes, count, 32 * warps,
                32 * warps * kSmallArrayItems * SmallElement<kForm>::kBytes, stream, nullptr, all);
}

SmallForm FormOf(const CoreSort& sort) {
  return SmallFormFor(KeyBytes(sort.key_type), IsFloat(sort.key_type), sort.payload_bytes > 0, sort.count);
}

cudaError_t RunAnyForm(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  switch (FormOf(sort)) {
    case SmallForm::kRank32:
      return RunForm<SmallForm::kRank32>(sort, workspace, stream);
    case SmallForm::kRank64:
      return RunForm<SmallForm::kRank64>(sort, workspace, stream);
    case SmallForm::kRankIndex32:
      return RunForm<SmallForm::kRankIndex32>(sort, workspace, stream);
    default:
      return RunForm<SmallForm::kRankIndex64>(sort, workspace, stream);
  }
}

}  // namespace

bool IsSmallSort(const CoreSort& sort) {
  return sort.d_segment_offsets == nullptr && sort.count <= SmallSortLimit(FormOf(sort));
}

cudaError_t SmallSort(const CoreSort& sort, Workspace& workspace, cudaStream_t stream) {
  CORANK_RETURN_IF_CUDA_ERROR(RunAnyForm(sort, workspace, stream));
  const SmallForm form = FormOf(sort);
  const bool has_index = form == SmallForm::kRankIndex32 || form == SmallForm::kRankIndex64;
  return IsFloat(sort.key_type) && !has_index ? RestoreFloatBits(sort, workspace, stream) : cudaSuccess;
}

cudaError_t SortEach(const SortArgs* sorts, int count, OperatorReport* h_reports, cudaStream_t stream) {
  for (int begin = 0; begin < count; begin += kSmallArrays) {
    const SortArgs* const some = sorts + begin;
    const int size = std::min(kSmallArrays, count - begin);
    const auto run = [&]() {
      switch (SmallFormFor(KeyBytes(some->key_type), IsFloat(some->key_type), false, kSortEachKeys)) {
        case SmallForm::kRank32:
          return RunEach<SmallForm::kRank32>(some, size, stream);
        case SmallForm::kRank64:
          return RunEach<SmallForm::kRank64>(some, size, stream);
        case SmallForm::kRankIndex32:
          return RunEach<SmallForm::kRankIndex32>(some, size, stream);
        default:
          return RunEach<SmallForm::kRankIndex64>(some, size, stream);
      }
    };
    CORANK_RETURN_IF_CUDA_ERROR(run());
    for (int i = begin; i < begin + size; ++i) {
      h_reports[i] = OperatorReport();
      h_reports[i].sort_algorithm = SortAlgorithm::kMergesort;
    }
  }
  return cudaSuccess;
}

}  // namespace corank::cuda
