// Host memory as a source of an Arena.
#ifndef CORANK_KERNELS_CPU_ENGINE_HOST_MEMORY_H_
#define CORANK_KERNELS_CPU_ENGINE_HOST_MEMORY_H_

#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace corank::cpu {

class HostMemory {
 public:
  /// Memory of at least this many bytes lies on huge pages if the system has them.
  static constexpr int64_t kHugeBytes = int64_t{4} << 20;

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, bytes < kHugeBytes ? kAlignment : kHugePage, static_cast<size_t>(bytes)) != 0) {
      return absl::ResourceExhaustedError(absl::StrCat("the host has no ", bytes, " bytes of memory left"));
    }
    // First touches of single 4 KiB pages cost streams more time than the copies. Advise whole huge pages only: the
    // rest of the last one belongs to other allocations. Without huge pages the call has no effect.
    if (bytes >= kHugeBytes) madvise(memory, static_cast<size_t>(bytes) / kHugePage * kHugePage, MADV_HUGEPAGE);
    return memory;
  }
  void Free(void* memory) {
    // The allocator may keep freed memory with its pages, perhaps most of the host's memory. Return the pages first.
    const size_t bytes = memory == nullptr ? 0 : malloc_usable_size(memory);
    if (bytes >= static_cast<size_t>(kHugeBytes)) madvise(memory, bytes / kHugePage * kHugePage, MADV_DONTNEED);
    std::free(memory);
  }

 private:
  static constexpr size_t kAlignment = 256, kHugePage = size_t{2} << 20;
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_ENGINE_HOST_MEMORY_H_
