// Sorts by key columns that the server must refuse.
#include <cstdint>
#include <limits>
#include <string>

#include "tests/server/bad_request_table.h"
#include "tests/server/messages.h"

namespace corank::testing {

void AddBadColumnSorts(Table& table) {
  using R = v1::SortRequest;
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const auto add = [&table](const std::string& name, const std::function<void(R&)>& spoil, const std::string& field,
                            absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    table.Add<R>("Columns" + name, GoodColumnSort(), spoil, field, code);
  };
  const auto with_offsets = [](std::vector<int64_t> offsets) {
    return [offsets](R& r) { *r.mutable_key_columns(2)->mutable_offsets() = Int64s(offsets); };
  };
  add(
      "WithKeys",
      [](R& r) {
        *r.mutable_keys() = Int32s({1, 2, 3});
      },
      "key_columns");
  add(
      "TooMany",
      [](R& r) {
        while (r.key_columns_size() < 17) *r.add_key_columns() = r.key_columns(0);
      },
      "key_columns");
  add(
      "WithAnOrderForAll", [](R& r) { r.set_order(v1::SORT_ORDER_ASCENDING); }, "order");
  add(
      "WithSegments",
      [](R& r) {
        *r.mutable_segment_offsets() = Int64s({0, 3});
      },
      "segment_offsets");
  add(
      "WithoutData", [](R& r) { r.mutable_key_columns(1)->clear_data(); }, "key_columns[1].data");
  add(
      "OfNoType", [](R& r) { r.mutable_key_columns(0)->mutable_data()->clear_type(); }, "key_columns[0].data.type");
  add(
      "OfNoBytes", [](R& r) { r.mutable_key_columns(1)->mutable_data()->set_record_bytes(0); },
      "key_columns[1].data.record_bytes");
  add(
      "TooWide", [](R& r) { r.mutable_key_columns(1)->mutable_data()->set_record_bytes(257); },
      "key_columns[1].data.record_bytes");
  add(
      "OfPartOfARow", [](R& r) { r.mutable_key_columns(1)->mutable_data()->set_inline_data("aabbc"); },
      "key_columns[1].data.inline_data");
  add(
      "OfFewerRows", [](R& r) { r.mutable_key_columns(1)->mutable_data()->set_inline_data("aabb"); },
      "key_columns[1].data.count");
  add(
      "OrderUnknown", [](R& r) { r.mutable_key_columns(2)->set_order(static_cast<v1::SortOrder>(5)); },
      "key_columns[2].order");
  add(
      "Elsewhere", [](R& r) { r.mutable_key_columns(0)->mutable_data()->mutable_stored()->set_name("x"); },
      "key_columns[0].data.stored", kUnimplemented);
  add(
      "DataDestination", [](R& r) { r.mutable_key_columns(0)->mutable_data_destination()->mutable_stream(); },
      "key_columns[0].data_destination.stream");
  add(
      "OffsetsDestination", [](R& r) { r.mutable_key_columns(2)->mutable_offsets_destination()->mutable_cuda_ipc(); },
      "key_columns[2].offsets_destination.cuda_ipc", kUnimplemented);
  add(
      "OffsetsOfOtherType",
      [](R& r) {
        *r.mutable_key_columns(2)->mutable_offsets() = Int32s({0, 1, 1, 4});
      },
      "key_columns[2].offsets.type");
  add(
      "OffsetsOfNumbers",
      [](R& r) {
        *r.mutable_key_columns(0)->mutable_offsets() = Int64s({0, 1, 2, 3});
      },
      "key_columns[0].data.type");
  add("OffsetsEmpty", with_offsets({}), "key_columns[2].offsets");
  add("OffsetsStartLate", with_offsets({1, 1, 1, 4}), "key_columns[2].offsets[0]");
  add("OffsetsFall", with_offsets({0, 2, 1, 4}), "key_columns[2].offsets[2]");
  add("OffsetsNegative", with_offsets({0, -1, 1, 4}), "key_columns[2].offsets[1]");
  add("OffsetsEndEarly", with_offsets({0, 1, 1, 3}), "key_columns[2].offsets[3]");
  add("OffsetsEndLate", with_offsets({0, 1, 1, kMax}), "key_columns[2].offsets[3]");
  add("OffsetsOfFewerRows", with_offsets({0, 1, 4}), "key_columns[2].offsets.count");
  add(
      "AlgorithmOfResponses", [](R& r) { r.set_algorithm(v1::SORT_ALGORITHM_COPY); }, "algorithm");
  add(
      "OutputUnknown", [](R& r) { r.set_output(static_cast<v1::SortOutput>(9)); }, "output");
  add(
      "ValuesTooFew",
      [](R& r) {
        *r.mutable_values() = Int32s({1, 2});
      },
      "values.count");
  add(
      "ValuesWithIndices",
      [](R& r) {
        *r.mutable_values() = Int32s({1, 2, 3}), r.set_output(v1::SORT_OUTPUT_INDICES);
      },
      "values");
  add(
      "LimitNegative", [](R& r) { r.set_limit(-3); }, "limit");
  // 7000 empty strings: 56 008 bytes of offsets come in, and go out together with 28 000 bytes of indices.
  add(
      "ResultTooLarge",
      [](R& r) {
        r.mutable_key_columns()->DeleteSubrange(0, 2);
        r.mutable_key_columns(0)->mutable_data()->set_inline_data("");
        *r.mutable_key_columns(0)->mutable_offsets() = Int64s(std::vector<int64_t>(7001, 0));
        r.set_output(v1::SORT_OUTPUT_KEYS_AND_INDICES);
      },
      "key_columns");
}

}  // namespace corank::testing
