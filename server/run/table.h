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

/// The arrays of a table: for each key column its data and, if it has one, its validity; then the values, or the index
/// of each row in the input. A block of `rows` rows holds them one after another, each 256-byte aligned.
class TableShape {
 public:
  struct Array {
    int32_t element_bytes = 0;
    bool is_bitmap = false;  // an element has the bits of 8 rows

    int64_t Elements(int64_t rows) const { return is_bitmap ? ValidityBytes(rows) : rows; }
    int64_t Bytes(int64_t rows) const { return Elements(rows) * element_bytes; }
  };

  /// Of a sort whose columns all have a fixed width.
  explicit TableShape(const ColumnSortOperation::Spec& sort);

  const std::vector<Array>& arrays() const { return arrays_; }
  /// The number of arrays that the caller sends. Beside them there may be indices, as the last array.
  size_t inputs() const { return has_indices_ ? arrays_.size() - 1 : arrays_.size(); }
  bool has_indices() const { return has_indices_; }
  bool has_bitmaps() const { return has_bitmaps_; }
  /// Of a row in all arrays, rounded up to whole bytes.
  int64_t row_bytes() const { return row_bytes_; }
  /// The bytes of a block, and where its arrays begin.
  int64_t BlockBytes(int64_t rows) const;
  std::vector<char*> Places(char* block, int64_t rows) const;
  /// At most `rows`, but at least one; with bitmaps a multiple of 8, so that parts of bitmaps begin with a byte.
  int64_t WholeRows(int64_t rows) const;

  /// The columns that begin at these addresses, one for each array.
  std::vector<KeyColumn> Columns(const std::vector<char*>& arrays) const;
  /// Enqueues a sort of `rows` rows on the device into a table with the first `kept` of them.
  absl::Status Sort(EngineStream& stream, const std::vector<char*>& from, const std::vector<char*>& to, int64_t rows,
                    int64_t kept, OperatorReport* report) const;
  /// Device memory for that sort and both tables.
  int64_t SortBytes(const Engine& engine, int64_t rows, int64_t kept) const;

 private:
  ColumnSortArgs Args(const std::vector<char*>& from, const std::vector<char*>& to, int64_t rows, int64_t kept,
                      std::vector<KeyColumn>& columns) const;

  std::vector<KeyColumn> columns_;  // without addresses
  std::vector<bool> has_validity_;  // of each column
  std::vector<Array> arrays_;
  int32_t value_bytes_ = 0;
  SortAlgorithm algorithm_;
  bool has_indices_;
  bool has_bitmaps_ = false;
  int64_t row_bytes_ = 0;
};

/// A sorted table in pinned host memory.
struct TableRun {
  int64_t rows = 0;
  std::vector<char*> arrays;
  std::shared_ptr<StreamBlock> memory = nullptr;
};

/// Finds which rows are the next of all runs together: `rows` rows from `begin` on, where begin[i] is a row of run i.
/// There are at least as many. Returns the row of each run at which they end. Equal rows come from the earlier run
/// first. Takes O(r log n) comparisons for each of about log(r n) steps, with r runs.
std::vector<int64_t> CutTables(const TableShape& shape, const std::vector<TableRun>& runs,
                               const std::vector<int64_t>& begin, int64_t rows);

/// Copies `count` bits, from bit `from_bit` of `from` to bit `to_bit` of `to`, whose bits from there on are 0.
void AppendBits(uint8_t* to, int64_t to_bit, const uint8_t* from, int64_t from_bit, int64_t count);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_TABLE_H_
