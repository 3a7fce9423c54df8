// The report of a command: one line for a person, or JSON.
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/choices.h"
#include "client/cli/session.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

/// The part of a report about arrays that did not travel in one message, and about work out of core.
std::string WayText(const client::RequestStats& stats) {
  std::string text;
  if (stats.place == client::Place::kSharedMemory) text = ", through shared memory";
  if (stats.place == client::Place::kStream) {
    text = absl::StrCat(", streamed over ", stats.connections, stats.connections == 1 ? " connection" : " connections",
                        ": receive ", TimeText(stats.receive_ns), ", send ", TimeText(stats.send_ns));
  }
  if (stats.out_of_core) absl::StrAppend(&text, ", out of core");
  if (stats.out_of_core && stats.runs > 0) absl::StrAppend(&text, " in ", stats.runs, " runs");
  return text;
}

/// "5 x uint32", "5 rows".
std::string ElementsText(int64_t count, const std::string& type) {
  const std::string unit = type != "row" ? absl::StrCat(" x ", type) : count == 1 ? " row" : " rows";
  return absl::StrCat(CountText(count), unit);
}

}  // namespace

std::string Session::JsonReport(const Report& report) const {
  std::string outputs;
  for (const Output& output : outputs_) {
    JsonObject entry;
    entry.Add("option", output.option).Add("path", output.file.path());
    entry.Add("type", output.type).Add("count", output.count);
    absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", entry.Text());
  }
  JsonObject json;
  json.Add("operator", report.operation).Add("elements", report.elements).Add("type", report.type);
  if (!report.algorithm.empty()) json.Add("algorithm", report.algorithm);
  const client::RequestStats& stats = report.stats;
  json.Add("engine", stats.engine)
      .Add("device", stats.device)
      .Add("device_ordinal", int64_t{stats.device_ordinal})
      .Add("devices", int64_t{stats.devices})
      .Add("request_id", stats.request_id);
  json.Add("queue_ns", stats.queue_ns).Add("copy_in_ns", stats.copy_in_ns).Add("kernel_ns", stats.kernel_ns);
  json.Add("copy_out_ns", stats.copy_out_ns).Add("round_trip_ns", stats.round_trip_ns);
  json.Add("receive_ns", stats.receive_ns).Add("send_ns", stats.send_ns);
  json.Add("runs", int64_t{stats.runs}).Add("out_of_core", stats.out_of_core);
  json.Add("place", PlaceName(stats.place)).Add("connections", int64_t{stats.connections});
  json.Add("workspace_bytes", stats.workspace_bytes).Add("batch_size", int64_t{stats.batch_size});
  json.Add("attempts", int64_t{stats.attempts}).AddJson("outputs", absl::StrCat("[", outputs, "]"));
  if (!report.note.empty()) json.Add("note", report.note);
  return json.Text();
}

std::string Session::TextReport(const Report& report) const {
  const client::RequestStats& stats = report.stats;
  std::string text = absl::StrCat(report.operation, ": ", ElementsText(report.elements, report.type), " on ",
                                  stats.engine, report.algorithm.empty() ? "" : absl::StrCat(" by ", report.algorithm),
                                  " in ", TimeText(stats.round_trip_ns), " (queue ", TimeText(stats.queue_ns),
                                  ", copy in ", TimeText(stats.copy_in_ns), ", kernel ", TimeText(stats.kernel_ns),
                                  ", copy out ", TimeText(stats.copy_out_ns), WayText(stats), ")\n");
  if (!report.note.empty()) absl::StrAppend(&text, "  ", report.note, "\n");
  for (const Output& output : outputs_) {
    absl::StrAppend(&text, "  ", output.file.path() == kStandardStream ? "standard output" : output.file.path(), ": ",
                    ElementsText(output.count, output.type), "\n");
  }
  return text;
}

}  // namespace corank::cli
