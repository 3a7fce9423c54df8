#include "server/run/device_ops/input_column.h"

#include "server/run/operation.h"

namespace corank {

KeyColumn KeyColumnOf(const InputColumn& column) {
  KeyColumn made;
  made.order = column.order;
  made.nulls = column.nulls;
  made.nans = column.nans;
  if (column.offsets) {
    made.kind = ColumnKind::kStrings;
    made.data_bytes = column.data.size_bytes();
  } else if (column.data.type == v1::ELEMENT_TYPE_RECORD) {
    made.kind = ColumnKind::kBytes;
    made.row_bytes = column.data.element_bytes;
  } else {
    made.kind = ColumnKind::kNumbers;
    made.type = KeyTypeOf(column.data.type);
    made.row_bytes = column.data.element_bytes;
  }
  return made;
}

}  // namespace corank
