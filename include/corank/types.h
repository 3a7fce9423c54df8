// Types and constants of all kernels and engines. Uses neither CUDA nor Abseil, so that both nvcc and g++ can read it.
#ifndef CORANK_KERNELS_COMMON_TYPES_H_
#define CORANK_KERNELS_COMMON_TYPES_H_

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define CORANK_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define CORANK_HOST_DEVICE inline
#endif

namespace corank {

/// A type with an order. Little-endian. The numbers are those of corank.v1.ElementType.
enum class KeyType : uint8_t {
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUint8 = 5,
  kUint16 = 6,
  kUint32 = 7,
  kUint64 = 8,
  kFloat16 = 9,
  kBfloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
};

inline constexpr KeyType kAllKeyTypes[] = {KeyType::kInt8,    KeyType::kInt16,    KeyType::kInt32,   KeyType::kInt64,
                                           KeyType::kUint8,   KeyType::kUint16,   KeyType::kUint32,  KeyType::kUint64,
                                           KeyType::kFloat16, KeyType::kBfloat16, KeyType::kFloat32, KeyType::kFloat64};

/// Bytes in one key: 1, 2, 4 or 8.
constexpr int KeyBytes(KeyType type) {
  switch (type) {
    case KeyType::kInt8:
    case KeyType::kUint8:
      return 1;
    case KeyType::kInt16:
    case KeyType::kUint16:
    case KeyType::kFloat16:
    case KeyType::kBfloat16:
      return 2;
    case KeyType::kInt32:
    case KeyType::kUint32:
    case KeyType::kFloat32:
      return 4;
    case KeyType::kInt64:
    case KeyType::kUint64:
    case KeyType::kFloat64:
      return 8;
  }
  return 0;
}

constexpr bool IsFloat(KeyType type) { return type >= KeyType::kFloat16; }
constexpr bool IsSigned(KeyType type) { return type <= KeyType::kInt64; }

/// The name in messages, files and the command line: "int8" ... "float64", "bfloat16".
constexpr const char* KeyTypeName(KeyType type) {
  switch (type) {
    case KeyType::kInt8:
      return "int8";
    case KeyType::kInt16:
      return "int16";
    case KeyType::kInt32:
      return "int32";
    case KeyType::kInt64:
      return "int64";
    case KeyType::kUint8:
      return "uint8";
    case KeyType::kUint16:
      return "uint16";
    case KeyType::kUint32:
      return "uint32";
    case KeyType::kUint64:
      return "uint64";
    case KeyType::kFloat16:
      return "float16";
    case KeyType::kBfloat16:
      return "bfloat16";
    case KeyType::kFloat32:
      return "float32";
    case KeyType::kFloat64:
      return "float64";
  }
  return "unknown";
}

/// Equal keys keep their input order in both directions.
enum class Order : uint8_t { kAscending, kDescending };

enum class SortAlgorithm : uint8_t {
  kAuto,
  kMergesort,
  kRadix,
  kOddEvenMergesort,
  kCopy,       // the keys were in order
  kReverse,    // the keys were in the opposite order
  kMergeRuns,  // the keys were a few runs, each in order
  kCount,      // few keys were distinct
};

/// Whether a caller may request it. AUTO chooses the others when the data allow it.
constexpr bool IsRequestable(SortAlgorithm algorithm) { return algorithm < SortAlgorithm::kCopy; }

constexpr const char* SortAlgorithmName(SortAlgorithm algorithm) {
  switch (algorithm) {
    case SortAlgorithm::kAuto:
      return "auto";
    case SortAlgorithm::kMergesort:
      return "mergesort";
    case SortAlgorithm::kRadix:
      return "radix";
    case SortAlgorithm::kOddEvenMergesort:
      return "odd-even-mergesort";
    case SortAlgorithm::kCopy:
      return "copy";
    case SortAlgorithm::kReverse:
      return "reverse";
    case SortAlgorithm::kMergeRuns:
      return "merge-runs";
    case SortAlgorithm::kCount:
      return "count";
  }
  return "unknown";
}

enum class MergeAlgorithm : uint8_t { kAuto, kMergePath, kBasic, kTiled, kCircularBuffer };

constexpr const char* MergeAlgorithmName(MergeAlgorithm algorithm) {
  switch (algorithm) {
    case MergeAlgorithm::kAuto:
      return "auto";
    case MergeAlgorithm::kMergePath:
      return "merge-path";
    case MergeAlgorithm::kBasic:
      return "basic";
    case MergeAlgorithm::kTiled:
      return "tiled";
    case MergeAlgorithm::kCircularBuffer:
      return "circular-buffer";
  }
  return "unknown";
}

enum class SearchBound : uint8_t { kLower, kUpper };

/// The widest record that moves with a key or in an interval operator, in bytes.
inline constexpr int kMaxRecordBytes = 256;
/// The largest number of inputs of one Merge.
inline constexpr int kMaxMergeInputs = 1024;
/// The largest number of inputs of a merge that is cut into pieces (SplitArgs).
inline constexpr int kMaxSplitInputs = 32;

/// Bytes of one index in an index array whose largest value is `max_index`: 4 if it fits, otherwise 8.
constexpr int IndexBytes(int64_t max_index) { return max_index <= int64_t{0xFFFFFFFF} ? 4 : 8; }

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_TYPES_H_
