// service_bench: corankd beside an echo server of the same gRPC, on this host, in turn.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "bench/harness/filter.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "bench/service/child_process.h"
#include "bench/service/corankd_process.h"
#include "bench/service/sort_rows.h"
#include "bench/service/stream_rows.h"

ABSL_FLAG(std::string, corankd, "", "the server to measure; by default the one beside this program");
ABSL_FLAG(std::string, echo_server, "", "the reference; by default the one beside this program");
ABSL_FLAG(std::string, engine, "auto", "corankd's engine");
ABSL_FLAG(std::string, filter, ".*", "regular expression, searched in the names of the rows");
ABSL_FLAG(std::string, out, "", "where the JSON goes");
ABSL_FLAG(std::string, commit, "", "the commit to name in the JSON; by default what git says");
ABSL_FLAG(int, rounds, 5, "alternations between the servers for each row");
ABSL_FLAG(absl::Duration, round, absl::Seconds(2), "length of a round");
ABSL_FLAG(int, channels, 8, "most connections to a server");
ABSL_FLAG(int64_t, chunk_bytes, 1 << 20, "bytes of the chunks that streams send");
ABSL_FLAG(bool, quick, false, "few short rounds of small calls: shows that it works, not how fast it is");

namespace corank::bench {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "service_bench: %s\n", status.ToString().c_str());
  return 1;
}

int Run(int argc, char** argv) {
  const auto matches = MakeFilter(absl::GetFlag(FLAGS_filter));
  if (!matches.ok()) return Fail(matches.status());
  const TemporaryFolder folder;
  if (!folder.made()) return Fail(absl::UnavailableError("cannot make a temporary folder"));
  const auto echo = ServerProcess::Start("echo_server", Beside(absl::GetFlag(FLAGS_echo_server), "echo_server"),
                                         {"--listen=127.0.0.1:0"}, folder.path(), absl::Seconds(10));
  if (!echo.ok()) return Fail(echo.status());
  const auto held_echo = ServerProcess::Start("held_echo", Beside(absl::GetFlag(FLAGS_echo_server), "echo_server"),
                                              {"--listen=127.0.0.1:0", "--hold"}, folder.path(), absl::Seconds(10));
  if (!held_echo.ok()) return Fail(held_echo.status());
  const auto corankd = CorankdProcess::Start({absl::GetFlag(FLAGS_corankd), absl::GetFlag(FLAGS_engine), {}});
  if (!corankd.ok()) return Fail(corankd.status());

  const bool quick = absl::GetFlag(FLAGS_quick);
  LoadOptions options;
  options.corankd = (*corankd)->address();
  options.echo = (*echo)->address();
  options.held_echo = (*held_echo)->address();
  options.corankd_pid = (*corankd)->pid();
  options.echo_pid = (*echo)->pid();
  options.max_channels = absl::GetFlag(FLAGS_channels);
  options.rounds = quick ? 2 : absl::GetFlag(FLAGS_rounds);
  options.round = quick ? absl::Milliseconds(200) : absl::GetFlag(FLAGS_round);
  const RunInfo info = DescribeRun((*corankd)->machine(), absl::GetFlag(FLAGS_commit), argc, argv);
  const std::string out = absl::GetFlag(FLAGS_out);

  std::vector<Row> rows;
  bool failed = false;
  const auto add = [&](const std::string& name, int64_t keys, absl::StatusOr<Row> row) -> absl::Status {
    if (!row.ok()) {
      failed = true;
      Row failure;
      failure.row = name;
      failure.type = "u32";
      failure.n = keys;
      failure.distribution = "uniform";
      failure.error = std::string(row.status().message());
      row = std::move(failure);
    }
    if (quick) row->DropGoal();
    rows.push_back(*std::move(row));
    std::printf("%s\n", FormatRow(rows.back()).c_str());
    for (const auto& [detail, value] : rows.back().details) std::printf("    %-18s %.4g\n", detail.c_str(), value);
    std::fflush(stdout);
    return out.empty() ? absl::OkStatus() : WriteFileAtomically(out, ToJson(info, rows));
  };
  std::map<std::string, int> rows_of;
  for (SortLoad load : SortLoads()) {
    if (!(*matches)(load.name)) continue;
    if (quick && load.is_of_curve && ++rows_of[load.name] > 2) continue;  // a line takes two points
    if (quick) load.keys = std::min<int64_t>(load.keys, 1 << 16);
    if (absl::Status written = add(load.name, load.keys, MeasureSortLoad(load, options)); !written.ok()) {
      return Fail(written);
    }
  }
  for (StreamLoad load : StreamLoads()) {
    if (!(*matches)(load.name)) continue;
    if (quick) load.keys = std::min<int64_t>(load.keys, 1 << 20);
    const int64_t chunk_bytes = absl::GetFlag(FLAGS_chunk_bytes);
    if (absl::Status written = add(load.name, load.keys, MeasureStreamLoad(load, options, chunk_bytes));
        !written.ok()) {
      return Fail(written);
    }
  }
  return failed || rows.empty() ? 1 : 0;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("measures corankd beside an echo server", argc, argv);
  return corank::bench::Run(argc, argv);
}
