// Host memory as a source of an Arena.
#ifndef CORANK_KERNELS_CPU_HOST_MEMORY_H_
#define CORANK_KERNELS_CPU_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace corank::cpu {

class HostMemory {
 public:
  absl::StatusOr<void*> Allocate(int64_t bytes) {
    void* memory = ::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow);
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("the host has no ", bytes, " bytes of memory left"));
    }
    return memory;
  }
  void Free(void* memory) { ::operator delete(memory, kAlignment); }

 private:
  static constexpr std::align_val_t kAlignment{256};
};

}  // namespace corank::cpu

#endif  // CORANK_KERNELS_CPU_HOST_MEMORY_H_
