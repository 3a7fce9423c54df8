// Keeps the process alive when memory that it shares with a caller disappears during an access.
#ifndef CORANK_SERVER_MEMORY_FAULT_GUARD_H_
#define CORANK_SERVER_MEMORY_FAULT_GUARD_H_

#include <cstddef>

namespace corank {

/// Guards a mapping of a file that others can shrink. An access beyond the file's end would kill the process with
/// SIGBUS; with a guard it finds a page of zeros, and `broken` is true from then on. The first guard installs the
/// handler of SIGBUS, which passes all other SIGBUS signals to the previous handler. Thread-safe. Other threads may use
/// the mapping while a guard exists.
class FaultGuard {
 public:
  /// Guards [begin, begin + bytes), which must be whole pages.
  FaultGuard(void* begin, size_t bytes);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  /// False: all 4096 places for guarded mappings are taken, so this one is not guarded.
  bool active() const { return place_ >= 0; }
  bool broken() const;

 private:
  int place_ = -1;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_FAULT_GUARD_H_
