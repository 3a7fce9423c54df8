#include "server/config/configuration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "server/config/config_file.h"
#include "server/config/setting.h"
#include "server/observe/utf8.h"
#include "server/security/read_file.h"
#include "spelling/nearest.h"

namespace corank {
namespace {

constexpr absl::string_view kConfigFlag = "config";
// Further errors add nothing.
constexpr size_t kMostErrors = 20;

// The part of a name or value that an error repeats.
std::string Quoted(absl::string_view text) {
  constexpr size_t kMost = 80;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kMost)), text.size() > kMost ? "..." : "", "'");
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Group& group : Groups()) {
    for (const Setting& setting : group.settings) names.push_back(setting.Name());
  }
  return names;
}

// Variables of the clients, which may run on the same machine. Clients and corankd must not share a name.
bool IsClientVariable(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"CORANK_SERVER", "CORANK_TOKEN", "CORANK_SERVER_CA",
                                                 "CORANK_CLIENT_CERTIFICATE", "CORANK_CLIENT_KEY"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Why the text is not a time, which Abseil does not explain.
std::string NoTime(absl::string_view text) {
  constexpr size_t kMost = 20;
  const absl::string_view number = absl::StripAsciiWhitespace(text);
  if (!number.empty() && number.size() < kMost && number.find_first_not_of("+-.0123456789") == std::string::npos) {
    return absl::StrCat(": a unit is missing, such as ", number, "s or ", number, "ms");
  }
  return ": a time is a number with a unit, such as 500ms, 30s or 2m";
}

// Variables that a Kubernetes Service named corank, or corank-something, sets in every container.
bool IsServiceLink(absl::string_view name, absl::string_view value) {
  return absl::StrContains(name, "_SERVICE_HOST") || absl::StrContains(name, "_SERVICE_PORT") ||
         absl::StrContains(name, "_PORT_") ||
         (absl::EndsWith(name, "_PORT") && (absl::StartsWith(value, "tcp://") || absl::StartsWith(value, "udp://")));
}

// Takes values from one source after another, and collects errors. Later sources override earlier ones.
class Reader {
 public:
  void ReadDefaults() {
    for (const Group& group : Groups()) {
      for (const Setting& setting : group.settings) {
        std::string error;
        setting.flag->ParseFrom(setting.flag->DefaultValue(), &error);
      }
    }
  }

  void ReadConfigFile(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) return Fail(absl::StrCat("--config: ", text.status().message()));
    std::map<std::string, int> seen;
    for (const ConfigLine& line : ParseConfig(*text)) {
      const std::string place = absl::StrCat(path, ":", line.number);
      const Setting* setting = FindSetting(line.name);
      if (!line.error.empty()) {
        Fail(absl::StrCat(place, ": ", line.error));
      } else if (setting == nullptr) {
        Fail(absl::StrCat(place, ": there is no setting ", Quoted(line.name), Suggestion(line.name, "")));
      } else if (setting->Name() == kConfigFlag) {
        Fail(absl::StrCat(place, ": a configuration file cannot name another"));
      } else if (const auto [first, inserted] = seen.emplace(setting->Name(), line.number); !inserted) {
        Fail(absl::StrCat(place, ": ", setting->Name(), " is set a second time, first in line ", first->second));
      } else {
        Set(*setting, line.value, v1::SETTING_SOURCE_FILE, place);
      }
    }
  }

  void ReadEnvironment(const char* const* environment) {
    for (; *environment != nullptr; ++environment) {
      const std::pair<absl::string_view, absl::string_view> variable =
          absl::StrSplit(*environment, absl::MaxSplits('=', 1));
      const auto& [name, value] = variable;
      absl::string_view rest = name;
      if (!absl::ConsumePrefix(&rest, "CORANK_")) continue;
      const Setting* setting = FindSetting(absl::AsciiStrToLower(rest));
      if (setting != nullptr && setting->Variable() == name) {
        Set(*setting, value, v1::SETTING_SOURCE_ENVIRONMENT, std::string(name));
      } else if (!IsClientVariable(name) && !IsServiceLink(name, value)) {
        Warn(name, rest);
      }
    }
  }

  void ReadArguments(const std::vector<std::string>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      absl::string_view argument = arguments[i];
      if (!absl::ConsumePrefix(&argument, "--")) {
        Fail(absl::StrCat(Quoted(argument), " is not a flag; --help lists them"));
        continue;
      }
      const size_t equals = argument.find('=');
      const absl::string_view name = argument.substr(0, equals);
      const Setting* setting = FindSetting(name);
      if (setting == nullptr) {
        const std::string suggestion = Suggestion(name, "--");
        Fail(absl::StrCat("there is no flag --", absl::CHexEscape(name.substr(0, 80)), suggestion,
                          suggestion.empty() ? "; " : " ", "--help lists them"));
        // The next argument is most likely the value.
        if (equals == absl::string_view::npos && i + 1 < arguments.size() &&
            !absl::StartsWith(arguments[i + 1], "--")) {
          ++i;
        }
      } else if (equals != absl::string_view::npos) {
        SetFlag(*setting, argument.substr(equals + 1));
      } else if (setting->flag->IsOfType<bool>()) {
        SetFlag(*setting, "true");
      } else if (i + 1 == arguments.size()) {
        Fail(absl::StrCat("--", setting->Name(), " needs a value"));
      } else {
        SetFlag(*setting, arguments[++i]);
      }
    }
  }

  void ReadGroups(Configuration& configuration) {
    for (const Group& group : Groups()) {
      const absl::Status status = group.read(configuration);
      if (!status.ok()) Fail(absl::StrCat(status.message(), Place(status.message())));
    }
  }

  std::vector<v1::Setting> Settings() const {
    std::vector<v1::Setting> settings;
    for (const Group& group : Groups()) {
      for (const Setting& entry : group.settings) {
        v1::Setting& setting = settings.emplace_back();
        setting.set_group(group.name);
        setting.set_name(entry.Name());
        if (!entry.hidden) setting.set_value(entry.flag->CurrentValue());
        setting.set_default_value(entry.flag->DefaultValue());
        const auto origin = origins_.find(entry.flag);
        setting.set_source(origin == origins_.end() ? v1::SETTING_SOURCE_DEFAULT : origin->second.source);
        setting.set_hidden(entry.hidden);
      }
    }
    return settings;
  }

  const std::vector<std::string>& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Origin {
    v1::SettingSource source;
    std::string place;  // FILE:LINE, a variable or a flag
  };

  void SetFlag(const Setting& setting, absl::string_view text) {
    Set(setting, text, v1::SETTING_SOURCE_FLAG, absl::StrCat("--", setting.Name()));
  }

  void Set(const Setting& setting, absl::string_view text, v1::SettingSource source, const std::string& place) {
    std::string error, reason;
    if (!setting.flag->ParseFrom(text, &error)) {
      // ParseFrom repeats the value and the flag before the type's own reason.
      const std::string repeated =
          absl::StrCat("Illegal value '", text, "' specified for flag '", setting.flag->Name(), "'; ");
      absl::string_view own = error;
      if (absl::ConsumePrefix(&own, repeated)) {
        reason = absl::StrCat(": ", own);
      } else if (setting.flag->IsOfType<absl::Duration>()) {
        reason = NoTime(text);
      } else if (setting.flag->IsOfType<bool>()) {
        reason = ": it takes true or false";
      } else if (setting.flag->IsOfType<int32_t>()) {
        reason = ": it takes a whole number of at most 2147483647";
      }
    } else if (!IsPlainText(setting.flag->CurrentValue())) {
      // Files, errors and the table of `corank info` consist of lines, and messages of UTF-8. Names reach logs.
      reason = ": it is not UTF-8, or holds control characters";
    } else {
      origins_[setting.flag] = {source, place};
      return;
    }
    const std::string what = source == v1::SETTING_SOURCE_FILE ? absl::StrCat(place, ": ", setting.Name()) : place;
    Fail(absl::StrCat(what, ": ", setting.hidden ? "this" : Quoted(text), " is not a valid value", reason));
  }

  // The source of the setting that a group's error names, unless the error contains it.
  std::string Place(absl::string_view error) const {
    if (!absl::ConsumePrefix(&error, "--")) return "";
    const Setting* setting = FindSetting(error.substr(0, error.find(':')));
    if (setting == nullptr) return "";
    const auto origin = origins_.find(setting->flag);
    if (origin == origins_.end()) return setting->flag->DefaultValue().empty() ? "" : " (the default)";
    return origin->second.source == v1::SETTING_SOURCE_FLAG ? "" : absl::StrCat(" (set by ", origin->second.place, ")");
  }

  void Warn(absl::string_view variable, absl::string_view rest) {
    std::string name = absl::StrReplaceAll(absl::AsciiStrToLower(rest), {{"_", "-"}});
    const std::string nearest = Nearest(name, Names());
    warnings_.push_back(
        absl::StrCat("the environment variable ", absl::CHexEscape(variable), " is none of corankd's and sets nothing",
                     nearest.empty() ? "" : absl::StrCat("; did you mean ", FindSetting(nearest)->Variable(), "?")));
  }

  std::string Suggestion(absl::string_view name, absl::string_view prefix) const {
    if (errors_.size() >= kMostErrors) return "";  // it would not be shown, and takes longest
    return DidYouMean(absl::StrReplaceAll(name, {{"_", "-"}}), Names(), prefix);
  }

  void Fail(std::string error) { errors_.push_back(std::move(error)); }

  std::map<const absl::CommandLineFlag*, Origin> origins_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

absl::Status Join(std::vector<std::string> errors) {
  if (errors.size() > kMostErrors) {
    const size_t more = errors.size() - kMostErrors;
    errors.resize(kMostErrors);
    errors.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

// Takes --help, --version and --check-config, which are not settings, out of the arguments.
std::vector<std::string> TakeWords(const std::vector<std::string>& arguments, Configuration& words) {
  using Action = Configuration::Action;
  std::vector<std::string> rest;
  for (const std::string& argument : arguments) {
    absl::string_view group = argument;
    if (argument == "--help" || argument == "-h" || absl::ConsumePrefix(&group, "--help=")) {
      words.action = Action::kHelp;
      if (group != argument) words.help_group = std::string(group);
    } else if (argument == "--version") {
      if (words.action != Action::kHelp) words.action = Action::kVersion;
    } else if (argument == "--check-config") {
      if (words.action == Action::kServe) words.action = Action::kCheck;
    } else {
      rest.push_back(argument);
    }
  }
  return rest;
}

// The file must be known before flags and environment, which override it, are read for good.
std::string ConfigPath(const std::vector<std::string>& arguments, const char* const* environment) {
  Reader first;
  first.ReadDefaults();
  first.ReadEnvironment(environment);
  first.ReadArguments(arguments);
  return FindSetting(kConfigFlag)->flag->CurrentValue();
}

}  // namespace

absl::StatusOr<Configuration> ReadConfiguration(const std::vector<std::string>& arguments,
                                                const char* const* environment) {
  Configuration configuration;
  const std::vector<std::string> flags = TakeWords(arguments, configuration);
  if (configuration.action == Configuration::Action::kHelp || configuration.action == Configuration::Action::kVersion) {
    return configuration;
  }
  const std::string path = ConfigPath(flags, environment);
  Reader reader;
  reader.ReadDefaults();
  // What follows refuses another path without repeating it.
  if (!path.empty() && IsPlainText(path)) reader.ReadConfigFile(path);
  reader.ReadEnvironment(environment);
  reader.ReadArguments(flags);
  if (reader.errors().empty()) reader.ReadGroups(configuration);
  if (!reader.errors().empty()) return Join(reader.errors());
  configuration.server.settings = reader.Settings();
  configuration.warnings.insert(configuration.warnings.end(), reader.warnings().begin(), reader.warnings().end());
  return configuration;
}

}  // namespace corank
