#include "server/observe/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"

namespace corank {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

void Add(Families& families, prometheus::MetricType type, const char* name, const char* help, double value) {
  prometheus::ClientMetric metric;
  (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  families.push_back({name, help, type, {std::move(metric)}});
}

std::string Contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// When the machine started, in seconds since 1970; 0 if unreadable.
double BootSeconds() {
  double seconds = 0;
  for (const absl::string_view line : absl::StrSplit(Contents("/proc/stat"), '\n')) {
    if (line.substr(0, 6) == "btime " && absl::SimpleAtod(line.substr(6), &seconds)) return seconds;
  }
  return 0;
}

void AddStat(Families& families) {
  const std::string stat = Contents("/proc/self/stat");
  // The name may contain anything and ends with the last parenthesis. Fields from the third on follow; see proc(5).
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  const auto field = [&fields](size_t number) {
    double value = 0;
    return number - 3 < fields.size() && absl::SimpleAtod(fields[number - 3], &value) ? value : 0;
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  using Type = prometheus::MetricType;
  Add(families, Type::Counter, "process_cpu_seconds_total", "User and system CPU time of the process.",
      (field(14) + field(15)) / ticks);
  Add(families, Type::Gauge, "process_threads", "Threads of the process.", field(20));
  static const double boot_seconds = BootSeconds();
  if (boot_seconds > 0) {
    Add(families, Type::Gauge, "process_start_time_seconds", "Start of the process, in seconds since 1970.",
        boot_seconds + field(22) / ticks);
  }
  Add(families, Type::Gauge, "process_virtual_memory_bytes", "Virtual memory of the process.", field(23));
  Add(families, Type::Gauge, "process_resident_memory_bytes", "Resident memory of the process.",
      field(24) * static_cast<double>(sysconf(_SC_PAGESIZE)));
}

void AddFiles(Families& families) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  constexpr int kNotOpen = 3;  // two dots, and the folder itself
  Add(families, prometheus::MetricType::Gauge, "process_open_fds", "Open files of the process.", entries - kNotOpen);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  Add(families, prometheus::MetricType::Gauge, "process_max_fds", "Files that the process may open.",
      static_cast<double>(limit.rlim_cur));
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessMetrics() {
  Families families;
  AddStat(families);
  AddFiles(families);
  return families;
}

}  // namespace corank
