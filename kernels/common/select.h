// Arguments of Select, as engines take them. Pointers, counts and lifetimes follow the rules of operators.h.
#ifndef CORANK_KERNELS_COMMON_SELECT_H_
#define CORANK_KERNELS_COMMON_SELECT_H_

#include <cstdint>
#include <type_traits>

#include "kernels/common/types.h"

namespace corank {

/// What decides whether an element is selected.
enum class SelectBy : uint8_t {
  kFlags,      // its flag is not 0
  kBitmap,     // its bit is set
  kPositions,  // its position is among the positions
  kThreshold,  // it compares with the threshold as the comparison says
};

/// The outcomes of a comparison that select an element: a set of bits. Numbers compare as Sort orders them.
enum class Comparison : uint8_t {
  kLess = 1,
  kEqual = 2,
  kLessOrEqual = 3,
  kGreater = 4,
  kNotEqual = 5,
  kGreaterOrEqual = 6,
};

/// Whether an element of this rank is selected. Ranks: as key_order.h maps keys in ascending order.
template <typename Bits>
CORANK_HOST_DEVICE bool Compares(Comparison comparison, Bits rank, Bits threshold) {
  return (static_cast<int>(comparison) >> (rank < threshold ? 0 : rank == threshold ? 1 : 2) & 1) != 0;
}

/// Bytes of a bitmap: bit i % 8 of byte i / 8 belongs to element i.
constexpr int64_t BitmapBytes(int64_t count) { return count / 8 + (count % 8 != 0 ? 1 : 0); }

/// Selects elements, stably. Outputs have one row for each selected element, in their order; with `partition`, one for
/// each other element behind them, in their order too. An output has room for `count` rows, and is null if the caller
/// does not want it.
struct SelectArgs {
  SelectBy by = SelectBy::kFlags;
  bool negate = false;  // selects the elements that the predicate does not hold for
  bool partition = false;
  int64_t count = 0;
  const void* elements = nullptr;  // of key_type if by == kThreshold; may be null if nothing reads them
  int32_t element_bytes = 4;       // 1 to kMaxRecordBytes
  const void* values = nullptr;
  int32_t value_bytes = 0;             // 0 to kMaxRecordBytes; 0: no values
  const uint8_t* flags = nullptr;      // kFlags: one byte for each element. kBitmap: BitmapBytes(count) bytes
  const int64_t* positions = nullptr;  // kPositions: in any order; they may repeat
  int64_t position_count = 0;
  KeyType key_type = KeyType::kUint32;  // kThreshold, as the two members below
  Comparison comparison = Comparison::kLess;
  const void* threshold = nullptr;  // one key
  void* elements_out = nullptr;
  void* values_out = nullptr;
  void* indices_out = nullptr;   // the positions of the elements. IndexBytes(count - 1) bytes each
  int64_t* count_out = nullptr;  // null, or room for the number of selected elements

  CORANK_HOST_DEVICE bool HasRows() const {
    return elements_out != nullptr || values_out != nullptr || indices_out != nullptr;
  }
};

/// Findings of a Select. Valid after EngineStream::Finish. Unless `out_of_range` is -1, the rest is unspecified.
struct SelectReport {
  int64_t selected = 0;
  int64_t out_of_range = -1;  // the first index of a position that no element has
};
static_assert(std::has_unique_object_representations_v<SelectReport>, "no padding");

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_SELECT_H_
