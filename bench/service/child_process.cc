#include "bench/service/child_process.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace corank::bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// An entry of a ports file; empty while there is none.
std::string AddressIn(const std::string& path, const std::string& name) {
  google::protobuf::Struct ports;
  if (!google::protobuf::util::JsonStringToMessage(ReadFile(path), &ports).ok()) return "";
  const auto entry = ports.fields().find(name);
  return entry == ports.fields().end() ? "" : entry->second.string_value();
}

// The cores of the servers; empty if they share this process's.
cpu_set_t server_cores;

cpu_set_t CoresOfThisProcess() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

}  // namespace

void LeaveCoresToServers(int cores) {
  if (cores <= 0) return;
  cpu_set_t own = CoresOfThisProcess();
  CPU_ZERO(&server_cores);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&server_cores) < cores && CPU_COUNT(&own) > 1; ++core) {
    if (!CPU_ISSET(core, &own)) continue;
    CPU_CLR(core, &own);
    CPU_SET(core, &server_cores);
  }
  sched_setaffinity(0, sizeof own, &own);
}

int ClientThreads() {
  const cpu_set_t own = CoresOfThisProcess();
  return CPU_COUNT(&server_cores) > 0 ? CPU_COUNT(&own) : std::max(1, CPU_COUNT(&own) / 2);
}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const std::string& name, const std::string& program,
                                                                    std::vector<std::string> arguments,
                                                                    const std::string& folder,
                                                                    absl::Duration patience) {
  const std::string ports_file = absl::StrCat(folder, "/", name, ".json");
  const std::string log_file = absl::StrCat(folder, "/", name, ".log");
  std::remove(ports_file.c_str());
  arguments.insert(arguments.begin(), program);
  arguments.push_back(absl::StrCat("--ports-file=", ports_file));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = 0;
  const cpu_set_t own = CoresOfThisProcess();
  if (CPU_COUNT(&server_cores) > 0) sched_setaffinity(0, sizeof server_cores, &server_cores);  // is inherited
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  if (CPU_COUNT(&server_cores) > 0) sched_setaffinity(0, sizeof own, &own);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::UnavailableError(absl::StrCat("cannot run ", program, ": ", std::strerror(error)));

  std::unique_ptr<ServerProcess> process(new ServerProcess(pid));
  const absl::Time deadline = absl::Now() + patience;
  while (absl::Now() < deadline) {
    process->address_ = AddressIn(ports_file, "grpc");
    process->metrics_address_ = AddressIn(ports_file, "metrics");
    if (!process->address_.empty()) return process;
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      process->pid_ = 0;
      break;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  const std::string log = ReadFile(log_file);
  return absl::UnavailableError(
      absl::StrCat(program, " does not serve; its log ends: ", log.substr(log.size() > 2000 ? log.size() - 2000 : 0)));
}

double CpuSeconds(pid_t pid) {
  const std::string text = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));  // after the program's name
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  int64_t user = 0, system = 0;
  fields >> user >> system;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

ServerProcess::~ServerProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

}  // namespace corank::bench
