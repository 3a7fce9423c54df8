// corankd as a process: what its users and its supervisor see.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/messages.h"
#include "tests/server/raw_stream.h"
#include "tests/server/running_server.h"

extern char** environ;

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The string value of a name in a flat JSON object.
std::string JsonString(const std::string& json, const std::string& name) {
  const std::string start = absl::StrCat("\"", name, "\":\"");
  const size_t begin = json.find(start);
  if (begin == std::string::npos) return "";
  return json.substr(begin + start.size(), json.find('"', begin + start.size()) - begin - start.size());
}

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    std::string pattern = absl::StrCat(::testing::TempDir(), "/corankd.XXXXXX");
    folder_ = mkdtemp(pattern.data());
    arguments.insert(arguments.begin(), CORANKD_PATH);
    arguments.push_back(absl::StrCat("--ports-file=", folder_, "/ports"));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, LogPath().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    EXPECT_EQ(posix_spawn(&pid_, CORANKD_PATH, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (!exit_code_) {
      kill(pid_, SIGKILL);
      Wait();
    }
    std::filesystem::remove_all(folder_);
  }

  bool AwaitReady() {
    return Eventually([this] { return HasExited() || std::filesystem::exists(PortsPath()); }) &&
           std::filesystem::exists(PortsPath());
  }
  std::string Ports() const { return ReadFile(PortsPath()); }
  std::string Log() const { return ReadFile(LogPath()); }
  void Signal(int signal) const { kill(pid_, signal); }
  // The exit code, or 128 + the signal that ended it.
  int Wait() {
    int status = 0;
    if (!exit_code_ && waitpid(pid_, &status, 0) == pid_) SetExit(status);
    return exit_code_.value_or(-1);
  }

 private:
  std::string PortsPath() const { return absl::StrCat(folder_, "/ports"); }
  std::string LogPath() const { return absl::StrCat(folder_, "/log"); }
  bool HasExited() {
    int status = 0;
    if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_) SetExit(status);
    return exit_code_.has_value();
  }
  void SetExit(int status) { exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

  std::string folder_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

std::vector<std::string> FreePorts(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--engine=cpu",
                                        "--cpu-threads=1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Sends bytes to 127.0.0.1:port and returns all that comes back until the other side closes or is silent for a second.
std::string Exchange(const std::string& address, const std::string& bytes) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(parts.at(1), &port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const timeval second = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t n = recv(fd, buffer, sizeof(buffer), 0); n > 0; n = recv(fd, buffer, sizeof(buffer), 0)) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

std::string Scrape(const std::string& address) {
  return Exchange(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

grpc::Status SortOnce(const std::string& address, std::vector<int32_t> keys) {
  const auto stub = v1::CorankService::NewStub(Connect(address));
  v1::SortRequest request;
  *request.mutable_keys() = Int32s(keys);
  grpc::ClientContext context;
  v1::SortResponse response;
  const grpc::Status status = stub->Sort(&context, request, &response);
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(!status.ok() || response.keys().inline_data() == Int32s(keys).inline_data());
  return status;
}

// Slow on any machine: a sorting network over a million keys.
v1::SortRequest SlowSort() {
  v1::SortRequest request;
  std::vector<int32_t> keys(1 << 22);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i * 2654435761U);
  *request.mutable_keys() = Int32s(keys);
  request.set_algorithm(v1::SORT_ALGORITHM_ODD_EVEN_MERGESORT);
  return request;
}

TEST(Corankd, ServesRefusesAndStops) {
  Process process(FreePorts({"--max-request-bytes=1000000"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const std::string grpc_address = JsonString(process.Ports(), "grpc");
  const std::string metrics_address = JsonString(process.Ports(), "metrics");
  EXPECT_EQ(JsonString(process.Ports(), "engine"), "cpu");
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"ready\""));
  EXPECT_THAT(process.Log(), HasSubstr(absl::StrCat("\"grpc\":\"", grpc_address, "\"")));
  EXPECT_TRUE(SortOnce(grpc_address, {5, -3, 9}).ok());

  std::string garbage(100'000, '\0');
  for (size_t i = 0; i < garbage.size(); ++i) garbage[i] = static_cast<char>(i * 31 + i / 251);
  Exchange(grpc_address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Exchange(grpc_address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(1000, '\xFF'));
  Exchange(grpc_address, garbage.substr(0, 1000));
  EXPECT_TRUE(SortOnce(grpc_address, {2, 1}).ok()) << "after garbage on the port";

  EXPECT_EQ(SortOnce(grpc_address, std::vector<int32_t>(300'000)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SortOnce(grpc_address, std::vector<int32_t>(800'000)).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << "more than twice the limit: cut off by gRPC";
  EXPECT_TRUE(SortOnce(grpc_address, {3, 1}).ok()) << "after a message over the limit";
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"request_failed\""));

  // A call is counted when its last byte is out, which the caller may see first.
  EXPECT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(metrics_address),
                            HasSubstr("corank_requests_total{code=\"OK\",operator=\"sort\"} 3\n"));
  }));
  const std::string metrics = Scrape(metrics_address);
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(metrics, HasSubstr("corank_requests_total{code=\"INVALID_ARGUMENT\",operator=\"sort\"} 1\n"));
  for (const char* name : {"corank_request_seconds_bucket", "corank_stage_seconds_bucket", "corank_queue_requests 0",
                           "corank_queue_bytes 0", "corank_lanes_busy 0", "corank_received_bytes_total",
                           "corank_sent_bytes_total", "corank_engine_info{"}) {
    EXPECT_THAT(metrics, HasSubstr(name));
  }

  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"stopped\""));
}

// Calls that keep one lane busy for a while.
class BusyCalls {
 public:
  BusyCalls(const std::string& address, int count) : stub_(v1::CorankService::NewStub(Connect(address))) {
    for (int i = 0; i < count; ++i) {
      calls_.push_back(std::async(std::launch::async, [this] {
        grpc::ClientContext context;
        v1::SortResponse response;
        return stub_->Sort(&context, request_, &response);
      }));
    }
  }
  std::vector<grpc::StatusCode> Wait() {
    std::vector<grpc::StatusCode> codes;
    for (auto& call : calls_) codes.push_back(call.get().error_code());
    return codes;
  }

 private:
  const v1::SortRequest request_ = SlowSort();
  const std::unique_ptr<v1::CorankService::Stub> stub_;
  std::vector<std::future<grpc::Status>> calls_;
};

TEST(Corankd, FinishesAdmittedWorkAfterSigterm) {
  Process process(FreePorts({"--lanes=1"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 3);
  // One after the other: two that wait before the lane has taken one may be all that has arrived.
  for (const char* state : {"corank_lanes_busy 1\n", "corank_queue_requests 2\n"}) {
    ASSERT_TRUE(
        Eventually([&] { return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr(state)); }));
  }
  process.Signal(SIGTERM);
  EXPECT_THAT(calls.Wait(), ::testing::Each(grpc::StatusCode::OK));
  EXPECT_EQ(process.Wait(), 0) << process.Log();
}

TEST(Corankd, ASecondSignalEndsItAtOnce) {
  Process process(FreePorts({"--lanes=1"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 8);
  ASSERT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr("corank_lanes_busy 1\n"));
  }));
  process.Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return process.Log().find("draining") != std::string::npos; }));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 128 + SIGINT) << process.Log();
  calls.Wait();
}

TEST(Corankd, ADrainThatTakesTooLongDropsWhatWaitsAndSaysSo) {
  Process process(FreePorts({"--lanes=1", "--drain-timeout=0s"}));
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  BusyCalls calls(JsonString(process.Ports(), "grpc"), 8);
  ASSERT_TRUE(Eventually([&] {
    return ::testing::Value(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr("corank_lanes_busy 1\n"));
  }));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 1) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("drain_timed_out"));
  EXPECT_THAT(calls.Wait(), ::testing::Contains(grpc::StatusCode::UNAVAILABLE));
}

TEST(Corankd, StopsAtOnceWhenThereIsNothingToFinish) {
  Process process(FreePorts());
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const auto channel = Connect(JsonString(process.Ports(), "grpc"));
  RawStream watch(channel, "/grpc.health.v1.Health/Watch", HealthRequest(""));
  ASSERT_EQ(watch.Read(), kServing);
  EXPECT_THAT(Scrape(JsonString(process.Ports(), "metrics")), HasSubstr("corank_queue_requests 0\n"));
  const absl::Time start = absl::Now();
  process.Signal(SIGTERM);
  EXPECT_EQ(watch.Read(), kNotServing);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(800)) << "about 200 ms on an idle machine, with the open watch";
  EXPECT_THAT(process.Log(), HasSubstr("\"event\":\"stopped\""));
}

TEST(Corankd, LogsFailuresWithTheirIdAndOneJsonObjectALineWhateverItIsSent) {
  Process process(FreePorts());
  ASSERT_TRUE(process.AwaitReady()) << process.Log();
  const auto channel = Connect(JsonString(process.Ports(), "grpc"));
  v1::SortRequest without_keys;
  without_keys.mutable_options()->set_request_id("from the test");
  const std::string id_that_is_not_utf8("\x5a\x03\x12\x01\xff", 5);
  for (const std::string& bytes : {without_keys.SerializeAsString(), id_that_is_not_utf8}) {
    grpc::ClientContext context;
    const grpc::Status status = CallRaw(channel, "/corank.v1.CorankService/Sort", &context, bytes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  const std::string log = process.Log();
  EXPECT_THAT(log, HasSubstr("\"event\":\"request_failed\",\"request_id\":\"from the test\""));
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ::testing::Each(StartsWith("{\"time\":\"")));
}

TEST(Corankd, APortInUseIsOneClearLine) {
  Process first(FreePorts());
  ASSERT_TRUE(first.AwaitReady()) << first.Log();
  const std::string taken = JsonString(first.Ports(), "grpc");
  Process second({"--engine=cpu", "--metrics-listen=", absl::StrCat("--listen=", taken)});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Log(), HasSubstr(absl::StrCat("cannot listen on ", taken, ": Address already in use")));
  const std::string log = second.Log();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << second.Log();
  const std::string taken_metrics = JsonString(first.Ports(), "metrics");
  Process third({"--engine=cpu", "--listen=127.0.0.1:0", absl::StrCat("--metrics-listen=", taken_metrics)});
  EXPECT_EQ(third.Wait(), 1);
  EXPECT_THAT(third.Log(), HasSubstr(absl::StrCat("cannot listen on ", taken_metrics)));
}

TEST(Corankd, BadConfigurationExitsWithTwoAndTheReason) {
  Process process(FreePorts({"--lanes=0"}));
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_THAT(process.Log(), HasSubstr("--lanes: 0 is not in 1 to 256"));
}

}  // namespace
}  // namespace corank::testing
