// The planner: how each kind of request is carried out.
#include "server/plan/planner.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace corank::testing {
namespace {

constexpr int64_t kKiB = 1 << 10;

PlannerOptions Options() {
  PlannerOptions options;
  options.host_bytes = 32 * kKiB;
  options.small_bytes = 100 * kKiB;
  options.long_bytes = 1000 * kKiB;
  options.in_pieces = true;
  options.max_host_bytes = 4000 * kKiB;
  return options;
}

Workload Inline(int64_t bytes, bool is_light = false) {
  Workload work;
  work.work_bytes = bytes;
  work.is_inline = true;
  work.is_light = is_light;
  return work;
}

Workload Placed(int64_t bytes, std::optional<Strategy> external = std::nullopt, int64_t host_bytes = 0) {
  Workload work;
  work.work_bytes = work.placed_bytes = bytes;
  work.external = external;
  work.external_host_bytes = host_bytes;
  return work;
}

Workload Streamed(std::optional<Strategy> external, int64_t host_bytes, bool may_fit_whole) {
  Workload work = Placed(0, external, host_bytes);
  work.is_streamed = true;
  work.may_fit_whole = may_fit_whole;
  return work;
}

struct Case {
  const char* name;
  Workload work;
  Strategy strategy;
};

TEST(ChooseStrategy, ByWhereTheArraysAreAndHowLargeTheyAre) {
  const PlannerOptions options = Options();
  const auto kSort = Strategy::kExternalSort, kMerge = Strategy::kExternalMerge;
  const int64_t small = options.small_bytes, large = options.long_bytes + 1, most = options.max_host_bytes;
  const std::vector<Case> cases = {
      {"nothing", Inline(0), Strategy::kHost},
      {"the most for the host", Inline(options.host_bytes), Strategy::kHost},
      {"more than the host takes", Inline(options.host_bytes + 1), Strategy::kBatched},
      {"twice as much light work", Inline(2 * options.host_bytes, true), Strategy::kHost},
      {"more light work", Inline(2 * options.host_bytes + 1, true), Strategy::kBatched},
      {"small, elsewhere", Placed(1), Strategy::kBatched},
      {"the most in a batch", Inline(small), Strategy::kBatched},
      {"more than a batch takes", Inline(small + 1), Strategy::kDevice},
      {"a sort that is not long", Placed(options.long_bytes, kSort), Strategy::kDevice},
      {"a long sort", Placed(large, kSort), kSort},
      {"a long merge", Placed(large, kMerge), kMerge},
      {"long, but no sort or merge", Placed(large), Strategy::kDevice},
      {"the most host memory", Placed(large, kSort, most), kSort},
      {"too much host memory", Placed(large, kSort, most + 1), Strategy::kDevice},
      {"a stream", Streamed(std::nullopt, 0, false), Strategy::kCollected},
      {"a streamed sort", Streamed(kSort, 0, false), kSort},
      {"a streamed merge", Streamed(kMerge, 0, false), kMerge},
      {"a streamed sort with too much host memory that fits whole", Streamed(kSort, most + 1, true),
       Strategy::kCollected},
      {"a streamed sort that needs as much whole", Streamed(kSort, most + 1, false), kSort},
  };
  for (const Case& one : cases) EXPECT_EQ(ChooseStrategy(one.work, options), one.strategy) << one.name;
}

TEST(ChooseStrategy, WithoutHostAndWithoutPieces) {
  PlannerOptions options = Options();
  options.host_bytes = 0;
  options.in_pieces = false;
  EXPECT_EQ(ChooseStrategy(Inline(0), options), Strategy::kBatched);
  EXPECT_EQ(ChooseStrategy(Placed(options.long_bytes + 1, Strategy::kExternalSort), options), Strategy::kDevice);
  EXPECT_EQ(ChooseStrategy(Streamed(Strategy::kExternalSort, 0, false), options), Strategy::kExternalSort)
      << "streams are sorted in pieces on every engine";
}

}  // namespace
}  // namespace corank::testing
