// The text of --help and --check-config.
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/config/configuration.h"
#include "server/config/setting.h"
#include "spelling/nearest.h"

namespace corank {
namespace {

constexpr size_t kColumns = 100;

constexpr char kUsage[] = R"(corankd serves sort, merge and interval moves over gRPC.

Usage: corankd [--flag=value]...

Each setting has three sources. The first of these that sets it wins:
  --max-request-bytes=1GiB                a flag on the command line
  CORANK_MAX_REQUEST_BYTES=1GiB           an environment variable
  max-request-bytes = 1GiB                a line of the file that --config names; # starts a comment
Byte counts are plain numbers or have a unit (64KiB, 1.5GiB). Times always have a unit (500ms, 2m).
Logs go to stderr, one line per event: text on a terminal, JSON elsewhere (--log-format).

Exit status: 0 after a graceful shutdown; 1 if the server could not start, or dropped requests at
--drain-timeout; 2 if the configuration is wrong; 3 if the last device is lost.

  --help, --help=GROUP
      Print this help, or one group of it.
  --version
      Print version, commit and build.
  --check-config
      Check all settings, print them in the format of a --config file, and exit. Nothing starts.
)";

void AppendWrapped(std::string& out, absl::string_view text, size_t indent) {
  size_t column = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (column == 0 || column + 1 + word.size() > kColumns) {
      absl::StrAppend(&out, column == 0 ? "" : "\n", std::string(indent, ' '), word);
      column = indent + word.size();
    } else {
      absl::StrAppend(&out, " ", word);
      column += 1 + word.size();
    }
  }
  out += '\n';
}

void AppendGroup(std::string& out, const Group& group) {
  absl::StrAppend(&out, "\n", group.title, " (--help=", group.name, ")\n");
  for (const Setting& setting : group.settings) {
    const std::string value = setting.flag->DefaultValue();
    absl::StrAppend(&out, "  --", setting.Name(), " (default: ", value.empty() ? "empty" : value, ")\n");
    AppendWrapped(out, setting.flag->Help(), 6);
  }
}

std::string SourceText(v1::SettingSource source) {
  switch (source) {
    case v1::SETTING_SOURCE_FILE:
      return "  # from the file";
    case v1::SETTING_SOURCE_ENVIRONMENT:
      return "  # from the environment";
    case v1::SETTING_SOURCE_FLAG:
      return "  # from a flag";
    default:
      return "";
  }
}

// In the format of the file: in quotes if it would otherwise be misread.
std::string FileValue(const std::string& value) {
  const bool plain = !value.empty() && value == absl::StripAsciiWhitespace(value) && value.front() != '"' &&
                     value.find('#') == std::string::npos;
  return plain ? value : absl::StrCat("\"", absl::StrReplaceAll(value, {{"\"", "\"\""}}), "\"");
}

}  // namespace

absl::StatusOr<std::string> HelpText(const std::string& name) {
  std::string text = name.empty() ? kUsage : "";
  std::vector<std::string> names;
  bool found = false;
  for (const Group& group : Groups()) {
    names.emplace_back(group.name);
    if (group.settings.empty() || (!name.empty() && name != group.name)) continue;
    found = true;
    AppendGroup(text, group);
  }
  if (found) return text;
  return absl::InvalidArgumentError(absl::StrCat("--help: there is no group '", name, "'; groups are ",
                                                 absl::StrJoin(names, ", "), DidYouMean(name, names)));
}

std::string SettingsText(const Configuration& configuration) {
  std::string text;
  std::string group;
  for (const v1::Setting& setting : configuration.server.settings) {
    if (setting.group() != group) absl::StrAppend(&text, group.empty() ? "" : "\n", "# ", setting.group(), "\n");
    group = setting.group();
    // A file cannot name itself, and hidden values must be copied from their source.
    const bool left_out = setting.hidden() || setting.name() == "config";
    if (left_out && setting.source() == v1::SETTING_SOURCE_DEFAULT) continue;
    absl::StrAppend(&text, left_out ? "# " : "", setting.name(), " = ",
                    setting.hidden() ? "(hidden)" : FileValue(setting.value()), SourceText(setting.source()), "\n");
  }
  return text;
}

}  // namespace corank
