#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/bad_request_table.h"
#include "tests/server/messages.h"

namespace corank::testing {
namespace {

constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

}  // namespace

void AddBadIntervals(Table& table) {
  using E = v1::ExpandIntervalsRequest;
  table.Add<E>(
      "ExpandValuesMissing", GoodExpand(), [](E& r) { r.clear_values(); }, "values");
  table.Add<E>(
      "ExpandCountsMissing", GoodExpand(), [](E& r) { r.clear_counts(); }, "counts");
  table.Add<E>(
      "ExpandCountsOfOtherType", GoodExpand(),
      [](E& r) {
        *r.mutable_counts() = Int32s({1, 0, 2});
      },
      "counts.type");
  table.Add<E>(
      "ExpandCountsTooFew", GoodExpand(),
      [](E& r) {
        *r.mutable_counts() = Int64s({1, 2});
      },
      "counts.count");
  table.Add<E>(
      "ExpandCountNegative", GoodExpand(),
      [](E& r) {
        *r.mutable_counts() = Int64s({1, -1, 2});
      },
      "counts[1]");
  table.Add<E>(
      "ExpandSumOverflows", GoodExpand(),
      [](E& r) {
        *r.mutable_counts() = Int64s({1, kMax, 2});
      },
      "counts[1]");
  table.Add<E>(
      "ExpandResultTooLarge", GoodExpand(),
      [](E& r) {
        *r.mutable_counts() = Int64s({1, kMax - 8, 2});
      },
      "counts");
  table.Add<E>(
      "ExpandDestination", GoodExpand(), [](E& r) { r.mutable_destination()->mutable_cuda_ipc(); },
      "destination.cuda_ipc", kUnimplemented);

  using M = v1::MoveIntervalsRequest;
  table.Add<M>(
      "MoveSourceMissing", GoodMove(), [](M& r) { r.clear_source(); }, "source");
  table.Add<M>(
      "MoveSourceOffsetsMissing", GoodMove(), [](M& r) { r.clear_source_offsets(); }, "source_offsets");
  table.Add<M>(
      "MoveDestinationOffsetsMissing", GoodMove(), [](M& r) { r.clear_destination_offsets(); }, "destination_offsets");
  table.Add<M>(
      "MoveCountsMissing", GoodMove(), [](M& r) { r.clear_counts(); }, "counts");
  table.Add<M>(
      "MoveOffsetsTooFew", GoodMove(), [](M& r) { *r.mutable_source_offsets() = Int64s({0}); }, "source_offsets.count");
  table.Add<M>(
      "MoveDestinationOffsetsTooMany", GoodMove(),
      [](M& r) {
        *r.mutable_destination_offsets() = Int64s({3, 0, 0});
      },
      "destination_offsets.count");
  table.Add<M>(
      "MoveSourceOffsetNegative", GoodMove(),
      [](M& r) {
        *r.mutable_source_offsets() = Int64s({0, -1});
      },
      "source_offsets[1]");
  table.Add<M>(
      "MoveBehindTheSource", GoodMove(),
      [](M& r) {
        *r.mutable_source_offsets() = Int64s({0, 3});
      },
      "source_offsets[1]");
  table.Add<M>(
      "MoveSourceOffsetOverflows", GoodMove(),
      [](M& r) {
        *r.mutable_source_offsets() = Int64s({kMax, 0});
      },
      "source_offsets[0]");
  table.Add<M>(
      "MoveEmptyIntervalOutside", GoodMove(),
      [](M& r) {
        *r.mutable_counts() = Int64s({2, 0}), *r.mutable_source_offsets() = Int64s({0, 5});
      },
      "source_offsets[1]");
  table.Add<M>(
      "MoveBehindTheDestination", GoodMove(),
      [](M& r) {
        *r.mutable_destination_offsets() = Int64s({4, 0});
      },
      "destination_offsets[0]");
  table.Add<M>(
      "MoveDestinationOffsetNegative", GoodMove(),
      [](M& r) {
        *r.mutable_destination_offsets() = Int64s({3, -2});
      },
      "destination_offsets[1]");
  table.Add<M>(
      "MoveCountNegative", GoodMove(),
      [](M& r) {
        *r.mutable_counts() = Int64s({-2, 2});
      },
      "counts[0]");
  table.Add<M>(
      "MoveCountTooLarge", GoodMove(),
      [](M& r) {
        *r.mutable_counts() = Int64s({2, kMax - 2});
      },
      "source_offsets[1]");
  table.Add<M>(
      "MoveOfMoreThanTheDestinationHolds", GoodMove(),
      [](M& r) {
        *r.mutable_counts() = Int64s({3, 3}), *r.mutable_source_offsets() = Int64s({0, 0});
        *r.mutable_destination_offsets() = Int64s({0, 2});
      },
      "counts");
  table.Add<M>(
      "MoveOfFarMoreThanTheDestinationHolds", GoodMove(),
      [](M& r) {
        *r.mutable_counts() = Int64s(std::vector<int64_t>(1000, 4));
        *r.mutable_source_offsets() = *r.mutable_destination_offsets() = Int64s(std::vector<int64_t>(1000, 0));
      },
      "counts");
  table.Add<M>(
      "MoveOfMoreThanAResponseHoldsWithOverlap", GoodMove(),
      [](M& r) {
        *r.mutable_source() = Records(32, std::string(128, 'x'));
        *r.mutable_counts() = Int64s(std::vector<int64_t>(513, 4));  // of 128 bytes each: 128 bytes over 65536
        *r.mutable_source_offsets() = *r.mutable_destination_offsets() = Int64s(std::vector<int64_t>(513, 0));
        r.set_allow_overlap(true);
      },
      "counts");
  table.Add<M>(
      "MoveWithoutInitial", GoodMove(), [](M& r) { r.clear_initial(); }, "initial");
  table.Add<M>(
      "MoveDestinationCountNegative", GoodMove(), [](M& r) { r.set_destination_count(-1); }, "destination_count");
  table.Add<M>(
      "MoveDestinationCountTooLarge", GoodMove(), [](M& r) { r.set_destination_count(kMax); }, "destination_count");
  table.Add<M>(
      "MoveDestinationOfOtherType", GoodMove(),
      [](M& r) {
        *r.mutable_destination() = Int64s({1, 2, 3, 4, 5});
      },
      "destination.type");
  table.Add<M>(
      "MoveResultDestination", GoodMove(), [](M& r) { r.mutable_result_destination()->mutable_stored(); },
      "result_destination.stored", kUnimplemented);

  using G = v1::GatherIntervalsRequest;
  table.Add<G>(
      "GatherBehindTheSource", GoodGather(),
      [](G& r) {
        *r.mutable_source_offsets() = Int64s({2, 2});
      },
      "source_offsets[1]");
  table.Add<G>(
      "GatherOffsetsTooFew", GoodGather(), [](G& r) { *r.mutable_source_offsets() = Int64s({2}); },
      "source_offsets.count");
  table.Add<G>(
      "GatherCountNegative", GoodGather(),
      [](G& r) {
        *r.mutable_counts() = Int64s({2, -3});
      },
      "counts[1]");
  table.Add<G>(
      "GatherResultTooLarge", GoodGather(),
      [](G& r) {
        *r.mutable_source_offsets() = Int64s(std::vector<int64_t>(3000, 0));
        *r.mutable_counts() = Int64s(std::vector<int64_t>(3000, 4));
        *r.mutable_source() = Records(32, std::string(128, 'x'));
      },
      "counts");

  using S = v1::ScatterIntervalsRequest;
  table.Add<S>(
      "ScatterSourceTooShort", GoodScatter(),
      [](S& r) {
        *r.mutable_source() = Int32s({1, 2, 3});
      },
      "source.count");
  table.Add<S>(
      "ScatterBehindTheDestination", GoodScatter(),
      [](S& r) {
        *r.mutable_destination_offsets() = Int64s({6, 0});
      },
      "destination_offsets[0]");
  table.Add<S>(
      "ScatterOffsetsTooMany", GoodScatter(),
      [](S& r) {
        *r.mutable_destination_offsets() = Int64s({4, 0, 0});
      },
      "destination_offsets.count");
  table.Add<S>(
      "ScatterWithoutInitial", GoodScatter(), [](S& r) { r.clear_initial(); }, "initial");
  table.Add<S>(
      "ScatterDestinationOfOtherWidth", GoodScatter(),
      [](S& r) {
        *r.mutable_source() = Records(2, "aabbccdd");
        *r.mutable_destination() = Records(3, "aaabbbcccdddeee");
      },
      "destination.record_bytes");
  table.Add<S>(
      "ScatterDestinationCountNegative", GoodScatter(), [](S& r) { r.set_destination_count(-5); }, "destination_count");

  using L = v1::LoadBalanceRequest;
  table.Add<L>(
      "BalanceCountsMissing", GoodBalance(), [](L& r) { r.clear_counts(); }, "counts");
  table.Add<L>(
      "BalanceCountNegative", GoodBalance(),
      [](L& r) {
        *r.mutable_counts() = Int64s({2, 0, -1});
      },
      "counts[2]");
  table.Add<L>(
      "BalanceSumOverflows", GoodBalance(),
      [](L& r) {
        *r.mutable_counts() = Int64s({kMax, 1, 1});
      },
      "counts[1]");
  table.Add<L>(
      "BalanceResultTooLarge", GoodBalance(), [](L& r) { *r.mutable_counts() = Int64s({10'000}); }, "counts");
  table.Add<L>(
      "BalanceDestination", GoodBalance(), [](L& r) { r.mutable_ranks_destination()->mutable_shared_memory(); },
      "ranks_destination.shared_memory", kUnimplemented);
}

}  // namespace corank::testing
