// Populating memory that is about to be written.
#include "corank/internal/populate.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corank/internal/result_buffer.h"

namespace corank::client {
namespace {

constexpr size_t kLarge = (size_t{40} << 20) + 12'345;

size_t ResidentPages(char* begin, size_t pages) {
  std::vector<unsigned char> in_memory(pages);
  EXPECT_EQ(mincore(begin, pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)), in_memory.data()), 0);
  return static_cast<size_t>(
      std::count_if(in_memory.begin(), in_memory.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(Populate, PutsPagesBehindWholePagesAndChangesNothing) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = kLarge / page + 3;
  auto* const memory = static_cast<char*>(
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  if (madvise(memory, page, 23 /* MADV_POPULATE_WRITE */) != 0) GTEST_SKIP() << "this system is older than Linux 5.14";
  memory[page + 99] = 'x';
  char* const data = memory + page + 100;  // the first and the last page are partial
  Populate(data, kLarge);
  const size_t whole = (kLarge - (page - 100)) / page;
  EXPECT_EQ(ResidentPages(memory + 2 * page, whole), whole);
  EXPECT_EQ(memory[page + 99], 'x');
  EXPECT_EQ(std::count(data, data + kLarge, 0), static_cast<ptrdiff_t>(kLarge));
  munmap(memory, pages * page);
}

TEST(Populate, LeavesLittleToTheAllocator) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPages = 100;
  auto* const memory =
      static_cast<char*>(mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  Populate(memory, kPages * page);
  EXPECT_EQ(ResidentPages(memory, kPages), 0u);
  munmap(memory, kPages * page);
}

TEST(ResizeFast, GivesAsManyElements) {
  std::vector<uint16_t> elements = {1, 2, 3};
  internal::ResizeFast(&elements, 2);
  EXPECT_EQ(elements.size(), 2u);
  internal::ResizeFast(&elements, kLarge);
  EXPECT_EQ(elements.size(), kLarge);
  EXPECT_EQ(std::count(elements.begin(), elements.end(), 0), static_cast<ptrdiff_t>(kLarge));
  std::string bytes;
  internal::ResizeFast(&bytes, kLarge);
  EXPECT_EQ(bytes, std::string(kLarge, '\0'));
}

}  // namespace
}  // namespace corank::client
