// The order of rows with several key columns. Compares whole rows, and maps rows to streams of bytes that have the same
// order.
//
// A row's stream is the concatenation of its columns: a number is its rank (key_order.h), most significant byte first;
// bytes and strings are themselves; in a descending column every byte is complemented. A column with nulls has one more
// byte before these, which tells values from NaNs and nulls; what follows a null is that of any other. The stream ends
// with the last column, or never ends in the first column of strings, where zero bytes (complemented if descending)
// follow the string. Therefore:
//
//   the first difference of two streams decides the order of the two rows;
//   two streams without a difference belong to equal rows, unless there is a column of strings: then Compare decides.
#ifndef CORANK_KERNELS_COMMON_ROW_ORDER_H_
#define CORANK_KERNELS_COMMON_ROW_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/common/column_sort.h"
#include "kernels/common/key_order.h"

namespace corank {

/// The first min(count, 8) bytes in memory order, followed by zero bytes. count > 0. Device code reads aligned words,
/// each with at least one of the bytes.
CORANK_HOST_DEVICE uint64_t LoadBytes(const uint8_t* bytes, int64_t count) {
  uint64_t word = 0;
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  const auto* aligned = reinterpret_cast<const uint64_t*>(address & ~uintptr_t{7});
  const int phase = static_cast<int>(address & 7);
  word = aligned[0] >> (8 * phase);
  if (phase != 0 && count > 8 - phase) word |= aligned[1] << (64 - 8 * phase);
  return count >= 8 ? word : word & (~uint64_t{0} >> (64 - 8 * count));
#else
  std::memcpy(&word, bytes, count < 8 ? static_cast<size_t>(count) : 8);
  return word;
#endif
}

/// As LoadBytes, but as a number whose most significant byte is the first one.
CORANK_HOST_DEVICE uint64_t LoadHead(const uint8_t* bytes, int64_t count) {
  const uint64_t word = LoadBytes(bytes, count);
#if defined(__CUDA_ARCH__)
  return uint64_t{__byte_perm(static_cast<uint32_t>(word), 0, 0x0123)} << 32 |
         __byte_perm(static_cast<uint32_t>(word >> 32), 0, 0x0123);
#else
  return __builtin_bswap64(word);
#endif
}

/// The order of the rows of one table. A value type: pass it to kernels by value. Borrows the data of the columns.
class RowOrder {
 public:
  /// Those of a key, and the number of a row's segment.
  static constexpr int kMaxColumns = kMaxKeyColumns + 1;
  /// The length of streams without an end.
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

  /// `others`: null, or the columns of a second table. Rows of both tables can then be compared, because their streams
  /// have the same order. Only data, offsets and validity of the two tables may differ.
  RowOrder(const KeyColumn* columns, int column_count, const KeyColumn* others = nullptr)
      : column_count_(column_count) {
    for (int i = 0; i < column_count; ++i) {
      columns_[i] = MakeColumn(columns[i], others != nullptr && others[i].validity != nullptr);
    }
    for (int i = 0; i < column_count; ++i) {
      if (columns[i].kind == ColumnKind::kStrings) {
        ends_in_strings_ = i == column_count - 1;
        bytes_before_strings_ += columns_[i].flag_bytes;
        stream_bytes_ = kEndless;
        break;
      }
      bytes_before_strings_ += columns_[i].stream_bytes();
      stream_bytes_ = bytes_before_strings_;
    }
  }

  int column_count() const { return column_count_; }
  /// Whether column i holds integers, from which a base may be subtracted.
  CORANK_HOST_DEVICE bool HasBase(int i) const {
    return columns_[i].kind == ColumnKind::kNumbers && !columns_[i].is_float;
  }
  /// Subtracts the base of an integer column from its numbers in streams. A base is at most the rank of any row of its
  /// column. `bases` holds one rank (see Rank) for each column, in memory that kernels can read and that outlives
  /// this object.
  void set_bases(const uint64_t* bases) { bases_ = bases; }
  /// The rank of a row's number in column i, in the most significant bytes. All ones for a null.
  CORANK_HOST_DEVICE uint64_t Rank(int i, int64_t row) const {
    const Column& column = columns_[i];
    return column.IsNull(row) ? ~uint64_t{0} : column.NumberCode(row);
  }

  /// The length of the rows' streams, or kEndless.
  CORANK_HOST_DEVICE int64_t stream_bytes() const { return stream_bytes_; }

  /// 8 bytes of the row's stream from byte `first` on, the first byte most significant. Zero bytes follow the stream's
  /// end.
  CORANK_HOST_DEVICE uint64_t Word(int64_t row, int64_t first) const {
    uint64_t word = 0;
    int filled = 0;
    for (int i = 0; i < column_count_ && filled < 8; ++i) {
      const Column& column = columns_[i];
      const bool is_strings = column.kind == ColumnKind::kStrings;
      if (!is_strings && first >= column.stream_bytes()) {
        first -= column.stream_bytes();
        continue;
      }
      bool has_value = true;
      if (column.flag_bytes > 0) {
        const uint8_t flag = column.Flag(row);
        has_value = flag == column.value_flag;
        if (first > 0) {
          --first;
        } else {
          word |= uint64_t{flag} << (56 - 8 * filled);
          if (++filled == 8) break;
        }
      }
      if (is_strings) {
        const int64_t left = has_value ? column.StringBytes(row) - first : 0;
        const uint64_t head = left > 0 ? LoadHead(column.data + column.offsets[row] + first, left) : 0;
        return word | (head ^ column.flip) >> (8 * filled);
      }
      const int left = column.row_bytes - static_cast<int>(first);
      if (has_value)
        word |= column.Head(row, static_cast<int>(first), bases_ != nullptr ? bases_[i] : 0) >> (8 * filled);
      filled += left;
      first = 0;
    }
    return word;
  }

  /// Whether the last column is the only one of strings.
  CORANK_HOST_DEVICE bool ends_in_strings() const { return ends_in_strings_; }
  /// 7 bytes of the row's stream from byte `first` on and, in the lowest byte, the end of the row's string relative to
  /// `first`. Among rows whose streams are equal before `first`, tails have the order of the rows up to their last
  /// byte. Requires ends_in_strings().
  CORANK_HOST_DEVICE uint64_t Tail(int64_t row, int64_t first) const {
    const Column& column = columns_[column_count_ - 1];
    const int64_t bytes = column.IsNull(row) ? 0 : column.StringBytes(row);
    const int64_t end = bytes_before_strings_ + bytes - first + kTailsBefore;
    const uint64_t tag = end < 0 ? 0 : end > kTailsBefore + 8 ? kTailsBefore + 8 : static_cast<uint64_t>(end);
    return (Word(row, first) & ~uint64_t{0xFF}) | (tag ^ (column.flip & 0xFF));
  }
  /// Whether two rows with this tail are equal: their strings end at the same place, within the 7 bytes.
  CORANK_HOST_DEVICE bool TailDecides(uint64_t tail) const {
    const uint64_t tag = (tail ^ columns_[column_count_ - 1].flip) & 0xFF;
    return tag > 0 && tag < kTailsBefore + 8;
  }

  /// Where the row's string ends in its stream, or kEndless if it ends with a zero byte. Rows are equal if their
  /// streams are, up to the last of these ends, unless that is kEndless. Requires ends_in_strings().
  int64_t StringEnd(int64_t row) const {
    const Column& column = columns_[column_count_ - 1];
    const int64_t bytes = column.IsNull(row) ? 0 : column.StringBytes(row);
    if (bytes > 0 && column.data[column.offsets[row + 1] - 1] == 0) return kEndless;
    return bytes_before_strings_ + bytes;
  }

  /// Less than, equal to, or greater than 0: row a comes before, with, or after row b. Their streams are equal in the
  /// first `equal_bytes` bytes.
  CORANK_HOST_DEVICE int Compare(int64_t a, int64_t b, int64_t equal_bytes) const {
    return Compare(a, *this, b, equal_bytes);
  }
  /// The same for row b of another table. Both orders were made with the columns of the other table.
  CORANK_HOST_DEVICE int Compare(int64_t a, const RowOrder& b_order, int64_t b, int64_t equal_bytes) const {
    for (int i = 0; i < column_count_; ++i) {
      const Column &column = columns_[i], &b_column = b_order.columns_[i];
      const bool is_strings = column.kind == ColumnKind::kStrings;
      if (!is_strings && equal_bytes >= column.stream_bytes()) {
        equal_bytes -= column.stream_bytes();
        continue;
      }
      if (column.flag_bytes > 0) {
        const uint8_t a_flag = column.Flag(a), b_flag = b_column.Flag(b);
        if (a_flag != b_flag) return a_flag < b_flag ? -1 : 1;
        if (a_flag != column.value_flag) {
          equal_bytes = 0;
          continue;
        }
        if (equal_bytes > 0) --equal_bytes;
      }
      int difference = 0;
      if (column.kind == ColumnKind::kNumbers) {
        const uint64_t a_code = column.NumberCode(a), b_code = b_column.NumberCode(b);
        difference = (a_code > b_code) - (a_code < b_code);
      } else {
        const int64_t a_bytes = is_strings ? column.StringBytes(a) : column.row_bytes;
        const int64_t b_bytes = is_strings ? b_column.StringBytes(b) : column.row_bytes;
        const int64_t a_begin = is_strings ? column.offsets[a] : a * column.row_bytes;
        const int64_t b_begin = is_strings ? b_column.offsets[b] : b * column.row_bytes;
        difference = CompareBytes(column.data + a_begin, b_column.data + b_begin, equal_bytes,
                                  a_bytes < b_bytes ? a_bytes : b_bytes);
        if (difference == 0) difference = (a_bytes > b_bytes) - (a_bytes < b_bytes);
        if (column.flip != 0) difference = -difference;
      }
      equal_bytes = 0;
      if (difference != 0) return difference;
    }
    return 0;
  }

 private:
  /// The order of the numbers of a column: integers, or the floats of its width.
  union NumberOrder {
    NumberOrder() : integers() {}
    KeyOrder<uint64_t, false> integers;
    KeyOrder<uint64_t, true> doubles;
    KeyOrder<uint32_t, true> floats;
    KeyOrder<uint16_t, true> halves;
  };
  struct Column {
    const uint8_t* data = nullptr;
    const int64_t* offsets = nullptr;
    uint64_t flip = 0;  // all ones for bytes and strings in descending order
    NumberOrder numbers;
    const uint8_t* validity = nullptr;
    uint64_t infinity = 0;  // of floats, without its sign, as Magnitude gives it
    int32_t row_bytes = 0;
    ColumnKind kind = ColumnKind::kNumbers;
    bool is_float = false;
    uint8_t flag_bytes = 0;  // 1 if a flag precedes each row in its stream
    uint8_t value_flag = 0, nan_flag = 0, null_flag = 0;

    /// The bytes of a row in its stream. Not of strings.
    CORANK_HOST_DEVICE int stream_bytes() const { return flag_bytes + row_bytes; }
    CORANK_HOST_DEVICE bool IsNull(int64_t row) const {
      return validity != nullptr && (validity[row / 8] >> (row % 8) & 1) == 0;
    }
    /// Only rows with value_flag have data that count.
    CORANK_HOST_DEVICE uint8_t Flag(int64_t row) const {
      if (IsNull(row)) return null_flag;
      return nan_flag != value_flag && Magnitude(row) > infinity ? nan_flag : value_flag;
    }
    /// The bits of a float, without its sign, in the most significant places.
    CORANK_HOST_DEVICE uint64_t Magnitude(int64_t row) const {
      if (row_bytes == 2) return uint64_t{reinterpret_cast<const uint16_t*>(data)[row]} << 49;
      if (row_bytes == 4) return uint64_t{reinterpret_cast<const uint32_t*>(data)[row]} << 33;
      return reinterpret_cast<const uint64_t*>(data)[row] << 1;
    }
    CORANK_HOST_DEVICE int64_t StringBytes(int64_t row) const { return offsets[row + 1] - offsets[row]; }
    /// The bytes of a row from byte `first` on as they are in its stream, without its flag, followed by zero bytes.
    CORANK_HOST_DEVICE uint64_t Head(int64_t row, int first, uint64_t base) const {
      if (kind == ColumnKind::kNumbers) return (NumberCode(row) - (is_float ? 0 : base)) << (8 * first);
      const int left = row_bytes - first;
      return (LoadHead(data + row * row_bytes + first, left) ^ flip) & HighBytes(left);
    }
    /// The rank of a number in the most significant bytes, followed by zero bytes.
    CORANK_HOST_DEVICE uint64_t NumberCode(int64_t row) const {
      switch (row_bytes) {
        case 1:
          return Integer(uint64_t{data[row]} << 56);
        case 2: {
          const uint16_t raw = reinterpret_cast<const uint16_t*>(data)[row];
          return is_float ? uint64_t{numbers.halves.RankOfRaw(raw)} << 48 : Integer(uint64_t{raw} << 48);
        }
        case 4: {
          const uint32_t raw = reinterpret_cast<const uint32_t*>(data)[row];
          return is_float ? uint64_t{numbers.floats.RankOfRaw(raw)} << 32 : Integer(uint64_t{raw} << 32);
        }
        default: {
          const uint64_t raw = reinterpret_cast<const uint64_t*>(data)[row];
          return is_float ? numbers.doubles.RankOfRaw(raw) : Integer(raw);
        }
      }
    }
    CORANK_HOST_DEVICE uint64_t Integer(uint64_t raw) const {
      return numbers.integers.Encode(raw) & HighBytes(row_bytes);
    }
  };

  static Column MakeColumn(const KeyColumn& from, bool others_have_nulls) {
    Column column;
    column.data = static_cast<const uint8_t*>(from.data);
    column.offsets = from.offsets;
    column.row_bytes = from.row_bytes;
    column.kind = from.kind;
    SetFlags(from, others_have_nulls, column);
    if (from.kind != ColumnKind::kNumbers) {
      column.flip = from.order == Order::kDescending ? ~uint64_t{0} : 0;
      return column;
    }
    column.is_float = IsFloat(from.type);
    NumberOrder& numbers = column.numbers;
    if (!column.is_float) {
      const KeyType wide = IsSigned(from.type) ? KeyType::kInt64 : KeyType::kUint64;
      numbers.integers = KeyOrder<uint64_t, false>(wide, from.order);
    } else if (from.row_bytes == 8) {
      numbers.doubles = KeyOrder<uint64_t, true>(from.type, from.order);
    } else if (from.row_bytes == 4) {
      numbers.floats = KeyOrder<uint32_t, true>(from.type, from.order);
    } else {
      numbers.halves = KeyOrder<uint16_t, true>(from.type, from.order);
    }
    return column;
  }

  static void SetFlags(const KeyColumn& from, bool others_have_nulls, Column& column) {
    column.validity = from.validity;
    const bool is_last = from.nulls == NullOrder::kLast;
    const bool has_nans = from.kind == ColumnKind::kNumbers && IsFloat(from.type) && from.nans != NanOrder::kGreatest;
    // Without nulls, NaNs may already lie where they belong.
    const bool moves_nans = has_nans && is_last == (from.order == Order::kDescending);
    if (from.validity == nullptr && !others_have_nulls && !moves_nans) return;
    column.flag_bytes = 1;
    column.value_flag = is_last ? 0 : 2;
    column.null_flag = is_last ? 2 : 0;
    column.nan_flag = !has_nans ? column.value_flag : from.nans == NanOrder::kAsNulls ? column.null_flag : 1;
    constexpr uint64_t kAll = ~uint64_t{0};
    if (has_nans) {
      const int exponent_bits = from.type == KeyType::kFloat16 ? 5 : from.type == KeyType::kFloat64 ? 11 : 8;
      column.infinity = ~(kAll >> exponent_bits);
    }
  }

  /// Ones in the `count` most significant bytes. count > 0.
  static CORANK_HOST_DEVICE uint64_t HighBytes(int count) {
    return count >= 8 ? ~uint64_t{0} : ~(~uint64_t{0} >> (8 * count));
  }

  /// memcmp of bytes [begin, end). Bytes before `begin` are equal where they exist.
  static CORANK_HOST_DEVICE int CompareBytes(const uint8_t* a, const uint8_t* b, int64_t begin, int64_t end) {
    for (; begin < end; begin += 8) {
      const uint64_t a_head = LoadHead(a + begin, end - begin), b_head = LoadHead(b + begin, end - begin);
      if (a_head != b_head) return a_head < b_head ? -1 : 1;
    }
    return 0;
  }

  // A tail distinguishes string ends up to this many bytes before it.
  static constexpr int kTailsBefore = 120;

  Column columns_[kMaxColumns];
  const uint64_t* bases_ = nullptr;
  int32_t column_count_;
  bool ends_in_strings_ = false;
  int64_t bytes_before_strings_ = 0;
  int64_t stream_bytes_ = 0;
};
static_assert(sizeof(RowOrder) <= 3728, "a kernel argument, with others beside it, has at most 4096 bytes");

/// The order of the rows of a sort. `segments`: the numbers of SegmentColumn; not read without segments.
inline RowOrder OrderOf(const ColumnSortArgs& args, const void* segments) {
  if (args.segment_count == 0) return RowOrder(args.columns, args.column_count);
  KeyColumn columns[RowOrder::kMaxColumns];
  columns[0] = SegmentColumn(args.segment_count, segments);
  std::copy_n(args.columns, args.column_count, columns + 1);
  return RowOrder(columns, args.column_count + 1);
}

}  // namespace corank

#endif  // CORANK_KERNELS_COMMON_ROW_ORDER_H_
