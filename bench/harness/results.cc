#include "bench/harness/results.h"

#include <sched.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank::bench {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppend(&out, absl::StrFormat("\\u%04x", static_cast<int>(c)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Number(double value) { return std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null"; }

std::string Boolean(const std::optional<bool>& value) { return !value ? "null" : *value ? "true" : "false"; }

std::string SpreadJson(const Row& row) {
  std::string out = absl::StrCat("{\"ours\": [", Number(row.ours.p10), ", ", Number(row.ours.p90), "]");
  if (!row.reference_name.empty()) {
    absl::StrAppend(&out, ", \"reference\": [", Number(row.reference.p10), ", ", Number(row.reference.p90), "]");
  }
  return absl::StrCat(out, ", \"samples\": ", row.ours.samples, "}");
}

std::string RowJson(const Row& row) {
  const bool failed = !row.error.empty();
  const bool compared = !failed && !row.reference_name.empty();
  std::vector<std::string> fields = {
      absl::StrCat("\"row\": ", Quoted(row.row)),
      absl::StrCat("\"type\": ", Quoted(row.type)),
      absl::StrCat("\"n\": ", row.n),
      absl::StrCat("\"distribution\": ", Quoted(row.distribution)),
      absl::StrCat("\"ours\": ", failed ? "null" : Number(row.ours.median)),
      absl::StrCat("\"reference\": ", compared ? Number(row.reference.median) : "null"),
      absl::StrCat("\"reference_name\": ", Quoted(row.reference_name)),
      absl::StrCat("\"unit\": ", Quoted(row.unit)),
      absl::StrCat("\"better\": ", row.better == Better::kHigher ? "\"higher\"" : "\"lower\""),
      absl::StrCat("\"ratio\": ", compared ? Number(row.Ratio()) : "null"),
      absl::StrCat("\"spread\": ", failed ? "null" : SpreadJson(row)),
      absl::StrCat("\"goal\": ", Quoted(row.goal)),
      absl::StrCat("\"met\": ", failed && !row.goal.empty() ? "false" : Boolean(row.met)),
      absl::StrCat("\"checked\": ", Boolean(row.checked)),
  };
  if (row.ceiling) {
    fields.push_back(absl::StrCat("\"ceiling\": {\"name\": ", Quoted(row.ceiling->name),
                                  ", \"gb_per_second\": ", Number(row.ceiling->gb_per_second),
                                  ", \"part\": ", failed ? "null" : Number(row.PartOfCeiling()), "}"));
  }
  if (!row.note.empty()) fields.push_back(absl::StrCat("\"note\": ", Quoted(row.note)));
  if (failed) fields.push_back(absl::StrCat("\"error\": ", Quoted(row.error)));
  if (!row.details.empty()) {
    const std::string details = absl::StrJoin(row.details, ", ", [](std::string* out, const auto& entry) {
      absl::StrAppend(out, Quoted(entry.first), ": ", Number(entry.second));
    });
    fields.push_back(absl::StrCat("\"details\": {", details, "}"));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

std::string OutputOf(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  if (pipe == nullptr) return "";
  std::array<char, 256> line;
  if (fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  return std::string(absl::StripSuffix(line.data(), "\n"));
}

std::string FormatCount(int64_t n) {
  for (int power = 10; power < 40; ++power) {
    if (n == int64_t{1} << power) return absl::StrCat("2^", power);
  }
  return absl::StrCat(n);
}

}  // namespace

double Row::Ratio() const {
  if (reference_name.empty() || ours.median <= 0 || reference.median <= 0) return 0;
  return better == Better::kHigher ? ours.median / reference.median : reference.median / ours.median;
}

void Row::RequireRatio(double least) {
  goal = absl::StrFormat("ratio >= %g", least);
  met = Ratio() >= least;
}

void Row::RequireExtra(double extra_us, const std::string& name) {
  goal = absl::StrFormat("<= %s + %g us", name, extra_us);
  met = ours.median <= reference.median + extra_us;
}

double Row::PartOfCeiling() const {
  return ceiling && ceiling->gb_per_second > 0 ? ours.median / ceiling->gb_per_second : 0;
}

void Row::RequirePartOfCeiling(double least) {
  goal = absl::StrFormat(">= %g of %s", least, ceiling->name);
  met = PartOfCeiling() >= least;
}

void Row::DropGoal() {
  goal.clear();
  met.reset();
}

RunInfo DescribeRun(const std::string& machine, const std::string& commit, int argc, char** argv) {
  RunInfo info;
  info.machine = machine;
  info.date = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  // Results being written do not change the measured code, so bench/results does not count.
  constexpr char kCommit[] =
      "c=$(git rev-parse --short HEAD 2>/dev/null) && "
      "echo \"$c$(git diff --quiet HEAD -- ':(top,exclude)bench/results' || echo -dirty)\"";
  info.commit = commit.empty() ? OutputOf(kCommit) : commit;
  if (info.commit.empty()) info.commit = "unknown";
  info.command = absl::StrJoin(argv, argv + argc, " ");
  return info;
}

std::string DescribeHost() {
  std::string model = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) model = line.substr(colon + 2);
    break;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 0;
  return absl::StrCat(count, " x ", model);
}

std::string ToJson(const RunInfo& info, const std::vector<Row>& rows) {
  const std::string lines =
      absl::StrJoin(rows, ",\n", [](std::string* out, const Row& row) { absl::StrAppend(out, "    ", RowJson(row)); });
  return absl::StrCat("{\n  \"machine\": ", Quoted(info.machine), ",\n  \"date\": ", Quoted(info.date),
                      ",\n  \"commit\": ", Quoted(info.commit), ",\n  \"command\": ", Quoted(info.command),
                      ",\n  \"rows\": [\n", lines, "\n  ]\n}\n");
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    if (!file) {
      std::remove(temporary.c_str());
      return absl::UnavailableError(absl::StrCat("cannot write ", temporary));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return absl::UnavailableError(absl::StrCat("cannot rename ", temporary, " to ", path));
  }
  return absl::OkStatus();
}

std::string FormatRow(const Row& row) {
  std::string out = absl::StrFormat("%-26s %-8s %11s  %-14s ", row.row, row.type, FormatCount(row.n), row.distribution);
  if (!row.error.empty()) return absl::StrCat(out, "FAILED: ", row.error);
  absl::StrAppend(&out, absl::StrFormat("%10.4g %-8s", row.ours.median, row.unit));
  if (!row.reference_name.empty()) {
    absl::StrAppend(
        &out, absl::StrFormat(" against %10.4g  (%s)  x %.2f", row.reference.median, row.reference_name, row.Ratio()));
  }
  if (row.met) absl::StrAppend(&out, "  [", row.goal, *row.met ? ": met]" : ": NOT MET]");
  if (!row.note.empty()) absl::StrAppend(&out, "  ", row.note);
  return out;
}

}  // namespace corank::bench
