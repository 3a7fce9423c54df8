// Workspace for Thrust.
#ifndef CORANK_BENCH_KERNELS_LENDER_H_
#define CORANK_BENCH_KERNELS_LENDER_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace corank::bench {

/// Hands out the workspace of a benchmark, so that Thrust allocates nothing. Throws std::bad_alloc, as Thrust's
/// allocators do, if the workspace is too small.
class Lender {
 public:
  using value_type = char;
  Lender(void* d_workspace, size_t bytes) : d_workspace_(static_cast<char*>(d_workspace)), bytes_(bytes) {}
  char* allocate(std::ptrdiff_t bytes) {
    const size_t begin = used_;
    used_ += (static_cast<size_t>(bytes) + 255) / 256 * 256;
    if (used_ > bytes_) throw std::bad_alloc();
    return d_workspace_ + begin;
  }
  void deallocate(char*, size_t) {}
  template <typename T>
  T* Array(int64_t count) {
    return reinterpret_cast<T*>(allocate(count * static_cast<std::ptrdiff_t>(sizeof(T))));
  }

 private:
  char* const d_workspace_;
  const size_t bytes_;
  size_t used_ = 0;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_KERNELS_LENDER_H_
