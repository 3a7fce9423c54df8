#include "tests/server/counted_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "absl/strings/string_view.h"

namespace {

thread_local int64_t allocations = 0;
std::atomic<int64_t> allocated_bytes{0};
std::atomic<int64_t> payload_bytes{0};
std::atomic<int64_t> copied_bytes{0};
thread_local bool in_copy_range = false;

void Count(std::atomic<int64_t>& counter, size_t bytes) {
  counter.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace

// The linker redirects the program's calls to these functions (tests/server/CMakeLists.txt).
extern "C" {
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* memory, size_t bytes);
void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __real_memmove(void* to, const void* from, size_t bytes);

void* __wrap_malloc(size_t bytes) {
  Count(allocated_bytes, bytes);
  return __real_malloc(bytes);
}
void* __wrap_calloc(size_t count, size_t bytes) {
  Count(allocated_bytes, count * bytes);
  return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, size_t bytes) {
  Count(allocated_bytes, bytes);
  return __real_realloc(memory, bytes);
}
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (!in_copy_range) Count(copied_bytes, bytes);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  Count(copied_bytes, bytes);
  return __real_memmove(to, from, bytes);
}
}

namespace corank {

// Renames them for the linker.
using Slices = std::vector<absl::string_view>;
void RealCopyRange(const Slices& slices, int64_t offset, int64_t bytes, void* to) __asm__(
    "__real__ZN6corank9CopyRangeERKSt6vectorIN4absl7debian311string_viewESaIS3_EEllPv");
void CountedCopyRange(const Slices& slices, int64_t offset, int64_t bytes, void* to) __asm__(
    "__wrap__ZN6corank9CopyRangeERKSt6vectorIN4absl7debian311string_viewESaIS3_EEllPv");

void CountedCopyRange(const Slices& slices, int64_t offset, int64_t bytes, void* to) {
  Count(payload_bytes, static_cast<size_t>(bytes));
  in_copy_range = true;
  RealCopyRange(slices, offset, bytes, to);
  in_copy_range = false;
}

}  // namespace corank

namespace corank::testing {

int64_t ThreadAllocations() { return allocations; }

Traffic ProcessTraffic() { return {allocated_bytes.load(), payload_bytes.load(), copied_bytes.load()}; }

}  // namespace corank::testing

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
