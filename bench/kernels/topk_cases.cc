#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"

namespace corank::bench {
namespace {

struct TopKData {
  Memory keys, offsets, ours, with_indices, indices, reference, unordered, workspace;
  size_t workspace_bytes = 0;
};

SortArgs ArgsOf(KeyType type, int64_t count, int64_t limit, const TopKData& data) {
  SortArgs args;
  args.key_type = type;
  args.count = count;
  args.limit = limit;
  args.keys_in = data.keys.get();
  args.keys_out = data.ours.get();
  return args;
}

/// Adds corank without and with an output of indices. The data outlive the contest.
void AddOurs(const SortArgs& args, const TopKData& data, Gpu* gpu, Contest* contest) {
  SortArgs indexed = args;
  indexed.keys_out = data.with_indices.get();
  indexed.indices_out = data.indices.get();
  contest->contestants.push_back({"corank", [=] { return gpu->Time(args, nullptr); }});
  contest->contestants.push_back({"corank with indices", [=] { return gpu->Time(indexed, nullptr); }});
}

/// `seconds` of corank, of corank with indices and of the reference, for keys of 4 bytes.
Row RowOf(const Row& identity, const std::vector<Summary>& seconds, const Ceilings& ceilings) {
  const double bytes = 4.0 * static_cast<double>(identity.n);
  Row row = identity;
  row.ours = GigaPerSecond(seconds[0], bytes);
  row.reference = GigaPerSecond(seconds[2], bytes);
  row.ceiling = ceilings.read;
  row.details["ours_us"] = seconds[0].median * 1e6;
  row.details["with_indices_us"] = seconds[1].median * 1e6;
  row.details["reference_us"] = seconds[2].median * 1e6;
  return row;
}

template <typename Key>
absl::StatusOr<Contest> PrepareTopK(const Row& identity, int64_t limit, const Ceilings* ceilings, Gpu* gpu) {
  constexpr int64_t kKeyBytes = sizeof(Key);
  const auto data = std::make_shared<TopKData>();
  absl::Status status = CreateAll({{&data->keys, kKeyBytes * identity.n},
                                   {&data->ours, kKeyBytes * limit},
                                   {&data->with_indices, kKeyBytes * limit},
                                   {&data->indices, kKeyBytes * limit},
                                   {&data->reference, kKeyBytes * limit},
                                   {&data->unordered, kKeyBytes * limit}});
  if (!status.ok()) return status;
  TopKReference<Key> reference;
  reference.keys_in = data->keys.as<Key>();
  reference.count = identity.n;
  reference.limit = limit;
  reference.d_unordered = data->unordered.as<Key>();
  reference.keys_out = data->reference.as<Key>();
  status = ToStatus(CubTopK(reference, nullptr, &data->workspace_bytes, gpu->stream()), "cub::DeviceTopK");
  status.Update(CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  constexpr bool kFloat = std::is_floating_point_v<Key>;
  InputSpec spec;
  spec.count = identity.n;
  spec.shift = kFloat ? 2 : 0;
  status = gpu->Run([&](cudaStream_t stream) { return FillKeys(spec, data->keys.as<uint32_t>(), stream); });
  if (!status.ok()) return status;

  const SortArgs args = ArgsOf(kFloat ? KeyType::kFloat32 : KeyType::kUint32, identity.n, limit, *data);
  Contest contest;
  AddOurs(args, *data, gpu, &contest);
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return CubTopK(reference, data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    absl::Status same = gpu->CompareBits(data->ours.get(), data->reference.get(), kKeyBytes * limit);
    same.Update(gpu->CompareBits(data->with_indices.get(), data->reference.get(), kKeyBytes * limit));
    return same;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = RowOf(identity, seconds, *ceilings);
    row.RequirePartOfCeiling(0.85);
    row.note = "the reference is neither stable nor deterministic";
    return std::vector<Row>{row};
  };
  return contest;
}

/// Finds the `limit` least keys of each segment; the segments have one length. The reference sorts whole segments,
/// because CUB's segmented top-k takes only segments that fit into a block.
absl::StatusOr<Contest> PrepareSegmentedTopK(const Row& identity, int64_t segments, int64_t limit,
                                             const Ceilings* ceilings, Gpu* gpu) {
  constexpr int64_t kKeyBytes = sizeof(float);
  const int64_t length = identity.n / segments;
  const auto data = std::make_shared<TopKData>();
  std::vector<int64_t> offsets;
  for (int64_t segment = 0; segment <= segments; ++segment) offsets.push_back(segment * length);
  absl::Status status = CreateAll({{&data->keys, kKeyBytes * identity.n},
                                   {&data->offsets, static_cast<int64_t>(offsets.size() * sizeof(int64_t))},
                                   {&data->ours, kKeyBytes * segments * limit},
                                   {&data->with_indices, kKeyBytes * segments * limit},
                                   {&data->indices, kKeyBytes * segments * limit},
                                   {&data->reference, kKeyBytes * identity.n}});
  if (!status.ok()) return status;
  const auto sort_all = [=](void* d_workspace, size_t* size, cudaStream_t stream) {
    return CubSegmentedSort(data->keys.as<uint32_t>(), data->reference.as<uint32_t>(), identity.n,
                            data->offsets.as<int64_t>(), segments, d_workspace, size, stream);
  };
  status = ToStatus(sort_all(nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  status.Update(CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  InputSpec spec;
  spec.count = identity.n;
  spec.shift = 2;
  status = gpu->Run([&](cudaStream_t stream) {
    const cudaError_t error = FillKeys(spec, data->keys.as<uint32_t>(), stream);
    if (error != cudaSuccess) return error;
    return cudaMemcpyAsync(data->offsets.get(), offsets.data(), offsets.size() * sizeof(int64_t),
                           cudaMemcpyHostToDevice, stream);
  });
  if (!status.ok()) return status;

  SortArgs args = ArgsOf(KeyType::kFloat32, identity.n, limit, *data);
  args.segment_offsets = data->offsets.as<int64_t>();
  args.segment_count = segments;
  Contest contest;
  AddOurs(args, *data, gpu, &contest);
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return sort_all(data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    absl::Status same;
    for (int64_t segment = 0; segment < segments; ++segment) {
      const float* const first = data->reference.as<float>() + segment * length;
      same.Update(gpu->CompareBits(data->ours.as<float>() + segment * limit, first, kKeyBytes * limit));
      same.Update(gpu->CompareBits(data->with_indices.as<float>() + segment * limit, first, kKeyBytes * limit));
    }
    return same;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = RowOf(identity, seconds, *ceilings);
    row.note = "the reference sorts all keys; torch_topk.py has torch.topk";
    return std::vector<Row>{row};
  };
  return contest;
}

/// Finds the median. The reference sorts all keys as unsigned integers, which order positive floats alike.
absl::StatusOr<Contest> PrepareNth(const Row& identity, KeyType type, const Ceilings* ceilings, Gpu* gpu) {
  constexpr int64_t kKeyBytes = sizeof(uint32_t);
  const auto data = std::make_shared<TopKData>();
  absl::Status status = CreateAll({{&data->keys, kKeyBytes * identity.n},
                                   {&data->ours, kKeyBytes},
                                   {&data->with_indices, kKeyBytes},
                                   {&data->indices, kKeyBytes},
                                   {&data->reference, kKeyBytes * identity.n}});
  if (!status.ok()) return status;
  SortReference<uint32_t> reference;
  reference.keys_in = data->keys.as<uint32_t>();
  reference.keys_out = data->reference.as<uint32_t>();
  reference.count = identity.n;
  status = ToStatus(CubRadixSortKeys(reference, nullptr, &data->workspace_bytes, gpu->stream()), "sizing");
  status.Update(CreateAll({{&data->workspace, static_cast<int64_t>(data->workspace_bytes)}}));
  if (!status.ok()) return status;
  InputSpec spec;
  spec.count = identity.n;
  spec.shift = IsFloat(type) ? 2 : 0;
  status = gpu->Run([&](cudaStream_t stream) { return FillKeys(spec, data->keys.as<uint32_t>(), stream); });
  if (!status.ok()) return status;

  SortArgs args = ArgsOf(type, identity.n, 1, *data);
  args.offset = identity.n / 2;
  Contest contest;
  AddOurs(args, *data, gpu, &contest);
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     size_t size = data->workspace_bytes;
                                     return CubRadixSortKeys(reference, data->workspace.get(), &size, stream);
                                   });
                                 }});
  contest.check = [=] {
    const uint32_t* const median = data->reference.as<uint32_t>() + identity.n / 2;
    absl::Status same = gpu->CompareBits(data->ours.get(), median, kKeyBytes);
    same.Update(gpu->CompareBits(data->with_indices.get(), median, kKeyBytes));
    return same;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = RowOf(identity, seconds, *ceilings);
    row.note = "the reference sorts all keys";
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddTopKCases(const KernelBenchOptions& options, Gpu* gpu, const Ceilings* ceilings, std::vector<Case>* cases) {
  for (const bool is_float : {false, true}) {
    for (const int64_t limit : {16, 256, 4096, 65536}) {
      Row identity;
      identity.row = "top-k, in order";
      identity.type = is_float ? "f32" : "u32";
      identity.n = options.Count(28);
      if (limit > identity.n / 64) continue;
      identity.distribution = absl::StrCat("uniform, k = ", limit);
      identity.unit = "GB/s";
      identity.reference_name = "cub::DeviceTopK and DeviceRadixSort";
      cases->push_back(CaseOf(absl::StrCat("topk/", identity.type, "/", limit), options, identity, [=] {
        return is_float ? PrepareTopK<float>(identity, limit, ceilings, gpu)
                        : PrepareTopK<uint32_t>(identity, limit, ceilings, gpu);
      }));
    }
  }
  for (const KeyType type : {KeyType::kUint32, KeyType::kFloat32}) {
    Row identity;
    identity.row = "n-th element, the median";
    identity.type = IsFloat(type) ? "f32" : "u32";
    identity.n = options.Count(28);
    identity.distribution = "uniform";
    identity.unit = "GB/s";
    identity.reference_name = "cub::DeviceRadixSort";
    cases->push_back(CaseOf(absl::StrCat("nth/", identity.type, "/", identity.n), options, identity,
                            [=] { return PrepareNth(identity, type, ceilings, gpu); }));
  }
  constexpr int64_t kSegments = 256, kLimit = 256;
  Row identity;
  identity.row = "segmented top-k, in order";
  identity.type = "f32";
  identity.n = options.Count(27);
  identity.distribution = absl::StrCat("uniform, ", kSegments, " segments, k = ", kLimit);
  identity.unit = "GB/s";
  identity.reference_name = "cub::DeviceSegmentedSort of the bits as unsigned";
  cases->push_back(CaseOf(absl::StrCat("topk/segments/", identity.n), options, identity, [=] {
    return PrepareSegmentedTopK(identity, kSegments, std::min(kLimit, identity.n / kSegments), ceilings, gpu);
  }));
}

}  // namespace corank::bench
