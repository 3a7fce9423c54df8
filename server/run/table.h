// Tables of an external sort by columns: blocks of memory with some rows of every array.
#ifndef CORANK_SERVER_RUN_TABLE_H_
#define CORANK_SERVER_RUN_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/engine/engine.h"
#include "server/run/device_ops/column_sort.h"
#include "server/run/job_memory.h"

namespace corank {

/// How many rows some memory holds, and how many bytes of strings of each column that has them.
struct TableSize {
  int64_t rows = 0;
  std::vector<int64_t> string_bytes = {};
};

/// The arrays of a table: by segments, the number of each row's segment (SegmentColumn); for each key column its data
/// and, if it has them, its offsets and its validity; then the values, or the index of each row in the input. A block
/// of memory holds them one after another, each 256-byte aligned. Its offsets begin at 0.
class TableShape {
 public:
  struct Array {
    enum class Kind : uint8_t {
      kRows,     // an element for each row
      kBitmap,   // an element for the bits of 8 rows
      kOffsets,  // one more than there are rows
      kStrings,  // their bytes
    };
    int32_t element_bytes = 0;
    Kind kind = Kind::kRows;
    size_t strings = 0;  // of kOffsets and kStrings: the index in TableSize::string_bytes

    int64_t Elements(const TableSize& size) const;
    int64_t Bytes(const TableSize& size) const { return Elements(size) * element_bytes; }
    /// Where the rows begin that follow rows of this size.
    int64_t BytesBefore(const TableSize& size) const {
      return kind == Kind::kOffsets ? size.rows * element_bytes : Bytes(size);
    }
  };

  explicit TableShape(const ColumnSortOperation::Spec& sort);

  const std::vector<Array>& arrays() const { return arrays_; }
  /// The number of arrays that a source brings. Beside them there may be indices, as the last array.
  size_t inputs() const { return has_indices_ ? arrays_.size() - 1 : arrays_.size(); }
  /// The number of arrays of key columns. Beside them there may be values or indices, as the last array.
  size_t key_arrays() const { return value_bytes_ > 0 ? arrays_.size() - 1 : arrays_.size(); }
  bool has_indices() const { return has_indices_; }
  bool has_bitmaps() const { return has_bitmaps_; }
  bool has_strings() const { return !mean_string_bytes_.empty(); }
  /// For each column of strings, the mean of its strings' bytes, rounded up.
  const std::vector<int64_t>& mean_string_bytes() const { return mean_string_bytes_; }
  /// Of a row in all arrays, with strings of mean length, rounded up to whole bytes.
  int64_t row_bytes() const { return row_bytes_; }
  /// The bytes of a block, and where its arrays begin.
  int64_t BlockBytes(const TableSize& size) const;
  std::vector<char*> Places(char* block, const TableSize& size) const;
  /// At most `rows`, but at least one; with bitmaps a multiple of 8, so that parts of bitmaps begin with a byte.
  int64_t WholeRows(int64_t rows) const;

  /// The columns that begin at these addresses, one for each array.
  std::vector<KeyColumn> Columns(const std::vector<char*>& arrays) const;
  /// Enqueues a sort of rows on the device into a table with the first `kept` of them. With `run_offsets`, checks and
  /// merges those runs (ColumnSortArgs::run_offsets).
  absl::Status Sort(EngineStream& stream, const std::vector<char*>& from, const std::vector<char*>& to,
                    const TableSize& size, int64_t kept, OperatorReport* report,
                    const std::vector<int64_t>& run_offsets = {}) const;
  /// Device memory for that sort and both tables, with this many runs.
  int64_t SortBytes(const Engine& engine, const TableSize& size, int64_t kept, size_t runs = 0) const;

  /// ColumnSortArgs::segment_offsets, on the device, and the rows that each segment keeps.
  struct Segments {
    const int64_t* offsets = nullptr;
    int64_t count = 0;
    int64_t limit = -1;
  };
  /// Enqueues a sort of each segment by itself, into a table of the same size.
  absl::Status SortSegments(EngineStream& stream, const std::vector<char*>& from, const std::vector<char*>& to,
                            const TableSize& size, const Segments& segments, OperatorReport* report) const;
  /// Device memory for that sort and both tables, with `segments` segments or fewer.
  int64_t SegmentSortBytes(const Engine& engine, const TableSize& size, int64_t limit, int64_t segments) const;

 private:
  ColumnSortArgs Args(const std::vector<char*>& from, const std::vector<char*>& to, const TableSize& size,
                      std::vector<KeyColumn>& columns) const;

  std::vector<KeyColumn> columns_;  // without addresses
  std::vector<bool> has_validity_;  // of each column
  std::vector<int64_t> mean_string_bytes_;
  std::vector<Array> arrays_;
  int32_t value_bytes_ = 0;
  SortAlgorithm algorithm_;
  bool has_indices_;
  bool has_bitmaps_ = false;
  int64_t row_bytes_ = 0;
};

/// Sorted rows [first, first + rows) of a table in pinned host memory.
struct TableRun {
  int64_t rows = 0;
  std::vector<char*> arrays;  // of the table. Null: the indices of the rows, which nobody has written down
  std::shared_ptr<StreamBlock> memory = nullptr;
  int64_t first = 0;

  int64_t end() const { return first + rows; }
};

/// Finds which rows are the next of all runs together: `rows` rows from `begin` on, where begin[i] is a row of run i.
/// There are at least as many. Returns the row of each run at which they end. Equal rows come from the earlier run
/// first. Takes O(r log n) comparisons for each of about log(r n) steps, with r runs.
std::vector<int64_t> CutTables(const TableShape& shape, const std::vector<TableRun>& runs,
                               const std::vector<int64_t>& begin, int64_t rows);

/// Whether no run has a row that comes before its predecessor, as far as rows[i] of each run i tells.
bool InOrderAt(const TableShape& shape, const std::vector<TableRun>& runs, const std::vector<int64_t>& rows);
/// The first row of [begin, end) of a run that comes before its predecessor in the run; `end` if there is none.
int64_t FirstUnsorted(const TableShape& shape, const TableRun& run, int64_t begin, int64_t end);

/// Rows [begin[i], end[i]) of all runs together.
TableSize SizeOf(const TableShape& shape, const std::vector<TableRun>& runs, const std::vector<int64_t>& begin,
                 const std::vector<int64_t>& end);

/// Copies `count` bits, from bit `from_bit` of `from` to bit `to_bit` of `to`, whose bits from there on are 0.
void AppendBits(uint8_t* to, int64_t to_bit, const uint8_t* from, int64_t from_bit, int64_t count);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_H_
