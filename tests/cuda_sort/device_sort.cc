#include "tests/cuda_sort/device_sort.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cuda/sort/sort.h"
#include "tests/support/guard_zone.h"
#include "tests/support/oracles.h"
#include "tests/support/sampling.h"

namespace corank::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

/// Device memory with guard zones. Each array is its own allocation, so that memcheck detects reads outside it too.
class GuardedArray {
 public:
  /// Holds `content`, `skew_bytes` after a 256-byte boundary.
  GuardedArray(const Bytes& content, int64_t skew_bytes)
      : bytes_(static_cast<int64_t>(content.size()) + skew_bytes), skew_(kGuardBytes + skew_bytes) {
    Bytes image = GuardedImage(bytes_);
    std::copy(content.begin(), content.end(), image.begin() + kGuardBytes + skew_bytes);
    ok_ = cudaMalloc(&d_image_, image.size()) == cudaSuccess && CopyToDevice(d_image_, image.data(), image.size());
  }
  ~GuardedArray() { cudaFree(d_image_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  bool ok() const { return ok_; }
  void* data() const { return static_cast<char*>(d_image_) + skew_; }

  /// The content. Empty, with *intact false, if a guard was overwritten.
  Bytes Read(bool* intact) const {
    Bytes image(static_cast<size_t>(bytes_ + 2 * kGuardBytes));
    *intact = cudaMemcpy(image.data(), d_image_, image.size(), cudaMemcpyDeviceToHost) == cudaSuccess &&
              GuardsAreIntact(image.data(), bytes_);
    if (!*intact) return {};
    for (int64_t i = kGuardBytes; i < skew_; ++i) *intact &= image[i] == GuardByte(i);
    return Bytes(image.begin() + skew_, image.end() - kGuardBytes);
  }

 private:
  void* d_image_ = nullptr;
  int64_t bytes_;
  int64_t skew_;  // of the content within the image
  bool ok_ = false;
};

AssertionResult Holds(const char* name, const GuardedArray& array, const Bytes& expected, int element_bytes) {
  bool intact = false;
  const Bytes actual = array.Read(&intact);
  if (!intact) return AssertionFailure() << name << ": written outside";
  const auto difference = std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
  if (difference.first == expected.end()) return AssertionSuccess();
  return AssertionFailure() << name << " differs at element " << (difference.first - expected.begin()) / element_bytes;
}

Bytes SegmentBytes(const std::vector<int64_t>& offsets) {
  Bytes bytes(offsets.size() * sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), offsets.data(), bytes.size());
  return bytes;
}

AssertionResult RunCase(const SortInput& input, const SortRequest& request, SortAlgorithm* taken) {
  const int key_bytes = KeyBytes(input.type);
  const int64_t count = input.count();
  const int index_bytes = IndexBytes(count - 1);
  const int value_alignment = std::min(16, request.value_bytes & -request.value_bytes);
  const Bytes values = MakeBytes(count * request.value_bytes, input.seed + 1);

  SortArgs args;
  args.key_type = input.type;
  args.order = input.order;
  args.algorithm = request.algorithm;
  args.count = count;
  args.value_bytes = request.value_bytes;
  args.limit = request.limit;
  args.offset = request.offset;
  if (!input.segment_offsets.empty()) args.segment_count = static_cast<int64_t>(input.segment_offsets.size()) - 1;
  const std::vector<int64_t> expected =
      FirstOfOrder(input.expected, request.limit, input.segment_offsets, request.offset);
  const auto results = static_cast<int64_t>(expected.size());

  const GuardedArray d_keys_in(input.keys, request.skew * key_bytes);
  const GuardedArray d_keys_out(Bytes(static_cast<size_t>(results * key_bytes)), request.skew * key_bytes);
  const GuardedArray d_values_in(values, request.skew * value_alignment);
  const GuardedArray d_values_out(Bytes(static_cast<size_t>(results * request.value_bytes)),
                                  request.skew * value_alignment);
  const GuardedArray d_indices_out(Bytes(static_cast<size_t>(results * index_bytes)), request.skew * index_bytes);
  const GuardedArray d_offsets(SegmentBytes(input.segment_offsets), 0);
  const GuardedArray d_found(Bytes(sizeof(int64_t)), 0);
  args.keys_in = d_keys_in.data();
  if (request.keys) args.keys_out = d_keys_out.data();
  if (request.value_bytes > 0) args.values_in = d_values_in.data();
  if (request.value_bytes > 0) args.values_out = d_values_out.data();
  if (request.indices) args.indices_out = d_indices_out.data();
  if (!input.segment_offsets.empty()) args.segment_offsets = static_cast<const int64_t*>(d_offsets.data());
  const int64_t workspace_bytes = cuda::SortWorkspaceBytes(args, request.look_count);
  const GuardedArray d_workspace(Bytes(static_cast<size_t>(workspace_bytes)), 0);
  for (const GuardedArray* array :
       {&d_keys_in, &d_keys_out, &d_values_in, &d_values_out, &d_indices_out, &d_offsets, &d_found, &d_workspace}) {
    if (!array->ok()) return AssertionFailure() << "no device memory";
  }

  cudaStream_t stream = nullptr;
  void* h_letter = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  // A copy from pageable memory may return before its data arrive, and the stream does not wait for them.
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  if (error == cudaSuccess) error = cudaMallocHost(&h_letter, cuda::kSortLetterBytes);
  OperatorReport report;
  if (error == cudaSuccess)
    error = cuda::Sort(args, d_workspace.data(), workspace_bytes, &report, stream, h_letter, request.look_count,
                       static_cast<int64_t*>(d_found.data()));
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error == cudaSuccess) error = cudaStreamDestroy(stream);
  cudaFreeHost(h_letter);
  if (error != cudaSuccess) return AssertionFailure() << cudaGetErrorString(error);
  if (taken != nullptr) *taken = report.sort_algorithm;

  bool intact = false;
  static_cast<void>(d_workspace.Read(&intact));
  if (!intact) return AssertionFailure() << "written outside the workspace";
  AssertionResult result = Holds("keys_in", d_keys_in, input.keys, key_bytes);
  if (result) result = Holds("d_results", d_found, SegmentBytes({static_cast<int64_t>(expected.size())}), 1);
  if (result) result = Holds("values_in", d_values_in, values, std::max(1, request.value_bytes));
  if (result && request.keys) {
    result = Holds("keys_out", d_keys_out, Gather(input.keys, key_bytes, expected), key_bytes);
  }
  if (result && request.value_bytes > 0) {
    result = Holds("values_out", d_values_out, Gather(values, request.value_bytes, expected), request.value_bytes);
  }
  if (result && request.indices) {
    result = Holds("indices_out", d_indices_out, IndexArray(expected, index_bytes), index_bytes);
  }
  return result;
}

}  // namespace

Bytes TwoPatterns(int key_bytes, uint64_t one, uint64_t other, int64_t count) {
  Bytes keys(static_cast<size_t>(count * key_bytes));
  Random random(50);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random.OneIn(2) ? one : other;
    std::memcpy(keys.data() + i * key_bytes, &bits, static_cast<size_t>(key_bytes));
  }
  return keys;
}

SortInput::SortInput(KeyType key_type, Order key_order, Distribution key_distribution, int64_t count, uint64_t key_seed,
                     std::vector<int64_t> offsets)
    : type(key_type),
      order(key_order),
      distribution(key_distribution),
      seed(key_seed),
      segment_offsets(std::move(offsets)),
      keys(MakeKeys(key_type, key_distribution, count, key_seed)),
      expected(StableOrder(key_type, key_order, keys, segment_offsets)) {}

SortInput::SortInput(KeyType key_type, Order key_order, Bytes given_keys, std::vector<int64_t> offsets)
    : type(key_type),
      order(key_order),
      distribution(Distribution::kUniform),
      seed(0),
      segment_offsets(std::move(offsets)),
      keys(std::move(given_keys)),
      expected(StableOrder(key_type, key_order, keys, segment_offsets)) {}

AssertionResult SortsRight(const SortInput& input, const SortRequest& request, SortAlgorithm* taken) {
  if (taken == nullptr && !RunsNextCase()) return AssertionSuccess();
  AssertionResult result = RunCase(input, request, taken);
  if (!result) {
    result << " [" << SortAlgorithmName(request.algorithm) << ", " << KeyTypeName(input.type)
           << (input.order == Order::kAscending ? " ascending" : " descending") << ", count " << input.count() << ", "
           << DistributionName(input.distribution) << ", seed " << input.seed << ", keys " << request.keys
           << ", indices " << request.indices << ", value bytes " << request.value_bytes << ", limit " << request.limit
           << ", offset " << request.offset << ", skew " << request.skew << ", segments "
           << (input.segment_offsets.empty() ? 0 : input.segment_offsets.size() - 1) << "]";
  }
  return result;
}

}  // namespace corank::testing
