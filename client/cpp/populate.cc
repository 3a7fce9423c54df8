#include "client/cpp/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace corank::client {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/// From here on glibc's allocator asks the system each time.
constexpr size_t kLeast = size_t{32} << 20;
constexpr size_t kThreads = 4;
constexpr uintptr_t kLargePage = uintptr_t{2} << 20;

}  // namespace

void Populate(void* data, size_t bytes) {
  if (bytes < kLeast) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  const uintptr_t share = ((end - begin) / kThreads + kLargePage) / kLargePage * kLargePage;
  const auto work = [=](uintptr_t from) {
    const uintptr_t to = std::min(end, from + share);
    if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_WRITE);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < kThreads; ++i) threads.emplace_back(work, begin + i * share);
  work(begin);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace corank::client
