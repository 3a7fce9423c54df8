// service_bench: corankd and an echo server with the same gRPC in turn, on this host.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/harness/filter.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/service/beside_rows.h"
#include "bench/service/child_process.h"
#include "bench/service/corankd_process.h"
#include "bench/service/inline_rows.h"
#include "bench/service/stream_rows.h"
#ifdef CORANK_HAS_CUDA
#include "bench/service/ipc_rows.h"
#endif

ABSL_FLAG(std::string, corankd, "", "the server to measure; by default the one beside this program");
ABSL_FLAG(std::string, echo_server, "", "the reference; by default the one beside this program");
ABSL_FLAG(std::string, held_echo_server, "",
          "the echo that holds streams back and copies messages; by default tcmalloc_echo_server beside this program");
ABSL_FLAG(std::string, engine, "auto", "corankd's engine");
ABSL_FLAG(std::string, filter, ".*", "regular expression, searched in the names of the rows");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(int, rounds, 5, "alternations between the servers for each row");
ABSL_FLAG(absl::Duration, round, absl::Seconds(2), "length of a round");
ABSL_FLAG(int, channels, 8, "most connections to a server");
ABSL_FLAG(int, server_cores, 0, "cores of the servers' own, the first ones; the client has the others. 0: all share");
ABSL_FLAG(int64_t, chunk_bytes, 1 << 20, "bytes of the chunks that streams send");
ABSL_FLAG(bool, quick, false, "few short rounds of small calls: shows that it works, not how fast it is");

namespace corank::bench {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "service_bench: %s\n", status.ToString().c_str());
  return 1;
}

absl::StatusOr<std::unique_ptr<CorankdProcess>> StartCorankd(const std::vector<std::string>& arguments) {
  return CorankdProcess::Start({absl::GetFlag(FLAGS_corankd), absl::GetFlag(FLAGS_engine), arguments});
}

// The rows that the filter selects, and the file to write them to.
class Table {
 public:
  using Measure = std::function<absl::StatusOr<Row>()>;

  Table(std::function<bool(const std::string&)> matches, RunInfo info)
      : matches_(std::move(matches)), info_(std::move(info)) {}

  bool Has(const std::string& name) const { return matches_(name); }
  bool succeeded() const { return succeeded_ && !rows_.empty(); }

  /// Measures a row of the table and writes all rows so far. An error means that writing failed.
  absl::Status Add(const std::string& name, int64_t keys, const Measure& measure) {
    absl::StatusOr<Row> row = measure();
    if (!row.ok()) {
      succeeded_ = false;
      Row failure;
      failure.row = name;
      failure.type = "u32";
      failure.n = keys;
      failure.distribution = "uniform";
      failure.error = std::string(row.status().message());
      row = std::move(failure);
    }
    if (absl::GetFlag(FLAGS_quick)) row->DropGoal();
    rows_.push_back(*std::move(row));
    std::printf("%s\n", FormatRow(rows_.back()).c_str());
    for (const auto& [detail, value] : rows_.back().details) std::printf("    %-26s %.4g\n", detail.c_str(), value);
    std::fflush(stdout);
    const std::string out = absl::GetFlag(FLAGS_out);
    return out.empty() ? absl::OkStatus() : WriteFileAtomically(out, ToJson(info_, rows_));
  }

 private:
  const std::function<bool(const std::string&)> matches_;
  const RunInfo info_;
  std::vector<Row> rows_;
  bool succeeded_ = true;
};

absl::Status AddInlineRows(const LoadOptions& options, Table* table) {
  std::map<std::string, int> rows_of;
  for (InlineLoad load : InlineLoads()) {
    if (!table->Has(load.name)) continue;
    if (absl::GetFlag(FLAGS_quick)) {
      if (load.is_of_curve && ++rows_of[load.name] > 2) continue;  // a curve needs two points
      load.keys = std::min<int64_t>(load.keys, 1 << 16);
    }
    absl::Status added = table->Add(load.name, load.keys, [&] { return MeasureInlineLoad(load, options); });
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

/// Measures the rows out of core, or the others. Out of core each row has its own server.
absl::Status AddStreamRows(bool out_of_core, LoadOptions options, Table* table) {
  const int64_t chunk_bytes = absl::GetFlag(FLAGS_chunk_bytes);
  for (StreamLoad load : StreamLoads()) {
    if (load.is_out_of_core != out_of_core || !table->Has(load.name)) continue;
    if (absl::GetFlag(FLAGS_quick)) load.keys = std::min<int64_t>(load.keys, 1 << 20);
    std::unique_ptr<CorankdProcess> small;
    if (out_of_core) {
      auto started = StartCorankd({absl::StrCat("--max-device-bytes=", DeviceBytesOfPieces(load.keys))});
      if (!started.ok()) return started.status();
      small = *std::move(started);
      options.corankd = small->address();
      options.corankd_pid = small->pid();
    }
    absl::Status added =
        table->Add(load.name, load.keys, [&] { return MeasureStreamLoad(load, options, chunk_bytes); });
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

/// With a server of its own, which keeps arrays.
absl::Status AddBesideRows(LoadOptions options, Table* table) {
  const int64_t large_keys = absl::GetFlag(FLAGS_quick) ? 1 << 18 : 1 << 30;
  std::unique_ptr<CorankdProcess> keeping;
  for (const BesideLoad& load : BesideLoads()) {
    if (!table->Has(load.name)) continue;
    if (keeping == nullptr) {
      // A device keeps the whole array, a part of the sharded one, and two results of each: a new one replaces the old.
      auto started = StartCorankd({absl::StrCat("--kept-bytes=", 6 * large_keys * sizeof(uint32_t))});
      if (!started.ok()) return started.status();
      keeping = *std::move(started);
      options.corankd = keeping->address();
      options.corankd_pid = keeping->pid();
    }
    absl::Status added = table->Add(load.name, load.keys, [&] { return MeasureBeside(load, large_keys, options); });
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status AddIpcRow([[maybe_unused]] const LoadOptions& options, [[maybe_unused]] Table* table) {
#ifdef CORANK_HAS_CUDA
  const std::string name = "Sort 1 GiB in CUDA IPC memory, one at a time";
  const int64_t keys = absl::GetFlag(FLAGS_quick) ? 1 << 20 : 1 << 28;
  if (table->Has(name)) return table->Add(name, keys, [&] { return MeasureIpcSort(name, keys, options); });
#endif
  return absl::OkStatus();
}

int Run(int argc, char** argv) {
  auto matches = MakeFilter(absl::GetFlag(FLAGS_filter));
  if (!matches.ok()) return Fail(matches.status());
  const TemporaryFolder folder;
  if (!folder.made()) return Fail(absl::UnavailableError("cannot make a temporary folder"));
  LeaveCoresToServers(absl::GetFlag(FLAGS_server_cores));
  const auto echo = ServerProcess::Start("echo_server", Beside(absl::GetFlag(FLAGS_echo_server), "echo_server"),
                                         {"--listen=127.0.0.1:0"}, folder.path(), absl::Seconds(10));
  if (!echo.ok()) return Fail(echo.status());
  const auto held_echo =
      ServerProcess::Start("held_echo", Beside(absl::GetFlag(FLAGS_held_echo_server), "tcmalloc_echo_server"),
                           {"--listen=127.0.0.1:0", "--hold", "--copy"}, folder.path(), absl::Seconds(10));
  if (!held_echo.ok()) return Fail(held_echo.status());
  auto corankd = StartCorankd({"--cuda-ipc=true"});
  if (!corankd.ok()) return Fail(corankd.status());

  const bool quick = absl::GetFlag(FLAGS_quick);
  LoadOptions options;
  options.corankd = (*corankd)->address();
  options.echo = (*echo)->address();
  options.held_echo = (*held_echo)->address();
  options.held_echo_pid = (*held_echo)->pid();
  options.corankd_pid = (*corankd)->pid();
  options.echo_pid = (*echo)->pid();
  options.client_threads = ClientThreads();
  options.max_channels = absl::GetFlag(FLAGS_channels);
  options.rounds = quick ? 2 : absl::GetFlag(FLAGS_rounds);
  options.round = quick ? absl::Milliseconds(100) : absl::GetFlag(FLAGS_round);
  Table table(*std::move(matches), DescribeRun((*corankd)->machine(), absl::GetFlag(FLAGS_commit), argc, argv));
  absl::Status added = AddInlineRows(options, &table);
  if (added.ok()) added = AddStreamRows(false, options, &table);
  if (added.ok() && (*corankd)->on_gpu()) added = AddIpcRow(options, &table);
  corankd->reset();  // leaves the machine to the servers of the last rows
  if (added.ok()) added = AddBesideRows(options, &table);
  if (added.ok()) added = AddStreamRows(true, options, &table);
  if (!added.ok()) return Fail(added);
  return table.succeeded() ? 0 : 1;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("measures corankd beside an echo server", argc, argv);
  return corank::bench::Run(argc, argv);
}
