// corank info.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/session.h"
#include "client/cli/text.h"

namespace corank::cli {
namespace {

std::string SettingsJson(const std::vector<client::ServerSetting>& settings) {
  const auto object = [](std::string* to, const client::ServerSetting& setting) {
    JsonObject json;
    json.Add("group", setting.group).Add("name", setting.name).Add("value", setting.value);
    json.Add("default", setting.default_value).Add("source", setting.source);
    absl::StrAppend(to, json.AddJson("hidden", setting.hidden ? "true" : "false").Text());
  };
  return absl::StrCat("[", absl::StrJoin(settings, ", ", object), "]");
}

/// A value with its unit: the server may send a number of bytes without one.
std::string ValueText(const std::string& name, const std::string& value, bool hidden) {
  if (hidden) return "(hidden)";
  if (value.empty()) return "\"\"";
  int64_t bytes = 0;
  const bool is_bare = absl::EndsWith(name, "-bytes") && absl::SimpleAtoi(value, &bytes) && bytes >= 1024;
  return is_bare ? absl::StrCat(value, " (", BytesText(static_cast<double>(bytes)), ")") : value;
}

bool IsDefault(const client::ServerSetting& setting) { return setting.source == "default"; }

/// "  kept-bytes  4GiB  (flag; default 0)".
void AppendSetting(const client::ServerSetting& setting, size_t width, std::string* table) {
  std::string line = absl::StrFormat("%s %-*s  %-20s", IsDefault(setting) ? " " : "*", static_cast<int>(width),
                                     setting.name, ValueText(setting.name, setting.value, setting.hidden));
  if (!IsDefault(setting)) {
    absl::StrAppend(&line, "  (", setting.source, "; default ", ValueText(setting.name, setting.default_value, false),
                    ")");
  }
  absl::StripTrailingAsciiWhitespace(&line);
  absl::StrAppend(table, line, "\n");
}

/// The settings that somebody changed, or all of them by group with a star before each changed one.
std::string SettingsTable(const std::vector<client::ServerSetting>& settings, bool all) {
  size_t width = 0;
  int64_t defaults = 0;
  for (const client::ServerSetting& setting : settings) {
    width = std::max(width, setting.name.size());
    defaults += IsDefault(setting) ? 1 : 0;
  }
  std::string table;
  if (!all) {
    absl::StrAppend(&table, "\nSettings that differ from the default:\n");
    for (const client::ServerSetting& setting : settings) {
      if (!IsDefault(setting)) AppendSetting(setting, width, &table);
    }
    return absl::StrCat(table, "  ", defaults, " others have their default; corank info --all shows every setting.\n");
  }
  absl::StrAppend(&table, "\nSettings; a star marks those that differ from the default.\n");
  std::string group;
  for (const client::ServerSetting& setting : settings) {
    if (setting.group != group) absl::StrAppend(&table, "\n", setting.group, "\n");
    group = setting.group;
    AppendSetting(setting, width, &table);
  }
  return table;
}

std::string DevicesJson(const std::vector<client::ServerDevice>& devices) {
  const auto object = [](std::string* to, const client::ServerDevice& device) {
    JsonObject json;
    json.Add("ordinal", int64_t{device.ordinal}).Add("name", device.name).Add("uuid", device.uuid);
    json.Add("memory_bytes", device.memory_bytes).AddJson("up", device.up ? "true" : "false");
    absl::StrAppend(to, json.Text());
  };
  return absl::StrCat("[", absl::StrJoin(devices, ", ", object), "]");
}

/// One line for each device.
std::string DevicesTable(const client::ServerInfo& info) {
  if (info.devices.empty()) {  // the server is older than this field
    return absl::StrFormat("%-17s %s, %s\n", "device", info.device,
                           BytesText(static_cast<double>(info.device_memory_bytes)));
  }
  std::string table;
  for (const client::ServerDevice& device : info.devices) {
    absl::StrAppendFormat(&table, "%-17s %s, %s%s\n", absl::StrCat("device ", device.ordinal), device.name,
                          BytesText(static_cast<double>(device.memory_bytes)), device.up ? "" : ", down");
  }
  return table;
}

std::string InfoJson(const client::ServerInfo& info) {
  JsonObject limits;
  limits.Add("max_request_bytes", info.max_request_bytes).Add("max_response_bytes", info.max_response_bytes);
  limits.Add("max_queued_requests", int64_t{info.max_queued_requests}).Add("max_queued_bytes", info.max_queued_bytes);
  limits.Add("max_chunk_bytes", info.max_chunk_bytes).Add("max_merge_inputs", int64_t{info.max_merge_inputs});
  limits.Add("max_parts", int64_t{info.max_parts}).Add("stream_window_bytes", info.stream_window_bytes);
  limits.Add("max_device_bytes", info.max_device_bytes);
  const auto quote = [](std::string* to, const std::string& text) { absl::StrAppend(to, JsonString(text)); };
  JsonObject json;
  json.Add("version", info.version).Add("engine", info.engine).Add("device", info.device);
  json.Add("engine_reason", info.engine_reason).Add("device_memory_bytes", info.device_memory_bytes);
  json.Add("lanes", int64_t{info.lanes}).AddJson("limits", limits.Text());
  json.AddJson("places", absl::StrCat("[", absl::StrJoin(info.places, ", ", quote), "]"));
  json.AddJson("shared_memory_prefixes",
               absl::StrCat("[", absl::StrJoin(info.shared_memory_prefixes, ", ", quote), "]"));
  json.Add("device_uuid", info.device_uuid).AddJson("devices", DevicesJson(info.devices));
  json.Add("uptime_seconds", absl::ToInt64Seconds(info.uptime));
  return json.AddJson("settings", SettingsJson(info.settings)).Text();
}

std::string InfoTable(const client::ServerInfo& info, bool all) {
  const std::vector<std::pair<const char*, std::string>> rows = {
      {"version", info.version},
      {"engine", absl::StrCat(info.engine, " (", info.engine_reason, ")")},
      {"lanes", absl::StrCat(info.lanes, " requests at a time", info.devices.size() > 1 ? " on each device" : "")},
      {"largest request", BytesText(static_cast<double>(info.max_request_bytes))},
      {"largest response", BytesText(static_cast<double>(info.max_response_bytes))},
      {"queue", absl::StrCat(CountText(info.max_queued_requests), " requests, ",
                             BytesText(static_cast<double>(info.max_queued_bytes)))},
      {"merge inputs", absl::StrCat(info.max_merge_inputs)},
      {"places of arrays", absl::StrJoin(info.places, ", ")},
      {"streams", absl::StrCat("chunks of ", BytesText(static_cast<double>(info.max_chunk_bytes)), ", up to ",
                               info.max_parts, " connections")},
      {"out of core over", BytesText(static_cast<double>(info.max_device_bytes) / 2)},
      {"up for", absl::FormatDuration(absl::Ceil(info.uptime, absl::Seconds(1)))},
  };
  std::string table;
  for (const auto& [name, value] : rows) absl::StrAppendFormat(&table, "%-17s %s\n", name, value);
  return absl::StrCat(DevicesTable(info), table, info.settings.empty() ? "" : SettingsTable(info.settings, all));
}

absl::Status RunInfo(const Arguments& arguments) {
  absl::StatusOr<client::Client> client = Connect(arguments);
  if (!client.ok()) return client.status();
  absl::StatusOr<client::ServerInfo> info = client->GetServerInfo();
  if (!info.ok()) return info.status();
  if (arguments.Has("json")) {
    std::puts(InfoJson(*info).c_str());
  } else {
    std::fputs(InfoTable(*info, arguments.Has("all")).c_str(), stdout);
  }
  return absl::OkStatus();
}

}  // namespace

Command InfoCommand() {
  return {{"info", "show the server's devices, limits and settings", "", 0, 0, "",
           "corank info\ncorank info --all\ncorank info --server gpu-host:50051 --json",
           WithCommonOptions({{"all", 0, nullptr, "show every setting, not only those that differ from the default"}})},
          RunInfo};
}

}  // namespace corank::cli
