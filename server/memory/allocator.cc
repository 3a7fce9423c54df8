#include "server/memory/allocator.h"

#include <cstddef>
#include <thread>

#include "gperftools/malloc_extension_c.h"

// Null in programs without tcmalloc.
#pragma weak MallocExtension_GetNumericProperty
#pragma weak MallocExtension_ReleaseToSystem
#pragma weak MallocExtension_SetNumericProperty

namespace corank {
namespace {

// A quarter of tcmalloc's own limit. Calls of all sizes fill the caches within minutes, so with that limit the memory
// of an idle server would depend on its past.
constexpr size_t kThreadCacheBytes = size_t{8} << 20;
// Threads that need pages meanwhile wait 0.1 ms for each MiB. A larger range is returned as a whole.
constexpr size_t kStepBytes = size_t{1} << 20;

}  // namespace

void BoundThreadCaches() {
  if (MallocExtension_SetNumericProperty == nullptr) return;
  MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kThreadCacheBytes);
}

void GiveBackFreedPages() {
  if (MallocExtension_ReleaseToSystem == nullptr) return;
  size_t free_bytes = 0;
  MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &free_bytes);
  for (size_t done = 0; done < free_bytes; done += kStepBytes) {
    MallocExtension_ReleaseToSystem(kStepBytes);
    std::this_thread::yield();
  }
}

}  // namespace corank
