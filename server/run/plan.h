// How a request is carried out. It is decided once, before admission (plan/planner.h).
#ifndef CORANK_SERVER_RUN_PLAN_H_
#define CORANK_SERVER_RUN_PLAN_H_

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "server/run/operation.h"

namespace corank {

enum class Strategy : uint8_t {
  kHost,          // at once, on the CPU and the thread that submits it
  kBatched,       // on a lane, with others of its operator that wait
  kDevice,        // on a lane, alone
  kSharded,       // on a lane, with other devices beside its own
  kExternalSort,  // on a lane, piece by piece
  kExternalMerge,
  kCollected,  // on a lane, once all streamed arrays have come
};

/// Upper bounds of the memory that a request takes at a time, beside its earlier reservations.
struct MemoryNeed {
  absl::InlinedVector<int64_t, 1> device_bytes;  // by device, from its engine; empty: no more than each lane has
  int64_t host_bytes = 0;                        // pinned
};

struct Plan {
  std::unique_ptr<Operation> operation;
  Strategy strategy = Strategy::kDevice;
  MemoryNeed need;
  uint64_t devices = ~uint64_t{0};  // bit i: device i may run it
  uint64_t shard_devices = 0;       // the devices that work together; 0: only the one that runs it
  int64_t work_bytes = 0;           // of its arrays, wherever they are, or of the message if that is more

  /// The devices that work if `device` runs it.
  uint64_t DevicesFrom(int device) const { return shard_devices != 0 ? shard_devices : uint64_t{1} << device; }
  bool is_small() const { return strategy == Strategy::kHost || strategy == Strategy::kBatched; }
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_PLAN_H_
