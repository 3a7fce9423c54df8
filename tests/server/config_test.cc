// The configuration of corankd: its four sources, and what they refuse.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/engine/memory_limit.h"
#include "server/config/byte_count.h"
#include "server/config/config_file.h"
#include "server/config/configuration.h"
#include "server/config/setting.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Action = Configuration::Action;

class ConfigTest : public ::testing::Test {
 protected:
  absl::StatusOr<Configuration> Read(const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment = {}) {
    std::vector<const char*> variables;
    for (const std::string& variable : environment) variables.push_back(variable.c_str());
    variables.push_back(nullptr);
    return ReadConfiguration(arguments, variables.data());
  }
  std::string Error(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
    return std::string(Read(arguments, environment).status().message());
  }
  // A flag that names a file with this text.
  std::string File(const std::string& text) {
    std::ofstream(path_, std::ios::trunc) << text;
    return absl::StrCat("--config=", path_);
  }
  static v1::Setting Find(const Configuration& configuration, absl::string_view name) {
    for (const v1::Setting& setting : configuration.server.settings) {
      if (setting.name() == name) return setting;
    }
    ADD_FAILURE() << "no setting " << name;
    return {};
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/corankd.", getpid(), ".conf");
};

TEST_F(ConfigTest, DefaultsAreThoseOfTheManual) {
  const auto configuration = Read({});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.listen, "127.0.0.1:50051");
  EXPECT_EQ(configuration->server.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(configuration->server.lanes, 4);
  EXPECT_EQ(configuration->server.limits.max_request_bytes, 268435456);
  EXPECT_EQ(configuration->server.queue.max_requests, 1024);
  EXPECT_EQ(configuration->server.queue.max_bytes, 4294967296);
  EXPECT_EQ(configuration->drain_timeout, absl::Seconds(30));
  EXPECT_EQ(configuration->engine.choice, EngineChoice::kAuto);
  EXPECT_EQ(configuration->action, Action::kServe);
  EXPECT_EQ(Find(*configuration, "lanes").source(), v1::SETTING_SOURCE_DEFAULT);
  EXPECT_EQ(Find(*configuration, "max-request-bytes").value(), "256MiB");
}

TEST_F(ConfigTest, BothSpellingsAndBothFormsWork) {
  const auto configuration = Read({"--max-request-bytes=4KiB", "--max_queued_bytes", "8192", "--drain-timeout=1m"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.limits.max_request_bytes, 4096);
  EXPECT_EQ(configuration->server.limits.max_response_bytes, 4096);
  EXPECT_EQ(configuration->server.queue.max_bytes, 8192);
  EXPECT_EQ(configuration->drain_timeout, absl::Minutes(1));
}

TEST_F(ConfigTest, ASwitchNeedsNoValue) {
  EXPECT_TRUE(Read({"--cuda-ipc", "--lanes=3"})->server.regions.cuda_ipc);
  EXPECT_FALSE(Read({"--cuda-ipc=false"})->server.regions.cuda_ipc);
}

TEST_F(ConfigTest, AFlagWinsOverTheEnvironmentThatOverTheFileThatOverTheDefault) {
  const std::string file = File("lanes = 5\nlong-lanes = 6\nmax_queued_requests = 7\n");
  const auto configuration = Read({file, "--lanes=1"}, {"CORANK_LANES=2", "CORANK_LONG_LANES=3", "HOME=/"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.lanes, 1);
  EXPECT_EQ(configuration->server.long_lanes, 3);
  EXPECT_EQ(configuration->server.queue.max_requests, 7);
  EXPECT_EQ(Find(*configuration, "lanes").source(), v1::SETTING_SOURCE_FLAG);
  EXPECT_EQ(Find(*configuration, "long-lanes").source(), v1::SETTING_SOURCE_ENVIRONMENT);
  EXPECT_EQ(Find(*configuration, "max-queued-requests").source(), v1::SETTING_SOURCE_FILE);
  EXPECT_EQ(Find(*configuration, "max-queued-requests").value(), "7");
  EXPECT_EQ(Find(*configuration, "max-queued-requests").default_value(), "1024");
  EXPECT_EQ(Find(*configuration, "small-lanes").source(), v1::SETTING_SOURCE_DEFAULT);
}

TEST_F(ConfigTest, TheEnvironmentMayNameTheFile) {
  File("lanes = 5");
  EXPECT_EQ(Read({}, {absl::StrCat("CORANK_CONFIG=", path_)})->server.lanes, 5);
}

TEST_F(ConfigTest, LogsAreJsonUnlessTextIsAskedForOrStderrIsATerminal) {
  EXPECT_EQ(Read({"--log-format=text"})->log_format, LogFormat::kText);
  EXPECT_EQ(Read({"--log-format=json"})->log_format, LogFormat::kJson);
  const int saved = dup(STDERR_FILENO);
  const int file = open("/dev/null", O_WRONLY | O_CLOEXEC), terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  dup2(file, STDERR_FILENO);
  const LogFormat in_file = Read({})->log_format;
  dup2(terminal, STDERR_FILENO);
  const LogFormat on_terminal = Read({})->log_format;
  const LogFormat forced = Read({"--log-format=json"})->log_format;
  dup2(saved, STDERR_FILENO);
  for (const int descriptor : {saved, file, terminal}) close(descriptor);
  EXPECT_EQ(in_file, LogFormat::kJson);
  EXPECT_EQ(on_terminal, LogFormat::kText);
  EXPECT_EQ(forced, LogFormat::kJson);
}

TEST_F(ConfigTest, PeerAccessIsOnUnlessTurnedOff) {
  EXPECT_TRUE(Read({})->engine.peer_access);
  EXPECT_FALSE(Read({"--peer-access=off"})->engine.peer_access);
}

TEST_F(ConfigTest, ReadingTwiceIsReadingOnce) {
  EXPECT_EQ(Read({"--lanes=9"})->server.lanes, 9);
  EXPECT_EQ(Read({})->server.lanes, 4);
}

TEST_F(ConfigTest, BadValuesAreRefusedWithTheFlagsName) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--listen=nowhere", "--listen: 'nowhere'"},
      {"--listen=127.0.0.1:65536", "--listen"},
      {"--metrics-listen=:9464", "--metrics-listen"},
      {"--metrics-listen=::1:0", "--metrics-listen: '::1:0' is not HOST:PORT (IPv6: [HOST]:PORT)"},
      {"--metrics-listen=127.0.0.1:9464:1", "--metrics-listen: '127.0.0.1:9464:1' is not HOST:PORT"},
      {"--metrics-listen=+0.0.0.0:0", "--metrics-listen: '+0.0.0.0:0' is not HOST:PORT"},
      {"--metrics-listen=80,127.0.0.1:90", "--metrics-listen: '80,127.0.0.1:90' is not HOST:PORT"},
      {"--metrics-listen=127.0.0.1:+90", "--metrics-listen: '127.0.0.1:+90' is not HOST:PORT"},
      {"--metrics-listen=127.0.0.1:65536", "--metrics-listen: '127.0.0.1:65536' is not HOST:PORT"},
      {"--engine=tpu", "--engine: 'tpu'"},
      {"--peer-access=on", "--peer-access: 'on'"},
      {"--devices=-1", "--devices: '-1'"},
      {"--devices=0,all", "--devices: 'all'"},
      {"--devices=", "--devices: names no GPU"},
      {"--devices=1,0,1", "--devices: names GPU 1 twice"},
      {"--lanes=0", "--lanes: 0 is not in 1 to 256"},
      {"--log-format=yaml", "--log-format: 'yaml' is not auto, json or text"},
      {"--lanes=many", "--lanes: 'many'"},
      {"--cpu-threads=5000", "--cpu-threads"},
      {"--canary-interval=1ns", "--canary-interval: 1ns is not in 10ms to 24h, nor 0s"},
      {"--canary-interval=-1s", "--canary-interval: -1s is not in 10ms to 24h, nor 0s"},
      {"--canary-interval=25h", "--canary-interval: 25h is not in 10ms to 24h, nor 0s"},
      {"--max-request-bytes=100", "--max-request-bytes"},
      {"--max-request-bytes=2147483648", "--max-request-bytes"},
      {"--max-request-bytes=99999999999999999999", "--max-request-bytes"},
      {"--max-request-bytes=4 elephants", "bytes are a number with or without a unit"},
      {"--max-request-bytes=1.5", "is not a whole number of bytes"},
      {"--max-queued-requests=0", "--max-queued-requests"},
      {"--max-queued-bytes=1000", "--max-queued-bytes"},
      {"--long-lanes=0", "--long-lanes: 0 is not in 1 to 256"},
      {"--small-lanes=-1", "--small-lanes"},
      {"--spare-lanes=1025", "--spare-lanes: 1025 is not in 0 to 1024"},
      {"--direct-bytes=-1", "--direct-bytes: -1 is not in 0 to 1048576"},
      {"--host-bytes=2MiB", "--host-bytes: 2097152 is not in 0 to 1048576"},
      {"--host-pool-bytes=1000", "--host-pool-bytes: 1000 is less than --max-request-bytes"},
      {"--shared-memory=corank-", "--shared-memory: 'corank-'"},
      {"--shared-memory=/", "--shared-memory: '/'"},
      {"--shared-memory=/a,/b/c", "--shared-memory: '/b/c'"},
      {"--shared-memory=/a\nlanes = 1", "'/a\\nlanes = 1' is not a valid value: it is not UTF-8, or holds control"},
      {"--shared-memory=/\xC2\x85", "'/\\xc2\\x85' is not a valid value: it is not UTF-8, or holds control"},
      {"--tenant-weights=\xC2\x9B=1", "is not a valid value: it is not UTF-8, or holds control"},
      {"--shared-memory=/\xFF", "'/\\xff' is not a valid value: it is not UTF-8"},
      {"--region-expiry=0s", "--region-expiry"},
      {"--kept-bytes=-1", "--kept-bytes"},
      {"--kept-quota-bytes=1", "--kept-quota-bytes: there are no kept arrays without --kept-bytes"},
      {"--kept-expiry=25h", "--kept-expiry"},
      {"--stream-window-bytes=1000", "--stream-window-bytes: 1000 is not in 4194304 to "},
      {"--max-device-bytes=1", "--max-device-bytes: 1 is not in 1048576 to "},
      {"--max-stream-host-bytes=-1", "--max-stream-host-bytes"},
      {"--stream-idle-timeout=0s", "--stream-idle-timeout"},
      {"--drain-timeout=-1s", "--drain-timeout"},
      {"--drain-timeout=30", "--drain-timeout: '30' is not a valid value: a unit is missing, such as 30s or 30ms"},
      {"--slow-request=1.5", "--slow-request: '1.5' is not a valid value: a unit is missing, such as 1.5s or 1.5ms"},
      {"--slow-request=soon", "a time is a number with a unit, such as 500ms, 30s or 2m"},
      {"--connection-idle-timeout=0s", "--connection-idle-timeout: 0 is not in 1s to 24h"},
      {"--max-connection-age=10ms", "--max-connection-age: 10ms is not in 1s to 24h"},
      {"--max-connection-age-grace=0s", "--max-connection-age-grace: 0 is not in 1s to 24h"},
      {"--drain-timeout=inf", "--drain-timeout"},
      {"--slow-request=-1s", "--slow-request"},
      {"--log-level=loud", "--log-level: 'loud'"},
      {"--no-such-flag=1", "no flag --no-such-flag; --help"},
      {"--lane=1", "no flag --lane; did you mean --lanes?"},
      {"--lanes=many", "--lanes: 'many' is not a valid value: it takes a whole number of at most 2147483647"},
      {"--lanes=2147483648", "it takes a whole number of at most 2147483647"},
      {"--kserve=maybe", "--kserve: 'maybe' is not a valid value: it takes true or false"},
      {"--max-qeued-bytes", "did you mean --max-queued-bytes?"},
      {"stray", "'stray' is not a flag"},
      {"--lanes", "--lanes needs a value"},
      {"--config=/nowhere/corankd.conf", "--config: cannot read /nowhere/corankd.conf: No such file or directory"},
      {"--config=/", "Is a directory"},
  };
  for (const auto& [argument, message] : bad) EXPECT_THAT(Error({argument}), HasSubstr(message)) << argument;
}

TEST_F(ConfigTest, APathThatWouldSplitTheErrorIsNotRepeated) {
  const std::string error = "this is not a valid value: it is not UTF-8, or holds control characters";
  EXPECT_EQ(Error({"--config=/a\n\xC2\x85"}), "--config: " + error);
  EXPECT_EQ(Error({}, {"CORANK_CONFIG=/a\n\xC2\x85"}), "CORANK_CONFIG: " + error);
}

TEST_F(ConfigTest, ABadAddressIsToldOnce) {
  EXPECT_EQ(Error({"--listen=here"}),
            "--listen: 'here' is not HOST:PORT (IPv6: [HOST]:PORT) with a port of 0 to 65535, nor unix:PATH");
}

// Each value alone would be valid.
TEST_F(ConfigTest, ValuesThatDoNotFitTogetherAreRefusedWithBothNames) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"--max-device-bytes=8GiB", "--device-budget-bytes=4GiB"},
       "--max-device-bytes: 8589934592 is more than --device-budget-bytes, 4294967296"},
      {{"--host-pool-bytes=4MiB", "--stream-window-bytes=4MiB", "--max-request-bytes=1MiB"},
       "--host-pool-bytes: 4194304 is less than the 4718592 that a stream needs"},
      {{"--kept-bytes=1MiB", "--kept-quota-bytes=65MiB"}, "--kept-quota-bytes: 68157440 is not in 0 to 67108864"},
      {{"--tls-certificate=/none"}, "--tls-key: TLS needs --tls-certificate and --tls-key together"},
  };
  for (const auto& [arguments, message] : bad) {
    EXPECT_THAT(Error(arguments), AllOf(HasSubstr(message), Not(HasSubstr("(the default)"))));
  }
  for (const std::vector<std::string>& good : std::vector<std::vector<std::string>>{
           {"--max-device-bytes=4GiB", "--device-budget-bytes=4GiB"},
           {"--max-device-bytes=4GiB"},
           {"--host-pool-bytes=4718592", "--stream-window-bytes=4MiB", "--max-request-bytes=1MiB"},
           {"--canary-interval=0s"},
           {"--canary-interval=10ms"},
           {"--metrics-listen=[::]:0"},
           {"--metrics-listen=metrics-1.example_net:0"}}) {
    EXPECT_THAT(Error(good), IsEmpty());
  }
}

TEST_F(ConfigTest, WhatTheCpuEngineHasNoUseForIsWarnedOf) {
  EXPECT_THAT(Read({"--engine=cpu", "--cuda-ipc", "--devices=7"})->warnings,
              ::testing::UnorderedElementsAre(HasSubstr("--devices: "), HasSubstr("--cuda-ipc: ")));
  EXPECT_THAT(Read({"--engine=cpu", "--devices=all"})->warnings, IsEmpty());
  EXPECT_THAT(Read({"--cuda-ipc", "--devices=7"})->warnings, IsEmpty()) << "--engine=auto may find a GPU";
}

TEST_F(ConfigTest, BadLinesOfTheFileAreRefusedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"lanes = 5\n\n# lanes\nlane = 3\n", ":4: there is no setting 'lane'; did you mean lanes?"},
      {"lanes 5", ":1: 'lanes 5' is not `name = value`"},
      {"[queue]\n", ":1: '[queue]' is not `name = value`"},
      {"lanes # = 5", ":1: 'lanes # = 5' is not `name = value`"},
      {"= 5", ":1: a name is missing before '='"},
      {"lanes = five", ":1: lanes: 'five' is not a valid value"},
      {"lanes = \"5", ":1: the value's closing quote is missing"},
      {"lanes = \"5\" 6", ":1: '6' stands behind the value's closing quote"},
      {"lanes = 5\n# again\nlanes = 5\n", ":3: lanes is set a second time, first in line 1"},
      {"max-queued-bytes = 1GiB\nmax_queued_bytes = 1GiB\n", ":2: max-queued-bytes is set a second time"},
      {"config = other.conf", ":1: a configuration file cannot name another"},
      {"lanes = 0", "--lanes: 0 is not in 1 to 256 (set by "},
      {std::string("l\0nes = 5", 9), ":1: there is no setting 'l\\x00nes'"},
      {"\xFF\xFE = 5", ":1: there is no setting '\\xff\\xfe'"},
      {std::string((16 << 20) + 1, '#'), "it has more than 16 MiB"},
  };
  for (const auto& [text, message] : bad) {
    EXPECT_THAT(Error({File(text)}), AllOf(HasSubstr(message), HasSubstr(path_))) << text.substr(0, 99);
  }
}

TEST_F(ConfigTest, AllThatIsWrongIsSaidAtOnce) {
  const std::string error = Error({File("lane = 1\nlanes = x\n"), "--devise=1", "stray"}, {"CORANK_LOG_LEVEL=info"});
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(error, '\n')).size(), 4U) << error;
  EXPECT_THAT(Error({"--lanes=0", "--max-queued-requests=0"}), AllOf(HasSubstr("--lanes"), HasSubstr("--max-queued")));
  std::string lines;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&lines, "wrong", i, " = 1\n");
  EXPECT_THAT(Error({File(lines)}), HasSubstr("\nand 30 more"));
}

TEST_F(ConfigTest, BadVariablesAreRefusedWithTheirName) {
  EXPECT_THAT(Error({}, {"CORANK_LANES=seven"}), HasSubstr("CORANK_LANES: 'seven' is not a valid value"));
  EXPECT_THAT(Error({}, {"CORANK_LANES=0"}), HasSubstr("--lanes: 0 is not in 1 to 256 (set by CORANK_LANES)"));
  EXPECT_THAT(Error({"--max-request-bytes=1GiB"}, {"CORANK_HOST_POOL_BYTES=1"}), HasSubstr("CORANK_HOST_POOL_BYTES"));
}

TEST_F(ConfigTest, VariablesThatSetNothingAreWarnedOf) {
  const auto configuration = Read({}, {"CORANK_LANE=3", "CORANK_lanes=3", "CORANK_SERVICE_HOST=10.0.0.1",
                                       "CORANK_PORT=tcp://10.0.0.1:50051", "CORANK_METRICS_PORT_9464_TCP_PORT=9464"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.lanes, 4);
  EXPECT_THAT(configuration->warnings,
              ::testing::ElementsAre(AllOf(HasSubstr("CORANK_LANE "), HasSubstr("did you mean CORANK_LANES?")),
                                     HasSubstr("CORANK_lanes")));
}

// A client on the same machine uses its own names: they are not settings, and must not be taken for misspelt ones.
TEST_F(ConfigTest, TheClientsVariablesSetNothingAndNeedNoWarning) {
  const auto configuration =
      Read({}, {"CORANK_SERVER=gpu-host:50051", "CORANK_TOKEN=secret", "CORANK_SERVER_CA=/none/ca.pem",
                "CORANK_CLIENT_CERTIFICATE=/none/own.pem", "CORANK_CLIENT_KEY=/none/key.pem", "CORANK_SERVER_CE=/a"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_THAT(configuration->warnings, ::testing::ElementsAre(HasSubstr("CORANK_SERVER_CE")));
  for (const v1::Setting& setting : configuration->server.settings) {
    EXPECT_NE(setting.source(), v1::SETTING_SOURCE_ENVIRONMENT) << setting.name();
  }
}

TEST_F(ConfigTest, TokensWithoutTlsAreWarnedOfBesideAllElse) {
  const std::string digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  File(absl::StrCat("left ", digest, " all\n"));
  const std::string tokens = absl::StrCat("--tokens-file=", path_);
  const auto configuration = Read({"--insecure", tokens}, {"CORANK_LANE=3"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_THAT(configuration->warnings,
              ::testing::UnorderedElementsAre(HasSubstr("tokens travel in plain text"), HasSubstr("CORANK_LANE ")));
  EXPECT_THAT(Read({tokens})->warnings, IsEmpty());
}

TEST_F(ConfigTest, TheHostPoolFitsWhatTheProcessMayHave) {
  const int64_t quarter = std::min(HostMemoryBytes() / 4, int64_t{8} << 30);
  EXPECT_EQ(Read({"--max-request-bytes=1MiB"})->server.host_pool.max_bytes, quarter);
  EXPECT_GE(Read({"--max-request-bytes=2147483647"})->server.host_pool.max_bytes, 2147483647);
  EXPECT_EQ(Read({"--host-pool-bytes=3GiB"})->server.host_pool.max_bytes, int64_t{3} << 30);
}

TEST_F(ConfigTest, PathsAreHiddenFromCallers) {
  const auto configuration = Read({File("lanes = 3"), "--ports-file=/secret/ports"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->ports_file, "/secret/ports");
  for (const v1::Setting& setting : configuration->server.settings) {
    EXPECT_THAT(setting.value(), Not(HasSubstr("/secret"))) << setting.name();
    EXPECT_THAT(setting.value(), Not(HasSubstr(path_))) << setting.name();
  }
  EXPECT_TRUE(Find(*configuration, "config").hidden());
  EXPECT_EQ(Find(*configuration, "config").source(), v1::SETTING_SOURCE_FLAG);
}

TEST_F(ConfigTest, CheckConfigPrintsAFileThatSaysTheSame) {
  const auto first = Read({"--lanes=3", R"(--shared-memory=/a " #-,/b )", "--check-config", "--metrics-listen="});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->action, Action::kCheck);
  const std::string text = SettingsText(*first);
  EXPECT_THAT(text, HasSubstr("lanes = 3  # from a flag\n"));
  const auto second = Read({File(text)});
  ASSERT_TRUE(second.ok()) << second.status();
  for (const v1::Setting& setting : first->server.settings) {
    if (setting.name() == "config") continue;
    EXPECT_EQ(Find(*second, setting.name()).value(), setting.value());
  }
}

TEST_F(ConfigTest, HiddenSettingsKeepTheirValues) {
  for (const Group& group : Groups()) {
    for (const Setting& entry : group.settings) {
      if (!entry.hidden || !entry.flag->IsOfType<std::string>()) continue;
      const auto configuration = Read({absl::StrCat("--", entry.Name(), "=/secret"), "--check-config"});
      if (!configuration.ok()) continue;  // it checks more than the syntax
      EXPECT_EQ(Find(*configuration, entry.Name()).value(), "");
      EXPECT_THAT(SettingsText(*configuration), Not(HasSubstr("/secret")));
    }
  }
}

TEST_F(ConfigTest, HelpNamesEveryFlagByGroupAndFitsTheScreen) {
  EXPECT_EQ(Read({"--lanes=0", "--help"})->action, Action::kHelp);
  EXPECT_EQ(Read({"--version"})->action, Action::kVersion);
  EXPECT_EQ(Read({"--help=queue"})->help_group, "queue");
  const std::string all = *HelpText("");
  for (const absl::string_view line : absl::StrSplit(all, '\n')) EXPECT_LE(line.size(), 100U) << line;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (!absl::StrContains(flag->Filename(), "server/config/")) continue;
    EXPECT_NE(FindSetting(name), nullptr) << name << " is in no group";
  }
  for (const Group& group : Groups()) {
    for (const Setting& setting : group.settings) {
      EXPECT_THAT(all, HasSubstr(absl::StrCat("\n  --", setting.Name(), " (default: ")));
      EXPECT_THAT(*HelpText(group.name), HasSubstr(absl::StrCat("  --", setting.Name(), " (default: ")));
    }
  }
  EXPECT_THAT(*HelpText("queue"), Not(HasSubstr("--listen")));
  EXPECT_THAT(all, HasSubstr("\n  --lanes (default: 4)\n      Requests that each device"));
  EXPECT_THAT(all, HasSubstr("\n  --tls-key (default: empty)\n"));
  EXPECT_THAT(std::string(HelpText("queues").status().message()), HasSubstr("did you mean queue?"));
}

TEST(ConfigFile, ReadsValuesCommentsAndQuotes) {
  const std::string text =
      "# comment\r\n\r\n  a=1\r\nb = two words # comment\nc = no#comment\nd = \" # \" # comment\ne =\nf = x = y\ng = "
      "\" \"\"#\"\"\" # \"";
  std::vector<std::pair<std::string, std::string>> values;
  for (const ConfigLine& line : ParseConfig(text)) {
    EXPECT_THAT(line.error, IsEmpty());
    values.emplace_back(line.name, line.value);
  }
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"b", "two words"}, {"c", "no#comment"}, {"d", " # "}, {"e", ""}, {"f", "x = y"}, {"g", " \"#\""}};
  EXPECT_EQ(values, expected);
}

TEST(ByteCount, ReadsUnitsAndWritesTheLargestThatFits) {
  const std::vector<std::pair<std::string, int64_t>> good = {
      {"0", 0},        {"4096", 4096}, {" 64KiB ", 65536}, {"64 kib", 65536},        {"1.5GiB", 1610612736},
      {"2k", 2048},    {"2kB", 2000},  {"1MB", 1000000},   {"3T", int64_t{3} << 40}, {"-1", -1},
      {"0.5KiB", 512}, {"7b", 7}};
  for (const auto& [text, bytes] : good) {
    ByteCount value;
    std::string error;
    EXPECT_TRUE(AbslParseFlag(text, &value, &error)) << text << ": " << error;
    EXPECT_EQ(int64_t{value}, bytes) << text;
  }
  for (const char* bad : {"", "x", "1x", "KiB", "1.2.3MiB", "9e99", "99999999TiB", "1 2", "0x10", "nan", "inf"}) {
    ByteCount value;
    std::string error;
    EXPECT_FALSE(AbslParseFlag(bad, &value, &error)) << bad;
  }
  EXPECT_EQ(AbslUnparseFlag(int64_t{256} << 20), "256MiB");
  EXPECT_EQ(AbslUnparseFlag(1025), "1025");
  EXPECT_EQ(AbslUnparseFlag(0), "0");
}

}  // namespace
}  // namespace corank::testing
