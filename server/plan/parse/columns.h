// Key columns, of Sort and of Search.
#ifndef CORANK_SERVER_PLAN_PARSE_COLUMNS_H_
#define CORANK_SERVER_PLAN_PARSE_COLUMNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "corank/v1/operators.pb.h"
#include "server/plan/parse/places.h"
#include "server/run/device_ops/input_column.h"

namespace corank {

using KeyColumns = google::protobuf::RepeatedPtrField<v1::KeyColumn>;

/// The columns of a table, of equally many rows as far as their numbers are known. `name`: the field that holds them.
/// Does not check destinations.
absl::StatusOr<std::vector<InputColumn>> CheckColumns(const KeyColumns& messages, absl::string_view name,
                                                      Places& places);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PARSE_COLUMNS_H_
