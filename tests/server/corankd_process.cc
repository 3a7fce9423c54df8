#include "tests/server/corankd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/server/running_server.h"

extern char** environ;

namespace corank::testing {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string JsonString(const std::string& json, const std::string& name) {
  const std::string start = absl::StrCat("\"", name, "\":\"");
  const size_t begin = json.find(start);
  if (begin == std::string::npos) return "";
  return json.substr(begin + start.size(), json.find('"', begin + start.size()) - begin - start.size());
}

std::string ProgramBeside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

Process::Process(const std::string& program, std::vector<std::string> arguments) {
  std::string pattern = absl::StrCat(::testing::TempDir(), "/corankd.XXXXXX");
  folder_ = mkdtemp(pattern.data());
  arguments.insert(arguments.begin(), program);
  arguments.push_back(absl::StrCat("--ports-file=", folder_, "/ports"));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // Settings in the shell that runs the tests must not reach the process.
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!absl::StartsWith(*variable, "CORANK_")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, LogPath().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), variables.data()), 0);
  posix_spawn_file_actions_destroy(&actions);
}

Process::~Process() {
  if (!exit_code_) {
    kill(pid_, SIGKILL);
    Wait();
  }
  std::filesystem::remove_all(folder_);
}

bool Process::AwaitReady() {
  return Eventually([this] { return HasExited() || std::filesystem::exists(PortsPath()); }) &&
         std::filesystem::exists(PortsPath());
}

std::string Process::Ports() const { return ReadFile(PortsPath()); }

std::string Process::Log() const { return ReadFile(LogPath()); }

void Process::Signal(int signal) const { kill(pid_, signal); }

bool Process::HasExited() {
  int status = 0;
  if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_) SetExit(status);
  return exit_code_.has_value();
}

int Process::Wait() {
  int status = 0;
  if (!exit_code_ && waitpid(pid_, &status, 0) == pid_) SetExit(status);
  return exit_code_.value_or(-1);
}

std::string Process::PortsPath() const { return absl::StrCat(folder_, "/ports"); }

std::string Process::LogPath() const { return absl::StrCat(folder_, "/log"); }

void Process::SetExit(int status) { exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

std::vector<std::string> FreePorts(const std::string& engine, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                                        absl::StrCat("--engine=", engine), "--cpu-threads=1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

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

}  // namespace corank::testing
