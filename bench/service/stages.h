// The stages of calls as a server reports them.
#ifndef CORANK_BENCH_SERVICE_STAGES_H_
#define CORANK_BENCH_SERVICE_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/harness/results.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {

/// The stages of one call as its response reports them.
struct StageTimes {
  int64_t queue_ns = 0, copy_in_ns = 0, kernel_ns = 0, copy_out_ns = 0;
  int64_t receive_ns = 0, send_ns = 0;  // of streams; they overlap with the others
  int32_t batch_size = 0;               // requests that went to the device together
};

/// Empty if no engine did the work, as in an echo.
std::optional<StageTimes> ReadStages(const v1::RequestStats& stats);

struct TimeUnit {
  const char* name;
  double nanoseconds;
};
inline constexpr TimeUnit kMicroseconds = {"us", 1e3};
inline constexpr TimeUnit kMilliseconds = {"ms", 1e6};

/// Puts the median of each stage into the row's details: "queue_p50_us". Stages of streams only for calls that have
/// them.
void DescribeStages(const std::vector<StageTimes>& calls, const TimeUnit& unit, Row* row);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_STAGES_H_
