#include "kernels/engine/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace corank {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// "max" and text that is not a number mean no limit.
int64_t LimitIn(const std::string& path) {
  int64_t bytes = 0;
  const std::vector<std::string> lines = LinesOf(path);
  return !lines.empty() && absl::SimpleAtoi(lines.front(), &bytes) && bytes > 0 ? bytes : kNoLimit;
}

bool Lists(absl::string_view names, absl::string_view name) {
  const std::vector<absl::string_view> list = absl::StrSplit(names, ',');
  return std::find(list.begin(), list.end(), name) != list.end();
}

// A mount of the control group hierarchy.
struct Mount {
  std::string folder;
  std::string group;  // the one that lies at `folder`
};

// man 5 proc_pid_mountinfo: ID PARENT DEVICE ROOT FOLDER OPTIONS [TAG...] - TYPE SOURCE OPTIONS
std::vector<Mount> MountsOf(const std::string& root, bool version_2) {
  std::vector<Mount> mounts;
  for (const std::string& line : LinesOf(absl::StrCat(root, "/proc/self/mountinfo"))) {
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> place = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> what = absl::StrSplit(halves[1], ' ');
    if (place.size() < 5 || what.size() < 3) continue;
    if (version_2 ? what[0] == "cgroup2" : what[0] == "cgroup" && Lists(what[2], "memory")) {
      mounts.push_back({place[4], place[3]});
    }
  }
  return mounts;
}

// The least limit of the group and of its ancestors up to the mount.
int64_t LeastLimit(const std::string& root, const Mount& mount, absl::string_view group, absl::string_view file) {
  // A process in a namespace of its own, or one that was moved later, sees a path outside the mount. The group at the
  // mount is then the closest one that it can read.
  if (mount.group != "/" && !absl::ConsumePrefix(&group, mount.group)) group = "";
  if (!absl::StartsWith(group, "/") || absl::StrContains(group, "/..")) group = "";
  int64_t least = kNoLimit;
  for (;;) {
    group = absl::StripSuffix(group, "/");
    least = std::min(least, LimitIn(absl::StrCat(root, mount.folder, group, "/", file)));
    if (group.empty()) return least;
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace

int64_t ControlGroupMemoryBytes(const std::string& root) {
  int64_t least = kNoLimit;
  // man 7 cgroups: ID:CONTROLLERS:PATH; version 2 has no controllers.
  for (const std::string& line : LinesOf(absl::StrCat(root, "/proc/self/cgroup"))) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool version_2 = parts[1].empty();
    if (!version_2 && !Lists(parts[1], "memory")) continue;
    for (const Mount& mount : MountsOf(root, version_2)) {
      least = std::min(least, LeastLimit(root, mount, parts[2], version_2 ? "memory.max" : "memory.limit_in_bytes"));
    }
  }
  return least;
}

int64_t HostMemoryBytes() {
  const int64_t whole = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return std::min(whole, ControlGroupMemoryBytes());
}

}  // namespace corank
