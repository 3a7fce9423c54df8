#include "bench/service/sort_rows.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/harness/inputs.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "corank/v1/operators.pb.h"

namespace corank::bench {
namespace {

constexpr char kMethod[] = "/corank.v1.CorankService/Sort";

/// Everything that one server's rounds left.
struct Side {
  pid_t pid = 0;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  double server_seconds = 0, client_seconds = 0;  // of CPU
  std::vector<double> figures;                    // one a round
  std::vector<double> latency_us;
  std::vector<StageTimes> stages;
};

std::vector<uint32_t> MakeKeys(int64_t count) {
  InputSpec spec;
  spec.count = count;
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[static_cast<size_t>(i)] = InputKey<uint32_t>(spec, i);
  return keys;
}

std::string Bytes(const std::vector<uint32_t>& keys) {
  return std::string(reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint32_t));
}

absl::StatusOr<grpc::ByteBuffer> Serialize(const v1::SortRequest& request) {
  grpc::ByteBuffer buffer;
  bool owned = false;
  const grpc::Status status = grpc::SerializationTraits<v1::SortRequest>::Serialize(request, &buffer, &owned);
  if (!status.ok()) return absl::InternalError("cannot serialize the request");
  return buffer;
}

absl::Status ExpectKeys(const std::string& server, const std::shared_ptr<grpc::Channel>& channel,
                        const grpc::ByteBuffer& request, const std::string& expected) {
  absl::StatusOr<grpc::ByteBuffer> answer = CallOnce(channel, kMethod, request);
  if (!answer.ok()) {
    return absl::Status(answer.status().code(), absl::StrCat(server, ": ", answer.status().message()));
  }
  v1::SortResponse response;
  if (!grpc::SerializationTraits<v1::SortResponse>::Deserialize(&*answer, &response).ok()) {
    return absl::InternalError(absl::StrCat(server, ": the answer is not a SortResponse"));
  }
  if (response.keys().inline_data() != expected) return absl::InternalError(absl::StrCat(server, ": wrong answer"));
  return absl::OkStatus();
}

double FigureOf(const SortLoad& load, const LoopResult& result) {
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

double MedianUs(const std::vector<StageTimes>& stages, int64_t StageTimes::*stage) {
  std::vector<double> times;
  for (const StageTimes& entry : stages) times.push_back(static_cast<double>(entry.*stage) * 1e-3);
  return Quantile(std::move(times), 0.5);
}

Row MakeRow(const SortLoad& load, const Side& ours, const Side& echo) {
  Row row;
  row.row = load.name;
  row.type = "u32";
  row.n = load.keys;
  row.distribution = load.is_of_curve ? absl::StrCat(load.in_flight, " in flight") : "uniform";
  row.reference_name = "echo server";
  row.better = load.figure == Figure::kMedianLatency ? Better::kLower : Better::kHigher;
  row.unit = load.figure == Figure::kMedianLatency    ? "us p50"
             : load.figure == Figure::kCallsPerSecond ? "calls/s"
                                                      : "GB/s";
  row.ours = Summarize(ours.figures);
  row.reference = Summarize(echo.figures);
  row.checked = true;
  if (load.goal_ratio > 0) row.RequireRatio(load.goal_ratio);
  if (load.goal_extra_us > 0) {
    row.goal = absl::StrFormat("<= echo + %g us", load.goal_extra_us);
    row.met = row.ours.median <= row.reference.median + load.goal_extra_us;
  }
  row.details["in_flight"] = load.in_flight;
  row.details["connections"] = static_cast<double>(ours.channels.size());
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
  row.details["queue_p50_us"] = MedianUs(ours.stages, &StageTimes::queue_ns);
  row.details["copy_in_p50_us"] = MedianUs(ours.stages, &StageTimes::copy_in_ns);
  row.details["kernel_p50_us"] = MedianUs(ours.stages, &StageTimes::kernel_ns);
  row.details["copy_out_p50_us"] = MedianUs(ours.stages, &StageTimes::copy_out_ns);
  return row;
}

}  // namespace

std::vector<SortLoad> SortLoads() {
  std::vector<SortLoad> loads = {
      {"Sort inline, 64 in flight", 1024, 64, Figure::kCallsPerSecond, 0.9, 0},
      {"Sort inline, one at a time", 1024, 1, Figure::kMedianLatency, 0, 30},
      {"Sort inline, 8 in flight", 1 << 20, 8, Figure::kGigabytesPerSecond, 0.95, 0},
      {"Sort inline, 2 in flight", 1 << 24, 2, Figure::kGigabytesPerSecond, 0, 0},
  };
  for (int64_t keys = 1 << 8; keys <= 1 << 24; keys *= 4) {
    loads.push_back({"Sort inline by size", keys, 8, Figure::kGigabytesPerSecond, 0, 0, true});
  }
  for (int in_flight = 1; in_flight <= 128; in_flight *= 2) {
    loads.push_back({"Sort inline by calls in flight", 1024, in_flight, Figure::kMedianLatency, 0, 0, true});
  }
  return loads;
}

absl::StatusOr<Row> MeasureSortLoad(const SortLoad& load, const LoadOptions& options) {
  std::vector<uint32_t> keys = MakeKeys(load.keys);
  v1::SortRequest message;
  message.mutable_keys()->set_type(v1::ELEMENT_TYPE_UINT32);
  message.mutable_keys()->set_inline_data(Bytes(keys));
  const absl::StatusOr<grpc::ByteBuffer> request = Serialize(message);
  if (!request.ok()) return request.status();

  const int channels = std::min(load.in_flight, options.max_channels);
  Side ours, echo;
  ours.pid = options.corankd_pid;
  echo.pid = options.echo_pid;
  ours.channels = Connect(options.corankd, channels);
  echo.channels = Connect(options.echo, channels);
  absl::Status status = ExpectKeys("echo server", echo.channels[0], *request, Bytes(keys));
  std::sort(keys.begin(), keys.end());
  status.Update(ExpectKeys("corankd", ours.channels[0], *request, Bytes(keys)));
  if (!status.ok()) return status;

  for (int round = -1; round < options.rounds; ++round) {  // round -1 warms up
    for (Side* side : {&echo, &ours}) {
      const double server_before = CpuSeconds(side->pid), client_before = CpuSeconds(getpid());
      absl::StatusOr<LoopResult> result = RunClosedLoop(side->channels, kMethod, *request, load.in_flight,
                                                        round < 0 ? options.round / 4 : options.round);
      if (!result.ok()) {
        return absl::Status(result.status().code(),
                            absl::StrCat(side == &ours ? "corankd: " : "echo server: ", result.status().message()));
      }
      if (round < 0) continue;
      side->server_seconds += CpuSeconds(side->pid) - server_before;
      side->client_seconds += CpuSeconds(getpid()) - client_before;
      side->figures.push_back(FigureOf(load, *result));
      side->latency_us.insert(side->latency_us.end(), result->latency_us.begin(), result->latency_us.end());
      side->stages.insert(side->stages.end(), result->stages.begin(), result->stages.end());
    }
  }
  return MakeRow(load, ours, echo);
}

}  // namespace corank::bench
