// The configuration of corankd.
#include "server/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "server/addresses.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;

class FlagsTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("CORANK_LANES"); }
  std::string Error(const std::vector<std::string>& arguments) {
    return std::string(ReadConfiguration(arguments).status().message());
  }
  const absl::FlagSaver saver_;
};

TEST_F(FlagsTest, DefaultsAreThoseOfTheManual) {
  const auto configuration = ReadConfiguration({});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.listen, "127.0.0.1:50051");
  EXPECT_EQ(configuration->server.metrics_listen, "127.0.0.1:9464");
  EXPECT_EQ(configuration->server.lanes, 4);
  EXPECT_EQ(configuration->server.limits.max_request_bytes, 268435456);
  EXPECT_EQ(configuration->server.queue.max_requests, 1024);
  EXPECT_EQ(configuration->server.queue.max_bytes, 4294967296);
  EXPECT_EQ(configuration->drain_timeout, absl::Seconds(30));
  EXPECT_EQ(configuration->engine.choice, EngineChoice::kAuto);
}

TEST_F(FlagsTest, BothSpellingsAndBothFormsWork) {
  const auto configuration =
      ReadConfiguration({"--max-request-bytes=4096", "--max_queued_bytes", "8192", "--drain-timeout=1m"});
  ASSERT_TRUE(configuration.ok()) << configuration.status();
  EXPECT_EQ(configuration->server.limits.max_request_bytes, 4096);
  EXPECT_EQ(configuration->server.limits.max_response_bytes, 4096);
  EXPECT_EQ(configuration->server.queue.max_bytes, 8192);
  EXPECT_EQ(configuration->drain_timeout, absl::Minutes(1));
}

TEST_F(FlagsTest, ASwitchNeedsNoValue) {
  EXPECT_TRUE(ReadConfiguration({"--cuda-ipc", "--lanes=3"})->server.regions.cuda_ipc);
  EXPECT_FALSE(ReadConfiguration({"--cuda-ipc=false"})->server.regions.cuda_ipc);
}

TEST_F(FlagsTest, TheEnvironmentIsTheDefaultAndTheCommandLineWins) {
  setenv("CORANK_LANES", "7", 1);
  EXPECT_EQ(ReadConfiguration({})->server.lanes, 7);
  EXPECT_EQ(ReadConfiguration({"--lanes=3"})->server.lanes, 3);
  setenv("CORANK_LANES", "seven", 1);
  EXPECT_THAT(Error({}), HasSubstr("CORANK_LANES: 'seven'"));
}

TEST_F(FlagsTest, BadValuesAreRefusedWithTheFlagsName) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"--listen=nowhere", "--listen: 'nowhere'"},
      {"--listen=127.0.0.1:65536", "--listen"},
      {"--metrics-listen=:9464", "--metrics-listen"},
      {"--engine=tpu", "--engine: 'tpu'"},
      {"--device=-1", "--device: -1"},
      {"--lanes=0", "--lanes: 0 is not in 1 to 256"},
      {"--lanes=many", "--lanes: 'many'"},
      {"--cpu-threads=5000", "--cpu-threads"},
      {"--max-request-bytes=100", "--max-request-bytes"},
      {"--max-request-bytes=2147483648", "--max-request-bytes"},
      {"--max-request-bytes=99999999999999999999", "--max-request-bytes"},
      {"--max-queued-requests=0", "--max-queued-requests"},
      {"--max-queued-bytes=1000", "--max-queued-bytes"},
      {"--long-lanes=0", "--long-lanes: 0 is not in 1 to 256"},
      {"--small-lanes=-1", "--small-lanes"},
      {"--direct-bytes=-1", "--direct-bytes: -1 is not in 0 to 1048576"},
      {"--host-pool-bytes=1000", "--host-pool-bytes: 1000 is less than --max-request-bytes"},
      {"--shared-memory=corank-", "--shared-memory: 'corank-'"},
      {"--shared-memory=/", "--shared-memory: '/'"},
      {"--shared-memory=/a,/b/c", "--shared-memory: '/b/c'"},
      {"--region-expiry=0s", "--region-expiry"},
      {"--kept-bytes=-1", "--kept-bytes"},
      {"--kept-quota-bytes=1", "--kept-quota-bytes: 1 is not in 0 to 0"},
      {"--kept-expiry=25h", "--kept-expiry"},
      {"--stream-window-bytes=1000", "--stream-window-bytes: 1000 is not in 4194304 to "},
      {"--max-device-bytes=1", "--max-device-bytes: 1 is not in 1048576 to "},
      {"--max-stream-host-bytes=-1", "--max-stream-host-bytes"},
      {"--stream-idle-timeout=0s", "--stream-idle-timeout"},
      {"--drain-timeout=-1s", "--drain-timeout"},
      {"--drain-timeout=inf", "--drain-timeout"},
      {"--log-level=loud", "--log-level: 'loud'"},
      {"--no-such-flag=1", "no flag --no-such-flag"},
      {"stray", "'stray' is not a flag"},
      {"--lanes", "--lanes needs a value"},
  };
  for (const auto& [argument, message] : bad) {
    const absl::FlagSaver saver;
    EXPECT_THAT(Error({argument}), HasSubstr(message)) << argument;
  }
}

TEST_F(FlagsTest, HelpNamesEveryFlag) {
  EXPECT_TRUE(ReadConfiguration({"--lanes=0", "--help"})->help);
  EXPECT_TRUE(ReadConfiguration({"--version"})->version);
  for (const char* flag : {"--listen=",
                           "--metrics-listen=",
                           "--engine=",
                           "--device=",
                           "--lanes=",
                           "--long-lanes=",
                           "--host-pool-bytes=",
                           "--shared-memory=",
                           "--cuda-ipc=",
                           "--region-expiry=",
                           "--kept-bytes=",
                           "--kept-quota-bytes=",
                           "--kept-expiry=",
                           "--stream-window-bytes=",
                           "--max-device-bytes=",
                           "--max-stream-host-bytes=",
                           "--stream-idle-timeout=",
                           "--cpu-threads=",
                           "--max-request-bytes=",
                           "--max-queued-requests=",
                           "--max-queued-bytes=",
                           "--drain-timeout=",
                           "--log-level=",
                           "--ports-file="}) {
    EXPECT_THAT(HelpText(), HasSubstr(flag));
  }
}

TEST(Addresses, ReadIpv6AndNames) {
  EXPECT_EQ(ParseHostPort("[::1]:80")->host, "[::1]");
  EXPECT_EQ(ParseHostPort("localhost:0")->port, 0);
  EXPECT_EQ(ParseHostPort("[::1]:80")->ToString(), "[::1]:80");
  for (const char* bad : {"", "host", "host:", ":1", "host:x", "host:-1", "host:65536", "host:1x"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace corank::testing
