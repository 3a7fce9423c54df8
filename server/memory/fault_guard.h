// Keeps the process alive when memory that it shares with a caller goes away while it is read or written.
#ifndef CORANK_SERVER_MEMORY_FAULT_GUARD_H_
#define CORANK_SERVER_MEMORY_FAULT_GUARD_H_

#include <atomic>
#include <cstddef>

namespace corank {

/// Guards a mapping of a file that others can make smaller: an access beyond the file's end, which would kill the
/// process with SIGBUS, then finds a page of zeros, and `broken` says so from then on. The handler of SIGBUS is
/// installed by the first guard; a SIGBUS anywhere else goes to the handler before it. Thread-safe. Bodies of other
/// threads may use the mapping while a guard exists.
class FaultGuard {
 public:
  /// Guards [begin, begin + bytes), whole pages.
  FaultGuard(void* begin, size_t bytes);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  /// False: more mappings are guarded than there are places (4096); this one is not.
  bool active() const { return place_ >= 0; }
  bool broken() const;

 private:
  int place_ = -1;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_FAULT_GUARD_H_
