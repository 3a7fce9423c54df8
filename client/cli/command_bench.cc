// corank bench.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/choices.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text.h"
#include "client/cli/workload.h"

namespace corank::cli {
namespace {

constexpr int64_t kMostInFlight = 1024;
constexpr int64_t kMostCount = int64_t{1} << 28;

struct Settings {
  std::string operation;
  KeyType type = KeyType::kUint32;
  int64_t count = 0;
  int64_t in_flight = 0;
  absl::Duration duration;
};

/// The measurements of all callers together.
struct Measured {
  std::vector<int64_t> latencies_ns;  // of calls that succeeded, retries included; sorted
  int64_t queue_ns = 0;               // sums over these calls
  int64_t kernel_ns = 0;
  int64_t failed = 0;
  absl::Status first_error;
  absl::Duration elapsed;

  double Latency(double share) const {
    if (latencies_ns.empty()) return 0;
    const auto last = static_cast<double>(latencies_ns.size() - 1);
    return static_cast<double>(latencies_ns[static_cast<size_t>(share * last + 0.5)]);
  }
};

absl::StatusOr<Settings> ReadSettings(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> operators;
  for (const std::string& name : WorkloadNames()) operators.emplace_back(name, name);
  absl::StatusOr<std::string> operation = Choice(arguments, "operator", operators);
  if (!operation.ok()) return operation.status();
  absl::StatusOr<KeyType> type = ParseKeyType(arguments.GetOr("type", "uint32"));
  if (!type.ok()) return type.status();
  absl::StatusOr<std::optional<int64_t>> count = arguments.GetCount("count", 1);
  if (!count.ok()) return count.status();
  absl::StatusOr<std::optional<int64_t>> in_flight = arguments.GetCount("in-flight", 1);
  if (!in_flight.ok()) return in_flight.status();
  absl::StatusOr<std::optional<absl::Duration>> duration = arguments.GetDuration("seconds");
  if (!duration.ok()) return duration.status();
  const Settings settings{*operation, *type, count->value_or(1024), in_flight->value_or(8),
                          duration->value_or(absl::Seconds(5))};
  if (settings.count > kMostCount) return UsageError(absl::StrCat("--count is at most ", kMostCount));
  if (settings.in_flight > kMostInFlight) return UsageError(absl::StrCat("--in-flight is at most ", kMostInFlight));
  return settings;
}

/// Closed loop: each of `in_flight` threads makes its next call when the last one is answered. A thread stops at its
/// first error, after the client's own retries.
Measured Measure(const client::Client& client, const Workload& workload, const Settings& settings) {
  absl::Mutex mutex;
  Measured all;
  const absl::Time start = absl::Now();
  const absl::Time end = start + settings.duration;
  const auto caller = [&] {
    Measured mine;
    while (absl::Now() < end && mine.failed == 0) {
      const absl::Time before = absl::Now();
      const absl::StatusOr<client::RequestStats> stats = workload.Call(client);
      if (!stats.ok()) {
        ++mine.failed;
        mine.first_error = stats.status();
        continue;
      }
      mine.latencies_ns.push_back(absl::ToInt64Nanoseconds(absl::Now() - before));
      mine.queue_ns += stats->queue_ns;
      mine.kernel_ns += stats->kernel_ns;
    }
    absl::MutexLock lock(&mutex);
    all.latencies_ns.insert(all.latencies_ns.end(), mine.latencies_ns.begin(), mine.latencies_ns.end());
    all.queue_ns += mine.queue_ns;
    all.kernel_ns += mine.kernel_ns;
    all.failed += mine.failed;
    all.first_error.Update(mine.first_error);
  };
  std::vector<std::thread> callers;
  for (int64_t i = 0; i < settings.in_flight; ++i) callers.emplace_back(caller);
  for (std::thread& thread : callers) thread.join();
  all.elapsed = absl::Now() - start;
  std::sort(all.latencies_ns.begin(), all.latencies_ns.end());
  return all;
}

void Print(const Arguments& arguments, const Settings& settings, const Workload& workload,
           const client::ServerInfo& server, const Measured& measured) {
  const double calls = static_cast<double>(measured.latencies_ns.size());
  const double seconds = absl::ToDoubleSeconds(measured.elapsed);
  const double per_second = calls / seconds;
  const double megabytes = per_second * static_cast<double>(workload.bytes()) / 1e6;
  const double queue_ns = static_cast<double>(measured.queue_ns) / std::max(calls, 1.0);
  const double kernel_ns = static_cast<double>(measured.kernel_ns) / std::max(calls, 1.0);
  if (arguments.Has("json")) {
    JsonObject json;
    json.Add("operator", settings.operation).Add("type", KeyTypeName(settings.type)).Add("count", settings.count);
    json.Add("in_flight", settings.in_flight).Add("seconds", seconds);
    json.Add("engine", server.engine).Add("device", server.device).Add("checked", true);
    json.Add("calls", static_cast<int64_t>(measured.latencies_ns.size())).Add("failed", measured.failed);
    json.Add("calls_per_second", per_second).Add("megabytes_per_second", megabytes);
    json.Add("p50_us", measured.Latency(0.50) / 1e3).Add("p90_us", measured.Latency(0.90) / 1e3);
    json.Add("p99_us", measured.Latency(0.99) / 1e3);
    json.Add("mean_queue_us", queue_ns / 1e3).Add("mean_kernel_us", kernel_ns / 1e3);
    std::puts(json.Text().c_str());
    return;
  }
  absl::PrintF("%s of %s %s on %s (%s), %d in flight, %.1f s; the first answer is correct\n", settings.operation,
               CountText(settings.count), KeyTypeName(settings.type), server.engine, server.device, settings.in_flight,
               seconds);
  absl::PrintF("  calls      %s (%d failed), %.0f a second\n",
               CountText(static_cast<int64_t>(measured.latencies_ns.size())), measured.failed, per_second);
  absl::PrintF("  payload    %.1f MB/s, both ways together\n", megabytes);
  absl::PrintF("  latency    p50 %s, p90 %s, p99 %s\n", TimeText(measured.Latency(0.50)),
               TimeText(measured.Latency(0.90)), TimeText(measured.Latency(0.99)));
  absl::PrintF("  in server  mean queue %s, mean kernel %s\n", TimeText(queue_ns), TimeText(kernel_ns));
}

absl::Status RunBench(const Arguments& arguments) {
  absl::StatusOr<Settings> settings = ReadSettings(arguments);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  absl::StatusOr<client::ServerInfo> server = client->GetServerInfo();
  if (!server.ok()) return server.status();
  constexpr uint64_t kSeed = 1;
  const std::unique_ptr<Workload> workload =
      CreateWorkload(settings->operation, settings->type, settings->count, kSeed);
  if (const absl::Status checked = workload->Check(*client); !checked.ok()) return checked;
  const Measured measured = Measure(*client, *workload, *settings);
  Print(arguments, *settings, *workload, *server, measured);
  return measured.first_error;
}

}  // namespace

Command BenchCommand() {
  return {{"bench", "measure the latency and throughput of a server", "", 0, 0,
           "Calls one operator on random input in a closed loop, and checks the first answer. The figures include the\n"
           "time to build and to read messages.",
           "corank bench\n"
           "corank bench --operator merge --type u64 --count 1000000 --in-flight 4 --seconds 10 --json",
           WithCommonOptions({{"operator", 0, "NAME",
                               "sort, argsort, merge, expand, move, gather, scatter, load-balance or search\n"
                               "(default: sort)",
                               false, "sort argsort merge expand move gather scatter load-balance search"},
                              {"type", 't', "TYPE", "type of the elements (default: uint32)", false, kTypeNames},
                              {"count", 'n', "N", "elements in the longest array of a call (default: 1024)"},
                              {"in-flight", 0, "N", "concurrent calls (default: 8)"},
                              {"seconds", 0, "TIME", "how long to measure (default: 5)"}})},
          RunBench};
}

}  // namespace corank::cli
