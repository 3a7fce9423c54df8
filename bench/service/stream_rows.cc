#include "bench/service/stream_rows.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/harness/inputs.h"
#include "bench/harness/statistics.h"
#include "bench/service/child_process.h"
#include "bench/service/closed_loop.h"
#include "bench/service/stream_client.h"

namespace corank::bench {
namespace {

struct Side {
  const char* name;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  int streams = 1;
  int parts = 1;
  pid_t pid = 0;
  std::vector<double> figures = {};  // GB/s, one a round
  double gigabytes = 0, server_seconds = 0, client_seconds = 0;
  std::vector<double> queue_ms = {}, receive_ms = {}, send_ms = {}, call_ms = {};  // of each call that says it

  std::vector<StreamCall> Calls(const std::vector<uint32_t>& keys, int64_t number) const {
    std::vector<StreamCall> calls;
    const auto count = static_cast<int64_t>(keys.size());
    for (int stream = 0; stream < streams; ++stream) {
      for (int part = 0; part < parts; ++part) {
        StreamCall call;
        call.channel = channels[calls.size() % channels.size()];
        call.keys = keys.data();
        call.count = count;
        call.begin = count / parts * part;
        call.end = part + 1 == parts ? count : count / parts * (part + 1);
        call.job_id = absl::StrCat("bench-", number, "-", stream);
        call.part = part;
        call.parts = parts;
        calls.push_back(std::move(call));
      }
    }
    return calls;
  }

  void NoteStages(const v1::RequestStats& stats) {
    if (stats.engine() == v1::ENGINE_UNSPECIFIED) return;
    queue_ms.push_back(static_cast<double>(stats.queue_ns()) * 1e-6);
    receive_ms.push_back(static_cast<double>(stats.receive_ns()) * 1e-6);
    send_ms.push_back(static_cast<double>(stats.send_ns()) * 1e-6);
  }
};

// By std::sort, on all cores: what is checked against takes no longer than what is measured.
std::vector<uint32_t> Sorted(std::vector<uint32_t> keys) {
  size_t width = keys.size() / std::max(1U, std::thread::hardware_concurrency()) + 1;
  const auto on_each = [&keys](size_t step, const auto& work) {
    std::vector<std::thread> threads;
    for (size_t begin = 0; begin < keys.size(); begin += step) threads.emplace_back([&work, begin] { work(begin); });
    for (std::thread& thread : threads) thread.join();
  };
  const auto at = [&keys](size_t index) { return keys.begin() + static_cast<ptrdiff_t>(std::min(index, keys.size())); };
  on_each(width, [&](size_t begin) { std::sort(at(begin), at(begin + width)); });
  for (; width < keys.size(); width *= 2) {
    on_each(2 * width, [&](size_t begin) { std::inplace_merge(at(begin), at(begin + width), at(begin + 2 * width)); });
  }
  return keys;
}

absl::Status Named(const Side& side, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(side.name, ": ", status.message()));
}

absl::Status Check(const Side& side, const std::vector<uint32_t>& keys, const std::vector<uint32_t>& expected,
                   int64_t chunk_bytes) {
  Side once = side;
  once.streams = 1;
  const auto answers = RunStreamCalls(once.Calls(keys, -1), chunk_bytes);
  if (!answers.ok()) return Named(side, answers.status());
  const auto joined = JoinChunks(*answers, static_cast<int64_t>(keys.size()));
  if (!joined.ok()) return Named(side, joined.status());
  return *joined == expected ? absl::OkStatus() : Named(side, absl::InternalError("wrong answer"));
}

}  // namespace

std::vector<StreamLoad> StreamLoads() {
  constexpr int64_t k256Mib = int64_t{1} << 26;
  return {
      {"Sort 256 MiB streamed, one stream", k256Mib, 1, 1, 1, 0.95},
      {"Sort 256 MiB streamed, 8 streams", k256Mib, 8, 1, 8, 0.95},
      {"Sort 1 GiB over 8 connections, echo over one", 4 * k256Mib, 1, 8, 1, 3},
  };
}

absl::StatusOr<Row> MeasureStreamLoad(const StreamLoad& load, const LoadOptions& options, int64_t chunk_bytes) {
  InputSpec spec;
  spec.count = load.keys;
  std::vector<uint32_t> keys(static_cast<size_t>(load.keys));
  for (int64_t i = 0; i < load.keys; ++i) keys[static_cast<size_t>(i)] = InputKey<uint32_t>(spec, i);
  const std::vector<uint32_t> sorted = Sorted(keys);

  Side ours{"corankd", Connect(options.corankd, load.streams * load.parts), load.streams, load.parts,
            options.corankd_pid};
  Side echo{"echo server", Connect(options.echo, load.echo_streams), load.echo_streams, 1, options.echo_pid};
  // As many connections as ours: whose arrays are shared out among parts, is nothing to an echo.
  Side held{"held echo", Connect(options.held_echo, load.streams * load.parts), load.streams, load.parts, 0};
  absl::Status status = Check(echo, keys, keys, chunk_bytes);
  status.Update(Check(held, keys, keys, chunk_bytes));
  status.Update(Check(ours, keys, sorted, chunk_bytes));
  if (!status.ok()) return status;

  for (int round = 0; round < options.rounds; ++round) {
    for (Side* side : {&echo, &held, &ours}) {
      const double server_before = CpuSeconds(side->pid), client_before = CpuSeconds(getpid());
      const absl::Time start = absl::Now();
      int64_t runs = 0;
      do {
        const absl::Time call = absl::Now();
        const auto answers = RunStreamCalls(side->Calls(keys, round * 1000 + runs), chunk_bytes);
        if (!answers.ok()) return Named(*side, answers.status());
        ++runs;
        side->call_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - call));
        for (const StreamAnswer& answer : *answers) side->NoteStages(ReadStats(answer));
      } while (absl::Now() - start < options.round);
      const double bytes = static_cast<double>(runs * side->streams * load.keys) * sizeof(uint32_t);
      side->figures.push_back(bytes / absl::ToDoubleSeconds(absl::Now() - start) * 1e-9);
      side->gigabytes += bytes * 1e-9;
      side->server_seconds += CpuSeconds(side->pid) - server_before;
      side->client_seconds += CpuSeconds(getpid()) - client_before;
    }
  }
  Row row;
  row.row = load.name;
  row.type = "u32";
  row.n = load.keys;
  row.distribution = "uniform";
  row.reference_name = "echo server";
  row.better = Better::kHigher;
  row.unit = "GB/s";
  row.ours = Summarize(ours.figures);
  row.reference = Summarize(echo.figures);
  row.checked = true;
  if (load.goal_ratio > 0) row.RequireRatio(load.goal_ratio);
  row.details["streams"] = load.streams;
  row.details["parts"] = load.parts;
  row.details["chunk_bytes"] = static_cast<double>(chunk_bytes);
  row.details["held_echo_GBps"] = Summarize(held.figures).median;
  row.details["call_p50_ms"] = Quantile(ours.call_ms, 0.5);
  row.details["queue_p50_ms"] = Quantile(ours.queue_ms, 0.5);
  row.details["receive_p50_ms"] = Quantile(ours.receive_ms, 0.5);
  row.details["send_p50_ms"] = Quantile(ours.send_ms, 0.5);
  row.details["server_cpu_s_per_GB"] = ours.server_seconds / ours.gigabytes;
  row.details["client_cpu_s_per_GB"] = ours.client_seconds / ours.gigabytes;
  row.details["echo_server_cpu_s_per_GB"] = echo.server_seconds / echo.gigabytes;
  row.details["echo_client_cpu_s_per_GB"] = echo.client_seconds / echo.gigabytes;
  return row;
}

}  // namespace corank::bench
