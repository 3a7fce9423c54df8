#include "corank/internal/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "client/cpp/parallel.h"

namespace corank::client {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/// From this size on, glibc's allocator gets fresh memory from the system each time.
constexpr size_t kLeast = size_t{32} << 20;
constexpr int kThreads = 4;
constexpr uintptr_t kLargePage = uintptr_t{2} << 20;

}  // namespace

void Populate(void* data, size_t bytes) {
  if (bytes < kLeast) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  const uintptr_t share = ((end - begin) / kThreads + kLargePage) / kLargePage * kLargePage;
  std::atomic<uintptr_t> next{begin};
  InParallel(kThreads, [&] {
    for (uintptr_t from; (from = next.fetch_add(share)) < end;) {
      madvise(reinterpret_cast<void*>(from), std::min(share, end - from), MADV_POPULATE_WRITE);
    }
  });
}

}  // namespace corank::client
