#include "server/run/device_ops/search.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/columns.h"
#include "server/plan/parse/enums.h"
#include "server/plan/parse/validate.h"

namespace corank {
namespace {

constexpr absl::string_view kHaystackColumns = "haystack_columns";
constexpr absl::string_view kNeedleColumns = "needle_columns";

absl::StatusOr<SearchBound> CheckBound(v1::SearchBound bound) {
  return CheckEnum<SearchBound>(bound, "bound", "bound",
                                {{v1::SEARCH_BOUND_UNSPECIFIED, SearchBound::kLower},
                                 {v1::SEARCH_BOUND_LOWER, SearchBound::kLower},
                                 {v1::SEARCH_BOUND_UPPER, SearchBound::kUpper}});
}

absl::Status CheckNoDestinations(const KeyColumns& columns, absl::string_view name, Places& places) {
  for (int i = 0; i < columns.size(); ++i) {
    const std::string path = absl::StrCat(name, "[", i, "]");
    const std::string data = path + ".data_destination", offsets = path + ".offsets_destination";
    const std::string validity = path + ".validity_destination";
    CORANK_RETURN_IF_ERROR(PlaceResult(columns[i].data_destination(), {data}, 0, 0, places).status());
    CORANK_RETURN_IF_ERROR(PlaceResult(columns[i].offsets_destination(), {offsets}, 0, 0, places).status());
    CORANK_RETURN_IF_ERROR(PlaceResult(columns[i].validity_destination(), {validity}, 0, 0, places).status());
  }
  return absl::OkStatus();
}

absl::Status CheckSameOption(bool is_set, bool is_same, const std::string& path, const std::string& haystack) {
  if (!is_set || is_same) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("must be as in ", haystack, ", or unset"));
}

// Checks that a column of the needles compares as that of the haystack, and gives it the same options.
absl::Status MakeAlike(const v1::KeyColumn& message, const std::string& path, const InputColumn& haystack,
                       const std::string& haystack_path, InputColumn& needles) {
  const std::string data = path + ".data", haystack_data = haystack_path + ".data";
  if (needles.offsets.has_value() != haystack.offsets.has_value()) {
    return InvalidField(path + ".offsets", absl::StrCat(needles.offsets ? "set" : "not set", ", but ", haystack_path,
                                                        haystack.offsets ? " has offsets" : " has none",
                                                        ": both columns are strings, or neither"));
  }
  CORANK_RETURN_IF_ERROR(CheckSameType(needles.data, {data}, haystack.data, {haystack_data}));
  CORANK_RETURN_IF_ERROR(CheckSameOption(message.order() != v1::SORT_ORDER_UNSPECIFIED, needles.order == haystack.order,
                                         path + ".order", haystack_path));
  CORANK_RETURN_IF_ERROR(CheckSameOption(message.nulls() != v1::NULL_ORDER_UNSPECIFIED, needles.nulls == haystack.nulls,
                                         path + ".nulls", haystack_path));
  CORANK_RETURN_IF_ERROR(CheckSameOption(message.nans() != v1::NAN_ORDER_UNSPECIFIED, needles.nans == haystack.nans,
                                         path + ".nans", haystack_path));
  needles.order = haystack.order;
  needles.nulls = haystack.nulls;
  needles.nans = haystack.nans;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Operation>> ValidateColumnSearch(const v1::SearchRequest& request, const Limits& limits,
                                                                Places& places) {
  if (request.has_haystack()) return InvalidField(kHaystackColumns, "cannot be combined with haystack");
  if (request.has_needles()) return InvalidField("needles", "cannot be combined with haystack_columns");
  if (request.haystack_columns().empty()) return InvalidField(kHaystackColumns, "required with needle_columns");
  if (request.needle_columns_size() != request.haystack_columns_size()) {
    return InvalidField(kNeedleColumns, absl::StrCat(request.needle_columns_size(), " columns, but ", kHaystackColumns,
                                                     " has ", request.haystack_columns_size()));
  }
  if (request.order() != v1::SORT_ORDER_UNSPECIFIED) {
    return InvalidField("order", "cannot be combined with haystack_columns, which have their own");
  }
  ColumnSearchOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.haystack, CheckColumns(request.haystack_columns(), kHaystackColumns, places));
  CORANK_ASSIGN_OR_RETURN(spec.needles, CheckColumns(request.needle_columns(), kNeedleColumns, places));
  CORANK_RETURN_IF_ERROR(CheckNoDestinations(request.haystack_columns(), kHaystackColumns, places));
  CORANK_RETURN_IF_ERROR(CheckNoDestinations(request.needle_columns(), kNeedleColumns, places));
  for (size_t i = 0; i < spec.needles.size(); ++i) {
    CORANK_RETURN_IF_ERROR(MakeAlike(request.needle_columns(static_cast<int>(i)),
                                     absl::StrCat(kNeedleColumns, "[", i, "]"), spec.haystack[i],
                                     absl::StrCat(kHaystackColumns, "[", i, "]"), spec.needles[i]));
  }
  CORANK_ASSIGN_OR_RETURN(spec.bound, CheckBound(request.bound()));
  spec.check_sorted = !request.assume_sorted();
  const int64_t position_bytes = IndexBytes(spec.haystack.front().rows());
  CORANK_RETURN_IF_ERROR(PlaceResults({{&request.destination(), {"destination"}, position_bytes, &spec.target}},
                                      spec.needles.front().rows(), limits, places, {kNeedleColumns}));
  return std::make_unique<ColumnSearchOperation>(std::move(spec));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> Validate(const v1::SearchRequest& request, const Limits& limits,
                                                    Places& places) {
  if (!request.haystack_columns().empty() || !request.needle_columns().empty()) {
    return ValidateColumnSearch(request, limits, places);
  }
  constexpr Field kHaystack{"haystack"};
  constexpr Field kNeedles{"needles"};
  SearchOperation::Spec spec;
  CORANK_ASSIGN_OR_RETURN(spec.haystack,
                          CheckArray(request.has_haystack(), request.haystack(), kHaystack, ArrayUse::kKeys, places));
  CORANK_ASSIGN_OR_RETURN(spec.needles,
                          CheckArray(request.has_needles(), request.needles(), kNeedles, ArrayUse::kKeys, places));
  CORANK_RETURN_IF_ERROR(CheckSameType(spec.needles, kNeedles, spec.haystack, kHaystack));
  CORANK_ASSIGN_OR_RETURN(spec.bound, CheckBound(request.bound()));
  CORANK_ASSIGN_OR_RETURN(spec.order, CheckOrder(request.order()));
  spec.check_sorted = !request.assume_sorted();
  CORANK_RETURN_IF_ERROR(
      PlaceResults({{&request.destination(), {"destination"}, IndexBytes(spec.haystack.count), &spec.target}},
                   spec.needles.count, limits, places, kNeedles));
  return std::make_unique<SearchOperation>(std::move(spec));
}

}  // namespace corank
