// The configuration of corankd: file, environment, arguments. An accepted configuration can be printed as a file with
// the same meaning, and an error names its cause.
//
// Input: parts (fuzz_target.h). The first part is the file. The first byte of each other part selects a variable or an
// argument.
#include <algorithm>
#include <set>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/config/config_file.h"
#include "server/config/configuration.h"
#include "server/config/setting.h"
#include "server/observe/utf8.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_file.h"

namespace corank::fuzz {
namespace {

using Action = Configuration::Action;

enum Kind : uint8_t { kVariable, kArgument, kKinds };

struct Sources {
  absl::string_view file;
  std::vector<std::string> variables, arguments;
};

Sources Sort(absl::string_view bytes) {
  Sources sources;
  const std::vector<absl::string_view> parts = Parts(bytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == 0) {
      sources.file = parts[0];
      continue;
    }
    Input input(parts[i]);
    const bool variable = input.Choice(kKinds) == kVariable;
    const absl::string_view text = input.Rest();
    // The system ends both at a zero byte.
    (variable ? sources.variables : sources.arguments).emplace_back(text.substr(0, text.find('\0')));
  }
  return sources;
}

absl::StatusOr<Configuration> Read(const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& variables) {
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  return ReadConfiguration(arguments, environment.data());
}

// One error in each line, which starts with its subject.
void CheckError(const absl::Status& status, const std::string& path) {
  FUZZ_CHECK(absl::IsInvalidArgument(status), status.ToString());
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  FUZZ_CHECK(lines.size() <= 21, status.ToString());
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find_first_of(":= "));
    const bool is_named = absl::StartsWith(line, absl::StrCat(path, ":")) || absl::StartsWith(line, "--") ||
                          (absl::StartsWith(name, "CORANK_") && FindSetting(absl::AsciiStrToLower(name.substr(7)))) ||
                          absl::StartsWith(line, "there is no flag --") ||
                          absl::StrContains(line, "is not a flag; --help lists them") ||
                          (absl::StartsWith(line, "and ") && absl::EndsWith(line, " more"));
    FUZZ_CHECK(is_named, line);
    FUZZ_CHECK(std::none_of(line.begin(), line.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }), line);
  }
}

// Printed as a file, with hidden settings as flags, it has the same meaning.
void CheckPrinted(const Configuration& configuration, const ScratchFile& file) {
  const std::string text = SettingsText(configuration);
  std::vector<std::string> arguments = {absl::StrCat("--config=", file.Fill(text))};
  for (const v1::Setting& setting : configuration.server.settings) {
    FUZZ_CHECK(IsPlainText(setting.value()), "no message may hold this");
    const std::string value = FindSetting(setting.name())->flag->CurrentValue();
    FUZZ_CHECK(setting.value() == (setting.hidden() ? "" : value), setting.name());
    // The printed file replaces the given one.
    if (setting.hidden() && setting.name() != "config") {
      arguments.push_back(absl::StrCat("--", setting.name(), "=", value));
    }
  }
  const absl::StatusOr<Configuration> again = Read(arguments, {});
  FUZZ_CHECK(again.ok(), absl::StrCat(again.status().ToString(), "\n", text));
  for (size_t i = 0; i < configuration.server.settings.size(); ++i) {
    const v1::Setting& first = configuration.server.settings[i];
    const v1::Setting& second = again->server.settings[i];
    FUZZ_CHECK(first.name() == second.name(), first.name());
    FUZZ_CHECK(first.value() == second.value() || first.name() == "config",
               absl::StrCat(first.name(), ": '", first.value(), "', printed '", second.value(), "'\n", text));
  }
}

void CheckLines(absl::string_view text) {
  int last = 0;
  for (const ConfigLine& line : ParseConfig(text)) {
    FUZZ_CHECK(line.number > last, "lines are in order");
    last = line.number;
    if (!line.error.empty()) continue;
    FUZZ_CHECK(!line.name.empty(), "a line has a name");
    FUZZ_CHECK(line.name.find_first_of("=\n") == std::string::npos && line.value.find('\n') == std::string::npos,
               "a line is one");
  }
  FUZZ_CHECK(last <= 1 + std::count(text.begin(), text.end(), '\n'), "as many lines as there are");
}

}  // namespace

std::vector<std::string> Seeds() {
  const auto variable = [](absl::string_view text) { return absl::StrCat(std::string(1, kVariable), text); };
  const auto argument = [](absl::string_view text) { return absl::StrCat(std::string(1, kArgument), text); };
  std::vector<std::string> seeds = {
      Join({"lanes = 5\nlong_lanes = 6 # six\n\n# queue\nmax-queued-requests = 7\n", variable("CORANK_LANES=2"),
            variable("CORANK_LANE=2"), variable("CORANK_SERVICE_HOST=10.0.0.1"), argument("--lanes=1")}),
      Join({"listen = \"unix:/run/a b.sock\"\nlog-level = debug\nshared-memory = /a-,/b-\ncuda-ipc = true\n",
            argument("--check-config"), argument("--insecure"), argument("--devices"), argument("0,2")}),
      Join({"max-request-bytes = 1.5GiB\nmax-queued-bytes = 8g\nhost-pool-bytes = 9TB\ndrain-timeout = 1m30.5s\n",
            argument("--slow-request=1h"), argument("--kept-bytes"), argument("1GiB"),
            argument("--kept-quota-bytes=0")}),
      Join({"tenant-weights = a=1,b=0.5\nports-file = \"# a \"\n", argument("--tokens-file=/none")}),
      Join({"health-listen = \"unix:/a \"\"b\"\" # \"\n", argument("--shared-memory=/a \"#,/b ")}),
      Join({"", argument("--tls-key=/dev/null"), argument("--tls-certificate=/dev/null")}),
      Join({"", argument("--listen=0.0.0.0:1"), argument("--metrics-listen=0.0.0.0:0"), argument("--health-listen=")}),
      Join({"lane = 1\nlanes = x\nconfig = y\nlanes = \"1\nlanes = \"1\" 2\n= 3\n4\n", argument("stray"),
            argument("--devise=1"), argument("--lanes"), variable("CORANK_LANES=seven")}),
      Join({"", argument("--help=queue")}),
      Join({"", argument("--help=qeue")}),
      Join({"", argument("--version")})};
  std::string all;  // every setting once, with its default
  for (const Group& group : Groups()) {
    for (const Setting& setting : group.settings) {
      if (setting.Name() != "config") absl::StrAppend(&all, setting.Name(), " = ", setting.flag->DefaultValue(), "\n");
    }
  }
  seeds.push_back(Join({all}));
  return seeds;
}

}  // namespace corank::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace corank::fuzz;
  static const ScratchFile given(".conf"), printed(".conf");
  Sources sources = Sort(absl::string_view(reinterpret_cast<const char*>(data), size));
  CheckLines(sources.file);
  sources.arguments.insert(sources.arguments.begin(), absl::StrCat("--config=", given.Fill(sources.file)));
  const absl::StatusOr<corank::Configuration> configuration = Read(sources.arguments, sources.variables);
  if (!configuration.ok()) {
    CheckError(configuration.status(), given.path());
  } else if (configuration->action == Action::kHelp) {
    const absl::StatusOr<std::string> help = corank::HelpText(configuration->help_group);
    FUZZ_CHECK(help.ok() ? !help->empty() : absl::IsInvalidArgument(help.status()), help.status().ToString());
  } else if (configuration->action != Action::kVersion) {
    CheckPrinted(*configuration, printed);
  }
  return 0;
}
