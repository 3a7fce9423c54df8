// Limits how much freed memory corankd's allocator keeps. Programs without tcmalloc, such as sanitizer builds, keep the
// behaviour of their allocator.
#ifndef CORANK_SERVER_MEMORY_ALLOCATOR_H_
#define CORANK_SERVER_MEMORY_ALLOCATOR_H_

namespace corank {

/// Limits the memory in the caches of all threads together, which an idle thread would still hold. Call it before there
/// are many threads.
void BoundThreadCaches();

/// Returns free pages to the system, one range after another, so that other threads can allocate in between.
/// Thread-safe.
void GiveBackFreedPages();

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ALLOCATOR_H_
