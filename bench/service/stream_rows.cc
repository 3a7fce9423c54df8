#include "bench/service/stream_rows.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/harness/statistics.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "bench/service/stages.h"
#include "bench/service/stream_client.h"
#include "corank/client.h"

namespace corank::bench {
namespace {

constexpr double kShortShare = 0.125;  // a call or two a round

// The phases of a call for its caller: until all is sent, until the answer begins, until it ends.
struct PhaseTimes {
  double send_ms = 0, wait_ms = 0, answer_ms = 0;
};

// The results of the calls of one run.
struct Run {
  std::vector<PhaseTimes> phases;                                // of each call of the bare client
  std::vector<v1::RequestStats> stats;                           // of each call that reports them
  std::shared_ptr<const void> kept;                              // keeps the answers while the run is timed
  std::function<absl::StatusOr<std::vector<uint32_t>>()> array;  // the answer of a run of one array
};

// One server and its client.
struct Side {
  const char* name;
  int streams = 1;  // arrays of one run
  pid_t pid = 0;
  std::function<absl::StatusOr<Run>(int streams, int64_t number)> run;
  std::vector<double> figures = {};  // GB/s, one a round
  double gigabytes = 0, server_seconds = 0, client_seconds = 0;
  std::vector<double> call_ms = {};
  std::vector<v1::RequestStats> stats = {};
  std::vector<PhaseTimes> phases = {};
};

// The bare client. `counts`: the element counts of the answer's streams.
std::function<absl::StatusOr<Run>(int, int64_t)> ByBareClient(std::vector<std::shared_ptr<grpc::Channel>> channels,
                                                              int parts, const StreamWork* work,
                                                              const std::vector<int64_t>& counts, int64_t chunk_bytes) {
  return [=](int streams, int64_t number) -> absl::StatusOr<Run> {
    std::vector<StreamCall> calls;
    for (int stream = 0; stream < streams; ++stream) {
      for (int part = 0; part < parts; ++part) {
        calls.push_back(
            {channels[calls.size() % channels.size()], work, absl::StrCat("bench-", number, "-", stream), part, parts});
      }
    }
    auto answers = RunStreamCalls(calls, chunk_bytes);
    if (!answers.ok()) return answers.status();
    const auto kept = std::make_shared<const std::vector<StreamAnswer>>(*std::move(answers));
    Run run;
    for (const StreamAnswer& answer : *kept) {
      run.stats.push_back(ReadStats(answer));
      run.phases.push_back({absl::ToDoubleMilliseconds(answer.sent),
                            absl::ToDoubleMilliseconds(answer.first - answer.sent),
                            absl::ToDoubleMilliseconds(answer.ended - answer.first)});
    }
    run.kept = kept;
    run.array = [kept, counts] { return JoinChunks(*kept, counts); };
    return run;
  };
}

v1::RequestStats ToMessage(const client::RequestStats& stats) {
  v1::RequestStats message;
  message.set_engine(stats.engine == "cuda" ? v1::ENGINE_CUDA : v1::ENGINE_CPU);
  message.set_queue_ns(stats.queue_ns);
  message.set_copy_in_ns(stats.copy_in_ns);
  message.set_kernel_ns(stats.kernel_ns);
  message.set_copy_out_ns(stats.copy_out_ns);
  message.set_receive_ns(stats.receive_ns);
  message.set_send_ns(stats.send_ns);
  message.set_batch_size(stats.batch_size);
  message.set_runs(stats.runs);
  message.set_out_of_core(stats.out_of_core);
  return message;
}

// The client library: Sort of one array by one call over several connections.
std::function<absl::StatusOr<Run>(int, int64_t)> ByLibrary(const std::string& address, int connections,
                                                           const StreamWork* work) {
  client::ClientOptions options;
  options.address = address;
  options.place = client::Place::kStream;
  options.connections = connections;
  options.deadline = absl::InfiniteDuration();
  // Shared, because a std::function must be copyable and a Client is not.
  const auto client = std::make_shared<absl::StatusOr<Client>>(Client::Create(options));
  return [client, work](int, int64_t) -> absl::StatusOr<Run> {
    if (!client->ok()) return client->status();
    auto result = (*client)->Sort(work->keys);
    if (!result.ok()) return result.status();
    Run run;
    run.stats.push_back(ToMessage(result->stats));
    const auto kept = std::make_shared<const std::vector<uint32_t>>(std::move(result->keys));
    run.kept = kept;
    run.array = [kept] { return *kept; };
    return run;
  };
}

absl::Status Named(const Side& side, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(side.name, ": ", status.message()));
}

absl::Status Check(const Side& side, const std::vector<uint32_t>& expected, bool needs_pieces) {
  const absl::StatusOr<Run> run = side.run(1, -1);
  if (!run.ok()) return Named(side, run.status());
  const auto array = run->array();
  if (!array.ok()) return Named(side, array.status());
  if (*array != expected) return Named(side, absl::InternalError("wrong answer"));
  if (!needs_pieces || run->stats[0].out_of_core()) return absl::OkStatus();
  return Named(side, absl::InternalError("it was not out of core"));
}

absl::Status MeasureRound(const StreamLoad& load, absl::Duration length, int round, Side* side) {
  const double server_before = CpuSeconds(side->pid), client_before = CpuSeconds(getpid());
  const absl::Time start = absl::Now();
  int64_t runs = 0;
  do {
    const absl::Time call = absl::Now();
    const absl::StatusOr<Run> run = side->run(side->streams, round * 1000 + runs);
    if (!run.ok()) return Named(*side, run.status());
    ++runs;
    side->call_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - call));
    side->stats.insert(side->stats.end(), run->stats.begin(), run->stats.end());
    side->phases.insert(side->phases.end(), run->phases.begin(), run->phases.end());
  } while (absl::Now() - start < length);
  const double bytes = static_cast<double>(runs * side->streams * load.keys) * sizeof(uint32_t);
  side->figures.push_back(bytes / absl::ToDoubleSeconds(absl::Now() - start) * 1e-9);
  side->gigabytes += bytes * 1e-9;
  side->server_seconds += CpuSeconds(side->pid) - server_before;
  side->client_seconds += CpuSeconds(getpid()) - client_before;
  return absl::OkStatus();
}

// The time of calls by phase. The wait is negative if the answer begins before all is sent, as a merge's may.
void DescribePhases(const Side& side, const std::string& prefix, Row* row) {
  if (side.phases.empty()) return;
  const auto median = [&side](double PhaseTimes::*phase) {
    std::vector<double> times;
    for (const PhaseTimes& times_of_call : side.phases) times.push_back(times_of_call.*phase);
    return Quantile(times, 0.5);
  };
  row->details[prefix + "client_send_p50_ms"] = median(&PhaseTimes::send_ms);
  row->details[prefix + "client_wait_p50_ms"] = median(&PhaseTimes::wait_ms);
  row->details[prefix + "client_answer_p50_ms"] = median(&PhaseTimes::answer_ms);
}

const char* InputOf(StreamOperator op) {
  switch (op) {
    case StreamOperator::kSort:
      return "uniform";
    case StreamOperator::kMerge:
      return "two halves";
    case StreamOperator::kMove:
      return "mean 1024";
  }
  return "";
}

Row MakeRow(const StreamLoad& load, int64_t chunk_bytes, const Side& ours, const Side& echo, const Side& held) {
  Row row;
  row.row = load.name;
  row.type = "u32";
  row.n = load.keys;
  row.distribution = InputOf(load.op);
  row.reference_name = "echo server";
  row.better = Better::kHigher;
  row.unit = "GB/s";
  row.ours = Summarize(ours.figures);
  row.reference = Summarize(echo.figures);
  row.checked = true;
  if (load.goal_ratio > 0) row.RequireRatio(load.goal_ratio);
  row.details["streams"] = load.streams;
  row.details["parts"] = load.parts;
  if (load.client == StreamClient::kBare) row.details["chunk_bytes"] = static_cast<double>(chunk_bytes);
  row.details["held_echo_GBps"] = Summarize(held.figures).median;
  row.details["call_p50_ms"] = Quantile(ours.call_ms, 0.5);
  row.details["echo_call_p50_ms"] = Quantile(echo.call_ms, 0.5);
  std::vector<StageTimes> stages;
  for (const v1::RequestStats& stats : ours.stats) {
    if (const std::optional<StageTimes> times = ReadStages(stats)) stages.push_back(*times);
  }
  DescribeStages(stages, kMilliseconds, &row);
  DescribePhases(ours, "", &row);
  DescribePhases(held, "held_echo_", &row);
  row.details["out_of_core"] = ours.stats[0].out_of_core() ? 1 : 0;
  if (ours.stats[0].runs() > 0) row.details["runs"] = ours.stats[0].runs();
  row.details["server_cpu_s_per_GB"] = ours.server_seconds / ours.gigabytes;
  row.details["client_cpu_s_per_GB"] = ours.client_seconds / ours.gigabytes;
  row.details["echo_server_cpu_s_per_GB"] = echo.server_seconds / echo.gigabytes;
  row.details["echo_client_cpu_s_per_GB"] = echo.client_seconds / echo.gigabytes;
  return row;
}

}  // namespace

std::vector<StreamLoad> StreamLoads() {
  constexpr int64_t k256Mib = int64_t{1} << 26;
  constexpr auto kBare = StreamClient::kBare, kLibrary = StreamClient::kLibrary;
  constexpr auto kSort = StreamOperator::kSort, kMerge = StreamOperator::kMerge, kMove = StreamOperator::kMove;
  return {
      {"Sort 256 MiB streamed, one stream", k256Mib, 1, 1, 1, 2},
      {"Sort 256 MiB streamed, 8 streams", k256Mib, 8, 1, 8, 2},
      {"MoveIntervals 256 MiB streamed, one stream", k256Mib, 1, 1, 1, 0, kMove, kBare, false, kShortShare},
      {"Sort 1 GiB over 8 connections by bare calls, echo over one", 4 * k256Mib, 1, 8, 1, 3},
      {"Sort 1 GiB over 8 connections by the client library, echo over one", 4 * k256Mib, 1, 8, 1, 3, kSort, kLibrary,
       false, kShortShare},
      {"Sort 256 MiB streamed out of core, one stream", k256Mib, 1, 1, 1, 0, kSort, kBare, true, kShortShare},
      {"Merge 256 MiB streamed out of core, one stream", k256Mib, 1, 1, 1, 0, kMerge, kBare, true, kShortShare},
  };
}

int64_t DeviceBytesOfPieces(int64_t keys) {
  return std::max(int64_t{1} << 20, keys * static_cast<int64_t>(sizeof(uint32_t)) / 4);
}

absl::StatusOr<Row> MeasureStreamLoad(const StreamLoad& load, const LoadOptions& options, int64_t chunk_bytes) {
  const StreamWork work = MakeStreamWork(load.op, load.keys);
  const int connections = load.streams * load.parts;
  const auto echo_by = [&](const std::string& address, int channels, int parts) {
    return ByBareClient(Connect(address, channels), parts, &work, work.counts, chunk_bytes);
  };
  Side echo{"echo server", load.echo_streams, options.echo_pid, echo_by(options.echo, load.echo_streams, 1)};
  // As many connections as ours; to an echo, the parts of one array are separate arrays.
  Side held{"held echo", load.streams, 0, echo_by(options.held_echo, connections, load.parts)};
  Side ours{"corankd", load.streams, options.corankd_pid,
            load.client == StreamClient::kLibrary
                ? ByLibrary(options.corankd, load.parts, &work)
                : ByBareClient(Connect(options.corankd, connections), load.parts, &work, {load.keys}, chunk_bytes)};
  absl::Status status = Check(echo, work.keys, false);
  status.Update(Check(held, work.keys, false));
  status.Update(Check(ours, work.result, load.is_out_of_core));
  if (!status.ok()) return status;

  const absl::Duration length = options.round * load.round_share;
  for (int round = 0; round < options.rounds; ++round) {
    for (Side* side : {&echo, &held, &ours}) {
      status = MeasureRound(load, length, round, side);
      if (!status.ok()) return status;
    }
  }
  return MakeRow(load, chunk_bytes, ours, echo, held);
}

}  // namespace corank::bench
