// The memory limit of a process, from the files of the system.
#include "kernels/engine/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace corank {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr char kUnified[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    std::string name = (std::filesystem::temp_directory_path() / "corank-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~ControlGroups() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  int64_t Bytes() const { return ControlGroupMemoryBytes(root_); }

  std::string root_;
};

TEST_F(ControlGroups, NothingToReadIsNoLimit) {
  EXPECT_EQ(Bytes(), kNone);
  Write("/proc/self/cgroup", "junk\n0::/\n::\n");
  Write("/proc/self/mountinfo", "junk\n - \n1 2 3 - cgroup2\n" + std::string(kUnified));
  EXPECT_EQ(Bytes(), kNone);
  for (const char* text : {"", "max\n", "many\n", "-5\n", "99999999999999999999999\n"}) {
    Write("/sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(Bytes(), kNone) << text;
  }
}

// The view of a Kubernetes container: a namespace of its own.
TEST_F(ControlGroups, VersionTwoInANamespace) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/self/mountinfo", kUnified);
  Write("/sys/fs/cgroup/memory.max", "17179869184\n");
  EXPECT_EQ(Bytes(), 17179869184);
}

// The view of a systemd service: the slice above it may have a lower limit.
TEST_F(ControlGroups, VersionTwoTakesTheLeastOfAllAbove) {
  Write("/proc/self/cgroup", "0::/system.slice/corankd.service\n");
  Write("/proc/self/mountinfo", kUnified);
  Write("/sys/fs/cgroup/system.slice/corankd.service/memory.max", "9000\n");
  EXPECT_EQ(Bytes(), 9000);
  Write("/sys/fs/cgroup/system.slice/memory.max", "8000\n");
  EXPECT_EQ(Bytes(), 8000);
  Write("/sys/fs/cgroup/system.slice/other.service/memory.max", "1\n");
  EXPECT_EQ(Bytes(), 8000);
  Write("/sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(Bytes(), 9000);
}

// The view of a Docker container: the mount begins at its group.
TEST_F(ControlGroups, VersionOneBesideAnEmptyVersionTwo) {
  Write("/proc/self/cgroup", "9:name=systemd:/docker/abc\n4:cpu,memory:/docker/abc/inner\n3:cpuset:/\n0::/\n");
  Write("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 /docker/abc /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,cpu,memory\n"
        "33 31 0:30 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
        "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "5000\n");
  Write("/sys/fs/cgroup/cpuset/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(Bytes(), 5000);
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4000\n");
  EXPECT_EQ(Bytes(), 4000);
}

TEST_F(ControlGroups, AGroupThatIsNotBelowTheMountFallsBackToTheMount) {
  Write("/proc/self/mountinfo", "32 31 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "6000\n");
  for (const char* group : {"/elsewhere", "/", "/../../up", "/docker/abc", "/docker/abcdef"}) {
    Write("/proc/self/cgroup", "4:memory:" + std::string(group) + "\n");
    EXPECT_EQ(Bytes(), 6000) << group;
  }
}

TEST(HostMemory, IsAtMostTheMachines) {
  const int64_t whole = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  EXPECT_GT(HostMemoryBytes(), 0);
  EXPECT_LE(HostMemoryBytes(), whole);
  EXPECT_LE(HostMemoryBytes(), ControlGroupMemoryBytes());
}

}  // namespace
}  // namespace corank
