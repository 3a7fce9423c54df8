// A column of a table in a request: of the rows that Sort orders, and of both tables of Search.
#ifndef CORANK_SERVER_RUN_DEVICE_OPS_INPUT_COLUMN_H_
#define CORANK_SERVER_RUN_DEVICE_OPS_INPUT_COLUMN_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/common/column_sort.h"
#include "server/model/operand.h"

namespace corank {

struct InputColumn {
  Operand data;
  std::optional<Operand> offsets;  // of variable-length strings
  std::optional<Operand> validity;
  Order order = Order::kAscending;
  NullOrder nulls = NullOrder::kLast;
  NanOrder nans = NanOrder::kGreatest;

  int64_t rows() const { return offsets ? std::max<int64_t>(0, offsets->count - 1) : data.count; }
  // Whether rows() is known yet.
  bool has_rows() const { return offsets ? offsets->has_count : data.has_count; }
};

/// How the rows of a column compare, without its addresses.
KeyColumn KeyColumnOf(const InputColumn& column);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_DEVICE_OPS_INPUT_COLUMN_H_
