// validate: every rule of the contract, without a server.
#include "server/plan/parse/validate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/base/errors.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/parse/places.h"
#include "tests/server/bad_requests.h"
#include "tests/server/messages.h"

namespace corank::testing {
namespace {

// Inline arrays and results alone, from the message.
class InlinePlaces final : public Places {
 public:
  absl::Status Find(const v1::Array& array, Field field, ArrayUse, Operand* operand) override {
    if (array.has_inline_data()) return SetBytes(array, field, array.inline_data(), operand);
    return PlaceUnavailable(array, field);
  }
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination& destination, Field field, int64_t,
                                                       int32_t) override {
    if (IsInline(destination)) return nullptr;
    return PlaceUnavailable(destination, field);
  }
};

template <typename Request>
absl::StatusOr<std::unique_ptr<Operation>> ValidateInline(const Request& request, const Limits& limits) {
  InlinePlaces places;
  return Validate(request, limits, places);
}

// All checks of a request, in the server's order.
absl::Status ValidateAll(const AnyRequest& any) {
  return std::visit(
      [](const auto& request) -> absl::Status {
        const Limits limits = TableLimits();
        if (absl::Status s = ValidateMessageBytes(static_cast<int64_t>(request.ByteSizeLong()), limits); !s.ok())
          return s;
        if (absl::Status s = ValidateOptions(request.options()).status(); !s.ok()) return s;
        return ValidateInline(request, limits).status();
      },
      any);
}

TEST(Validate, RefusesEveryMalformedRequestAndNamesTheField) {
  for (const BadRequest& row : MalformedRequests()) {
    SCOPED_TRACE(row.name);
    const absl::Status status = ValidateAll(row.request);
    EXPECT_EQ(status.code(), row.code) << status;
    EXPECT_EQ(NamedField(status), row.field) << status;
  }
}

TEST(Validate, TakesGoodRequestsAndThoseThatOnlyTheEngineCanFault) {
  for (const AnyRequest& request : GoodRequests()) EXPECT_EQ(ValidateAll(request), absl::OkStatus());
  for (const BadRequest& row : FaultyRequests()) EXPECT_EQ(ValidateAll(row.request), absl::OkStatus()) << row.name;
}

TEST(Validate, TakesEmptyArraysOfEveryShape) {
  v1::SortRequest sort;
  sort.mutable_keys()->set_type(v1::ELEMENT_TYPE_FLOAT16);
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus()) << "no place";
  sort.mutable_keys()->set_count(0);
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus()) << "no place, count 0";
  sort.mutable_keys()->set_inline_data("");
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus()) << "no bytes";
  *sort.mutable_segment_offsets() = Int64s({0});
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus()) << "no segments";
  v1::SortRequest columns;
  columns.add_key_columns()->mutable_data()->set_type(v1::ELEMENT_TYPE_INT64);
  *columns.add_key_columns()->mutable_data() = Records(256, "");
  *columns.add_key_columns()->mutable_data() = MakeArray(v1::ELEMENT_TYPE_UINT8, "", 0);
  *columns.mutable_key_columns(2)->mutable_offsets() = Int64s({0});
  EXPECT_EQ(ValidateAll(columns), absl::OkStatus()) << "no rows";
  columns.mutable_key_columns(1)->mutable_validity()->set_type(v1::ELEMENT_TYPE_UINT8);
  *columns.mutable_key_columns(2)->mutable_validity() = MakeArray(v1::ELEMENT_TYPE_UINT8, "", 0);
  EXPECT_EQ(ValidateAll(columns), absl::OkStatus()) << "no rows that may be null";
  v1::MoveIntervalsRequest move;
  *move.mutable_source() = Records(256, "");
  *move.mutable_source_offsets() = *move.mutable_destination_offsets() = *move.mutable_counts() = Int64s({});
  move.set_destination_count(0);
  EXPECT_EQ(ValidateAll(move), absl::OkStatus());
}

TEST(Validate, TakesIntervalsThatTouchTheEnds) {
  v1::MoveIntervalsRequest move;
  *move.mutable_source() = Int32s({1, 2});
  *move.mutable_source_offsets() = Int64s({0, 2, 0});
  *move.mutable_destination_offsets() = Int64s({1, 3, 0});
  *move.mutable_counts() = Int64s({2, 0, 0});
  move.set_destination_count(3);
  EXPECT_EQ(ValidateAll(move), absl::OkStatus());
}

TEST(Validate, TakesAsMuchMovingAsTheLimitAllows) {
  v1::MoveIntervalsRequest move;
  *move.mutable_source() = Records(32, std::string(128, 'x'));
  *move.mutable_counts() = Int64s(std::vector<int64_t>(512, 4));  // 65536 bytes in total
  *move.mutable_source_offsets() = *move.mutable_destination_offsets() = Int64s(std::vector<int64_t>(512, 0));
  move.set_destination_count(4);
  move.set_allow_overlap(true);
  EXPECT_EQ(ValidateAll(move), absl::OkStatus());
  *move.mutable_counts() = Int64s({4});
  *move.mutable_source_offsets() = *move.mutable_destination_offsets() = Int64s({0});
  move.set_allow_overlap(false);
  EXPECT_EQ(ValidateAll(move), absl::OkStatus()) << "as many as the destination has";
}

TEST(Validate, ASumOfCountsThatProvesAnOverlapSaysSo) {
  v1::MoveIntervalsRequest move = GoodMove();
  move.set_destination_count(3);
  *move.mutable_destination_offsets() = Int64s({1, 0});
  const absl::Status status = ValidateAll(move);
  EXPECT_EQ(NamedField(status), "counts");
  EXPECT_NE(status.message().find("overlap"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("allow_overlap"), absl::string_view::npos) << status;
}

TEST(Validate, ReadsOffsetsAtAnyAlignment) {
  // A protobuf string is aligned. A part of a longer string is not.
  v1::SortRequest sort;
  *sort.mutable_keys() = Int32s({1, 2, 3});
  const std::string offsets = Int64s({0, 1, 3}).inline_data();
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string wide = std::string(shift, 'x') + offsets;
    *sort.mutable_segment_offsets() = MakeArray(v1::ELEMENT_TYPE_INT64, wide.data() + shift, offsets.size());
    EXPECT_EQ(ValidateAll(sort), absl::OkStatus());
  }
}

TEST(Validate, ALimitAboveTheCountMeansAll) {
  v1::SortRequest sort;
  *sort.mutable_keys() = Int32s({1, 2, 3});
  sort.set_limit(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus());
}

TEST(Validate, ALimitKeepsAResultSmall) {
  v1::SortRequest sort;
  sort.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT8);
  sort.mutable_keys()->set_inline_data(std::string(20'000, 'x'));
  sort.set_output(v1::SORT_OUTPUT_INDICES);
  sort.set_limit(100);
  EXPECT_EQ(ValidateAll(sort), absl::OkStatus());
}

TEST(Validate, ALimitKeepsTheStringsOfAColumnFew) {
  Limits limits;
  limits.max_response_bytes = 8192;
  std::vector<int64_t> offsets = {0};
  for (int i = 0; i < 200; ++i) offsets.push_back(offsets.back() + 100);
  v1::SortRequest sort;
  v1::KeyColumn& column = *sort.add_key_columns();
  const auto set_strings = [&] {
    column.mutable_data()->set_type(v1::ELEMENT_TYPE_UINT8);
    column.mutable_data()->set_inline_data(std::string(static_cast<size_t>(offsets.back()), 'x'));
    *column.mutable_offsets() = Int64s(offsets);
  };
  set_strings();
  EXPECT_EQ(NamedField(ValidateInline(sort, limits).status()), "key_columns");
  sort.set_limit(20);
  EXPECT_EQ(ValidateInline(sort, limits).status(), absl::OkStatus());
  sort.set_limit(150);
  EXPECT_EQ(NamedField(ValidateInline(sort, limits).status()), "key_columns");
  // The first strings may include one long one.
  offsets.back() += 10'000;
  set_strings();
  sort.set_limit(20);
  EXPECT_EQ(NamedField(ValidateInline(sort, limits).status()), "key_columns");
  sort.set_limit(0);
  EXPECT_EQ(ValidateInline(sort, limits).status(), absl::OkStatus());
}

TEST(Validate, TheResultsOfAColumnIncludeItsValidity) {
  Limits limits;
  limits.max_response_bytes = 8192;
  v1::SortRequest sort;
  v1::KeyColumn& column = *sort.add_key_columns();
  column.mutable_data()->set_type(v1::ELEMENT_TYPE_UINT8);
  column.mutable_data()->set_inline_data(std::string(7200, 'x'));
  EXPECT_EQ(ValidateInline(sort, limits).status(), absl::OkStatus());
  column.mutable_validity()->set_type(v1::ELEMENT_TYPE_UINT8);
  column.mutable_validity()->set_inline_data(std::string(900, 'x'));
  EXPECT_EQ(NamedField(ValidateInline(sort, limits).status()), "key_columns");
  sort.set_limit(6400);
  EXPECT_EQ(ValidateInline(sort, limits).status(), absl::OkStatus());
}

TEST(Validate, PrioritiesAndRequestIds) {
  v1::RequestOptions options;
  EXPECT_EQ(*ValidateOptions(options), TaskPriority::kNormal);
  options.set_priority(v1::PRIORITY_HIGH);
  EXPECT_EQ(*ValidateOptions(options), TaskPriority::kHigh);
  options.set_priority(v1::PRIORITY_LOW);
  options.set_request_id(std::string(128, '~'));
  EXPECT_EQ(*ValidateOptions(options), TaskPriority::kLow);
  EXPECT_FALSE(IsValidRequestId(""));
  EXPECT_FALSE(IsValidRequestId("\x7f"));
  EXPECT_FALSE(IsValidRequestId("\xC3\xA4"));
}

}  // namespace
}  // namespace corank::testing
