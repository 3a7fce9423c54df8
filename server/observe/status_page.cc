#include "server/observe/status_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace corank {
namespace {

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>corankd</title>
<style>
:root { color-scheme: light dark; --line: #8884; --up: #16803c; --down: #c62828; }
@media (prefers-color-scheme: dark) { :root { --up: #4cc273; --down: #ff7a70; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .25rem; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 600; width: 35%; }
.up { color: var(--up); font-weight: 600; }
.down { color: var(--down); font-weight: 600; }
</style>
</head>
<body>
)";

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string UptimeText(int64_t seconds) {
  const int64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
  if (days > 0) return absl::StrCat(days, " d ", hours, " h");
  if (hours > 0) return absl::StrCat(hours, " h ", minutes, " min");
  if (minutes > 0) return absl::StrCat(minutes, " min ", seconds % 60, " s");
  return absl::StrCat(seconds, " s");
}

std::string MemoryText(int64_t bytes) {
  return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / static_cast<double>(int64_t{1} << 30));
}

std::string Marked(bool is_good, absl::string_view text) {
  return absl::StrCat("<span class=\"", is_good ? "up" : "down", "\">", Escaped(text), "</span>");
}

// A row of a table; `value` is HTML.
void AppendRow(std::string& page, absl::string_view name, absl::string_view value) {
  absl::StrAppend(&page, "<tr><th scope=\"row\">", Escaped(name), "</th><td>", value, "</td></tr>\n");
}

std::string QueueText(const ServerStatus& status) {
  std::string text = absl::StrCat(status.waiting_requests, " waiting");
  if (status.waiting_requests > 0) {
    absl::StrAppend(&text, ", the oldest for ", absl::StrFormat("%.1f s", status.oldest_wait_seconds));
  }
  return text;
}

}  // namespace

std::string StatusPage(const ServerStatus& status) {
  std::string page = kHead;
  absl::StrAppend(&page, "<h1>corankd</h1>\n<table>\n");
  AppendRow(page, "State", Marked(status.is_serving, status.state));
  AppendRow(page, "Version", Escaped(status.version));
  if (!status.commit.empty()) AppendRow(page, "Commit", absl::StrCat("<code>", Escaped(status.commit), "</code>"));
  AppendRow(page, "Engine",
            absl::StrCat(Escaped(status.engine),
                         status.engine_reason.empty() ? "" : absl::StrCat("<br>", Escaped(status.engine_reason))));
  AppendRow(page, "Uptime", UptimeText(status.uptime_seconds));
  AppendRow(page, "Queue", QueueText(status));
  AppendRow(page, "Calls in progress", absl::StrCat(status.active_calls));
  absl::StrAppend(&page, "</table>\n<h2>Devices</h2>\n<table>\n");
  for (const ServerStatus::Device& device : status.devices) {
    AppendRow(page, absl::StrCat(device.ordinal, ": ", device.name),
              absl::StrCat(Marked(device.up, device.up ? "up" : "down"), ", ", MemoryText(device.memory_bytes)));
  }
  absl::StrAppend(&page, "</table>\n<p><a href=\"/metrics\">Metrics for Prometheus</a></p>\n</body>\n</html>\n");
  return page;
}

}  // namespace corank
