// Remains of killed clients in /dev/shm, and files that must not be mistaken for them.
#include "client/cpp/leftovers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "corank/shared_memory.h"

namespace corank::client {
namespace {

constexpr char kPrefix[] = "/corank-";

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() { std::filesystem::create_directory(folder_); }
  ~LeftoversTest() override { std::filesystem::remove_all(folder_); }

  std::string Make(const std::string& name, int age_seconds) {
    const std::string path = folder_ + name;
    std::ofstream(path) << "bytes";
    const timespec then = {time(nullptr) - age_seconds, 0}, times[2] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }

  const std::string folder_ = ::testing::TempDir() + "leftovers-" + std::to_string(getpid());
};

TEST_F(LeftoversTest, OldObjectsThatNobodyHoldsGo) {
  const std::string left = Make("/corank-1-0123456789abcdef", 3600), young = Make("/corank-2-0123456789abcdef", 5);
  RemoveLeftovers(kPrefix, folder_);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(young));
}

TEST_F(LeftoversTest, HeldObjectsStayUntilNobodyHasThemMapped) {
  const std::string held = Make("/corank-3-0123456789abcdef", 3600);
  const int fd = open(held.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  HoldObject(fd);
  void* const mapping = mmap(nullptr, 5, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  close(fd);
  RemoveLeftovers(kPrefix, folder_);
  EXPECT_TRUE(std::filesystem::exists(held));
  munmap(mapping, 5);
  RemoveLeftovers(kPrefix, folder_);
  EXPECT_FALSE(std::filesystem::exists(held));
}

TEST_F(LeftoversTest, ObjectsOfOthersStay) {
  for (const char* name :
       {"/corank-mine", "/corank-4-0123456789abcde", "/corank--0123456789abcdef", "/corank-4x-0123456789abcdef",
        "/corank-4-0123456789abcdeF", "/corank-4-0123456789abcdef-1", "/other-4-0123456789abcdef"}) {
    const std::string path = Make(name, 3600);
    RemoveLeftovers(kPrefix, folder_);
    EXPECT_TRUE(std::filesystem::exists(path)) << name;
  }
}

TEST_F(LeftoversTest, ObjectsOfThisProcessHaveSuchNamesAndAreHeld) {
  const std::string like_client = Make(ObjectName(kPrefix), 3600);
  RemoveLeftovers(kPrefix, folder_);
  EXPECT_FALSE(std::filesystem::exists(like_client)) << "or real ones would stay";
  const auto memory = SharedMemory::Create(4096, kPrefix);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_TRUE(absl::StartsWith(memory->key(), kPrefix));
  const int other = shm_open(memory->key().c_str(), O_RDWR | O_CLOEXEC, 0);
  ASSERT_GE(other, 0);
  EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0);
  close(other);
}

}  // namespace
}  // namespace corank::client
