#include <string>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "server/config/groups.h"

ABSL_FLAG(std::string, config, "",
          "File with settings, one `name = value` per line; # starts a comment. The file itself cannot set this. "
          "Empty: no file.");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30),
          "Time that admitted requests have to end after SIGTERM or SIGINT, such as 30s or 2m, 0s to 24h.");
ABSL_FLAG(std::string, ports_file, "", "File to write once the server is ready: JSON with its addresses. Empty: none.");

namespace corank {
namespace {

absl::Status ReadProcess(Configuration& configuration) {
  configuration.ports_file = absl::GetFlag(FLAGS_ports_file);
  return Take(FLAGS_drain_timeout, configuration.drain_timeout, absl::ZeroDuration());
}

}  // namespace

Group ProcessGroup() {
  return {"process",
          "Startup and shutdown",
          {Hidden(FLAGS_config), Shown(FLAGS_drain_timeout), Hidden(FLAGS_ports_file)},
          ReadProcess};
}

}  // namespace corank
