#include "bench/service/stages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness/statistics.h"

namespace corank::bench {
namespace {

struct Stage {
  const char* name;
  int64_t StageTimes::*time;
  bool is_of_streams;
};
constexpr Stage kStages[] = {
    {"queue", &StageTimes::queue_ns, false},    {"copy_in", &StageTimes::copy_in_ns, false},
    {"kernel", &StageTimes::kernel_ns, false},  {"copy_out", &StageTimes::copy_out_ns, false},
    {"receive", &StageTimes::receive_ns, true}, {"send", &StageTimes::send_ns, true},
};

}  // namespace

std::optional<StageTimes> ReadStages(const v1::RequestStats& stats) {
  if (stats.engine() == v1::ENGINE_UNSPECIFIED) return std::nullopt;
  return StageTimes{stats.queue_ns(),   stats.copy_in_ns(), stats.kernel_ns(), stats.copy_out_ns(),
                    stats.receive_ns(), stats.send_ns(),    stats.batch_size()};
}

void DescribeStages(const std::vector<StageTimes>& calls, const TimeUnit& unit, Row* row) {
  for (const Stage& stage : kStages) {
    std::vector<double> times;
    for (const StageTimes& call : calls) times.push_back(static_cast<double>(call.*stage.time) / unit.nanoseconds);
    if (stage.is_of_streams && std::all_of(times.begin(), times.end(), [](double time) { return time == 0; })) continue;
    row->details[absl::StrCat(stage.name, "_p50_", unit.name)] = Quantile(std::move(times), 0.5);
  }
}

}  // namespace corank::bench
