#include "tests/client/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace corank::testing {
namespace {

std::vector<std::string> ServerCommand(const std::vector<std::string>& flags, const std::string& ports_file) {
  std::vector<std::string> command = {CORANKD_BINARY, "--engine=cpu", "--listen=127.0.0.1:0",
                                      "--metrics-listen=127.0.0.1:0", "--ports-file=" + ports_file};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "corank-test-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::vector<std::string> TemporaryFolder::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Process::Process(const std::vector<std::string>& arguments, const std::string& input,
                 const std::vector<std::string>& environment) {
  WriteFile(streams_.Path("in"), input);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // The new values come first: the first of two equal names counts.
  std::vector<char*> envp;
  for (const std::string& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; *entry != nullptr; ++entry) envp.push_back(*entry);
  envp.push_back(nullptr);
  const std::string in = streams_.Path("in"), out = streams_.Path("out"), err = streams_.Path("err");
  pid_ = fork();
  if (pid_ != 0) return;
  dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) const { kill(pid_, signal); }

Finished Process::Wait() {
  int status = 0;
  if (!Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ReadFile(streams_.Path("out")),
          ReadFile(streams_.Path("err"))};
}

Finished RunToEnd(const std::vector<std::string>& arguments, const std::string& input,
                  const std::vector<std::string>& environment) {
  return Process(arguments, input, environment).Wait();
}

Server::Server(const std::vector<std::string>& flags) : process_(ServerCommand(flags, folder_.Path("ports"))) {
  const std::string ports = folder_.Path("ports");
  if (!Eventually([&] { return std::filesystem::exists(ports); })) return;
  google::protobuf::Struct facts;
  if (google::protobuf::util::JsonStringToMessage(ReadFile(ports), &facts).ok()) {
    address_ = facts.fields().at("grpc").string_value();
  }
}

}  // namespace corank::testing
