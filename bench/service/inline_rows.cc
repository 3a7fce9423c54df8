#include "bench/service/inline_rows.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "bench/service/inline_work.h"
#include "bench/service/stages.h"

namespace corank::bench {
namespace {

constexpr double kSmallShare = 0.125;              // thousands of calls suffice for a median
constexpr int64_t kCopiedKeys = int64_t{1} << 14;  // calls large enough for a copy to matter

/// The results of one server's rounds.
struct Side {
  const char* name;
  pid_t pid = 0;
  LightRequest request;
  int stats_field = 0;
  std::unique_ptr<LightClient> client = nullptr;
  double server_seconds = 0, client_seconds = 0;  // of CPU
  std::vector<double> figures = {};               // one a round
  std::vector<double> latency_us = {};
  std::vector<StageTimes> stages = {};
};

absl::Status Named(const std::string& server, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(server, ": ", status.message()));
}

bool IsEcho(const grpc::ByteBuffer& request, const grpc::ByteBuffer& answer) {
  grpc::Slice sent, returned;
  return request.DumpToSingleSlice(&sent).ok() && answer.DumpToSingleSlice(&returned).ok() &&
         sent.size() == returned.size() && std::memcmp(sent.begin(), returned.begin(), sent.size()) == 0;
}

double FigureOf(const InlineLoad& load, const LoopResult& result) {
  const double calls = static_cast<double>(result.latency_us.size());
  switch (load.figure) {
    case Figure::kCallsPerSecond:
      return calls / result.seconds;
    case Figure::kGigabytesPerSecond:
      return calls * static_cast<double>(load.keys) * sizeof(uint32_t) / result.seconds * 1e-9;
    case Figure::kMedianLatency:
      return Quantile(result.latency_us, 0.5);
  }
  return 0;
}

double MeanBatch(const std::vector<StageTimes>& stages) {
  int64_t requests = 0;
  for (const StageTimes& entry : stages) requests += entry.batch_size;
  return static_cast<double>(requests) / static_cast<double>(std::max<size_t>(1, stages.size()));
}

// Of eight calls in flight, relative to the echo. 0: none.
double GoalOf(int64_t keys) {
  constexpr int64_t kKeysOfMiB = int64_t{1} << 18;
  if (keys < kKeysOfMiB / 64) return 0;
  return keys < kKeysOfMiB ? 2 : keys < 4 * kKeysOfMiB ? 1.2 : 1.5;
}

Row MakeRow(const InlineLoad& load, const InlineWork& work, const Side& ours, const Side& echo, const Side& copying) {
  Row row;
  row.row = load.name;
  row.type = work.type;
  row.n = load.keys;
  row.distribution = load.is_of_curve ? absl::StrCat(load.in_flight, " in flight") : work.distribution;
  row.reference_name = "echo server";
  row.better = load.figure == Figure::kMedianLatency ? Better::kLower : Better::kHigher;
  row.unit = load.figure == Figure::kMedianLatency    ? "us p50"
             : load.figure == Figure::kCallsPerSecond ? "calls/s"
                                                      : "GB/s";
  row.ours = Summarize(ours.figures);
  row.reference = Summarize(echo.figures);
  row.checked = true;
  if (load.goal_ratio > 0) row.RequireRatio(load.goal_ratio);
  row.details["in_flight"] = load.in_flight;
  row.details["request_bytes"] = static_cast<double>(work.request.Length());
  for (const std::string& result : work.results) row.details["result_bytes"] += static_cast<double>(result.size());
  row.details["connections"] = ours.client->connections();
  for (const double q : {0.5, 0.99}) {
    const std::string name = absl::StrFormat("p%.0f_us", 100 * q);
    row.details[name] = Quantile(ours.latency_us, q);
    row.details[absl::StrCat("echo_", name)] = Quantile(echo.latency_us, q);
  }
  const auto note_cpu = [&row](const std::string& prefix, const Side& side) {
    const double us_per_call = 1e6 / static_cast<double>(std::max<size_t>(1, side.latency_us.size()));
    row.details[prefix + "server_cpu_us"] = side.server_seconds * us_per_call;
    row.details[prefix + "client_cpu_us"] = side.client_seconds * us_per_call;
  };
  note_cpu("", ours);
  note_cpu("echo_", echo);
  if (!copying.figures.empty()) {
    row.details["copying_echo"] = Summarize(copying.figures).median;
    note_cpu("copying_echo_", copying);
  }
  row.details["batch_mean"] = MeanBatch(ours.stages);
  DescribeStages(ours.stages, kMicroseconds, &row);
  return row;
}

}  // namespace

std::vector<InlineLoad> InlineLoads() {
  std::vector<InlineLoad> loads = {
      {"Sort inline, 64 in flight", 1024, 64, Figure::kCallsPerSecond, 5},
      {"Sort inline, 512 in flight", 1024, 512, Figure::kCallsPerSecond, 5},
      {"Sort inline, one at a time", 1024, 1, Figure::kMedianLatency, 1.25},
      {"Sort inline, 8 in flight", 1 << 20, 8, Figure::kGigabytesPerSecond, 1.5},
      {"Sort inline, 2 in flight", 1 << 24, 2, Figure::kGigabytesPerSecond, 1.5},
  };
  const auto add_small = [&loads](const char* name, InlineOperator op) {
    loads.push_back({name, 1024, 64, Figure::kCallsPerSecond, 0, false, op, kSmallShare});
  };
  add_small("Sort of pairs inline, 64 in flight", InlineOperator::kSortPairs);
  add_small("Merge inline, 64 in flight", InlineOperator::kMerge);
  add_small("Search inline, 64 in flight", InlineOperator::kSearch);
  add_small("ExpandIntervals inline, 64 in flight", InlineOperator::kExpand);
  for (int64_t keys = 1 << 8; keys <= 1 << 24; keys *= 4) {
    loads.push_back({"Sort inline by size", keys, 8, Figure::kGigabytesPerSecond, GoalOf(keys), true});
  }
  for (int in_flight = 1; in_flight <= 128; in_flight *= 2) {
    loads.push_back({"Sort inline by calls in flight", 1024, in_flight, Figure::kMedianLatency, 0, true});
  }
  return loads;
}

absl::StatusOr<Row> MeasureInlineLoad(const InlineLoad& load, const LoadOptions& options) {
  const InlineWork work = MakeInlineWork(load.op, load.keys);
  const int connections = std::min(load.in_flight, options.max_channels);
  Side ours{"corankd", options.corankd_pid, LightRequest(work.method, work.request), work.stats_field};
  // The echo server returns the bytes of any message from its only method. The bytes of a request are no stats.
  Side echo{"echo server", options.echo_pid, LightRequest(kSortMethod, work.request)};
  Side copying{"copying echo", options.held_echo_pid, echo.request};
  std::vector<std::pair<Side*, std::string>> servers = {{&echo, options.echo}, {&ours, options.corankd}};
  if (load.keys >= kCopiedKeys) servers.emplace_back(&copying, options.held_echo);
  std::vector<Side*> sides;
  for (const auto& [side, address] : servers) {
    absl::StatusOr<std::unique_ptr<LightClient>> client =
        LightClient::Connect(address, connections, options.client_threads);
    if (!client.ok()) return Named(side->name, client.status());
    side->client = *std::move(client);
    sides.push_back(side);
    const absl::StatusOr<grpc::ByteBuffer> answer = CallOnce(*side->client, side->request);
    if (!answer.ok()) return Named(side->name, answer.status());
    const bool is_right = side == &ours ? IsAnswer(work, *answer) : IsEcho(work.request, *answer);
    if (!is_right) return Named(side->name, absl::InternalError("wrong answer"));
  }

  const absl::Duration length = options.round * load.round_share;
  for (int round = -1; round < options.rounds; ++round) {  // round -1 warms up
    for (Side* side : sides) {
      const double server_before = CpuSeconds(side->pid), client_before = CpuSeconds(getpid());
      const absl::StatusOr<LoopResult> result = RunClosedLoop(*side->client, side->request, side->stats_field,
                                                              load.in_flight, round < 0 ? length / 4 : length);
      if (!result.ok()) return Named(side->name, result.status());
      if (round < 0) continue;
      side->server_seconds += CpuSeconds(side->pid) - server_before;
      side->client_seconds += CpuSeconds(getpid()) - client_before;
      side->figures.push_back(FigureOf(load, *result));
      side->latency_us.insert(side->latency_us.end(), result->latency_us.begin(), result->latency_us.end());
      side->stages.insert(side->stages.end(), result->stages.begin(), result->stages.end());
    }
  }
  return MakeRow(load, work, ours, echo, copying);
}

}  // namespace corank::bench
