#include "bench/overload/overload_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/harness/statistics.h"
#include "bench/overload/kept_sorts.h"
#include "bench/overload/open_loop.h"
#include "bench/service/closed_loop.h"

namespace corank::bench {
namespace {

constexpr absl::Duration kLeastDeadline = absl::Milliseconds(20);
constexpr double kDeadlineCalls = 50;

Row MakeRow(const OverloadOptions& options, const std::string& name, double load, const std::string& unit) {
  Row row;
  row.row = name;
  row.type = "u64";
  row.n = options.keys;
  row.distribution = absl::StrFormat("%g x capacity", load);
  row.unit = unit;
  return row;
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 100 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Row ShareRow(const OverloadOptions& options, const std::string& name, double load, int64_t part, int64_t whole) {
  Row row = MakeRow(options, name, load, "%");
  row.ours = Summarize({Share(part, whole)});
  row.details = {{"calls", static_cast<double>(whole)}};
  row.goal = "all";
  row.met = part == whole;
  return row;
}

Row GoodputRow(const OverloadOptions& options, double load, absl::Duration deadline, double offered,
               const OpenLoopResult& result) {
  Row row = MakeRow(options, "Open loop: answers in time", load, "calls/s");
  row.ours = Summarize({result.Goodput()});
  row.checked = result[Ending::kWrong] == 0;
  row.details = {
      {"deadline_ms", absl::ToDoubleMilliseconds(deadline)},
      {"offered_per_s", offered},
      {"sent", static_cast<double>(result.sent())},
      {"in_time", static_cast<double>(result[Ending::kInTime])},
      {"wrong", static_cast<double>(result[Ending::kWrong])},
      {"refused", static_cast<double>(result[Ending::kRefused])},
      {"refused_without_retry_info", static_cast<double>(result.refused_without_retry_info)},
      {"late", static_cast<double>(result[Ending::kLate])},
      {"failed", static_cast<double>(result[Ending::kFailed])},
      {"p50_ms", Quantile(result.latency_us, 0.5) * 1e-3},
      {"p99_ms", Quantile(result.latency_us, 0.99) * 1e-3},
  };
  if (result[Ending::kFailed] > 0) row.error = absl::StrJoin(result.failures, "; ");
  return row;
}

}  // namespace

absl::StatusOr<std::vector<Row>> MeasureOverload(const OverloadOptions& options) {
  const auto channels = Connect(options.address, options.channels);
  absl::StatusOr<std::vector<Request>> requests = KeepAndAsk(channels[0], options.arrays, options.keys);
  if (!requests.ok()) return requests.status();
  const grpc::ByteBuffer& first = requests->front().message;
  // Once to warm up: the server learns how fast it is, and its memory is there.
  absl::StatusOr<LoopResult> closed = RunClosedLoop(channels, kSortMethod, first, options.in_flight, options.phase / 2);
  if (closed.ok()) closed = RunClosedLoop(channels, kSortMethod, first, options.in_flight, options.phase);
  if (!closed.ok()) return closed.status();
  const double capacity = static_cast<double>(closed->latency_us.size()) / closed->seconds;
  const absl::Duration deadline = options.deadline > absl::ZeroDuration()
                                      ? options.deadline
                                      : std::max(kLeastDeadline, absl::Seconds(kDeadlineCalls / capacity));

  std::vector<Row> rows;
  double peak = 0;
  OpenLoopResult last;
  for (const double load : options.loads) {
    OpenLoop loop;
    loop.method = kSortMethod;
    loop.calls_per_second = load * capacity;
    loop.duration = options.phase;
    loop.deadline = deadline;
    loop.seed = options.seed + rows.size();
    last = RunOpenLoop(channels, *requests, loop);
    peak = std::max(peak, last.Goodput());
    rows.push_back(GoodputRow(options, load, deadline, loop.calls_per_second, last));
    rows.back().reference_name = "capacity";
    rows.back().reference = Summarize({capacity});
  }
  rows.back().reference_name = "the best of all loads";
  rows.back().reference = Summarize({peak});
  rows.back().RequireRatio(0.9);

  const double load = options.loads.back();
  const int64_t answered = last[Ending::kInTime] + last[Ending::kWrong];
  const int64_t refused = last[Ending::kRefused];
  rows.push_back(ShareRow(options, "Open loop: accepted calls that were answered in time", load, answered,
                          answered + last[Ending::kLate]));
  rows.push_back(ShareRow(options, "Open loop: refusals with RetryInfo", load,
                          refused - last.refused_without_retry_info, refused));
  rows.push_back(ShareRow(options, "Open loop: right answers", load, last[Ending::kInTime], answered));
  return rows;
}

}  // namespace corank::bench
