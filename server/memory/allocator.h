// What corankd's allocator keeps of freed memory. Programs without tcmalloc, such as builds for sanitizers, keep what
// theirs does.
#ifndef CORANK_SERVER_MEMORY_ALLOCATOR_H_
#define CORANK_SERVER_MEMORY_ALLOCATOR_H_

namespace corank {

/// Bounds what all threads together keep at hand, and would still hold when there is nothing to do. To be called before
/// there are many.
void BoundThreadCaches();

/// Gives the system the pages that are free, one stretch of them after the other, so that others get memory in between.
/// Thread-safe.
void GiveBackFreedPages();

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_ALLOCATOR_H_
