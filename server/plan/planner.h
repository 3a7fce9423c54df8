// Decides how a request is carried out, once, before admission.
#ifndef CORANK_SERVER_PLAN_PLANNER_H_
#define CORANK_SERVER_PLAN_PLANNER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/engine/budget.h"
#include "server/memory/device_set.h"
#include "server/memory/run_buffers.h"
#include "server/run/operation.h"
#include "server/run/plan.h"
#include "server/run/stream_options.h"

namespace corank {

struct PlannerOptions {
  /// Requests whose arrays and results are all inline and have at most this many bytes, or twice as many if the work is
  /// light, run on the host. 0: none does.
  int64_t host_bytes = 0;
  /// Requests with arrays of at most this many bytes form batches.
  int64_t small_bytes = int64_t{64} << 10;
  /// Requests with more bytes than this outside the message are long work.
  int64_t long_bytes = int64_t{32} << 20;
  /// Whether long work in shared memory runs piece by piece if it can.
  bool in_pieces = false;
  /// Most pinned memory of work that runs piece by piece, or that several devices share.
  int64_t max_host_bytes = 0;
  /// Most devices that share one request; 0: all, 1: none does.
  int most_shards = 0;
  /// Least bytes of arrays and results for each device of a shared request, times Sharing::cost.
  int64_t shard_bytes = int64_t{32} << 20;
  /// Most device memory that a request takes on each device if several share it.
  int64_t max_device_bytes = 0;
};

/// The facts that decide.
struct Workload {
  int64_t work_bytes = 0;    // of arrays and results, wherever they are, or of the message if that is more
  int64_t placed_bytes = 0;  // of arrays and results outside the message
  bool is_inline = false;    // all of them are in the message
  bool is_light = false;     // Operation::is_light
  bool is_streamed = false;  // some of them are streamed
  /// Set if it can run piece by piece: this strategy, with this much pinned memory.
  std::optional<Strategy> external;
  int64_t external_host_bytes = 0;
  /// For streams: without that much pinned memory, it may still fit on the device as a whole.
  bool may_fit_whole = false;
};

/// Where the bytes of a request are.
struct Extent {
  int64_t message_bytes = 0;
  int64_t placed_bytes = 0;  // of arrays and results outside the message
  bool is_inline = false;    // all of them are in the message
};

inline bool IsLong(const Workload& work, const PlannerOptions& options) {
  return work.is_streamed || work.placed_bytes > options.long_bytes;
}

/// The devices, of the `idle` ones, that share a request whose work they can share: two or more, or 0 for one device.
/// Only idle ones do, because several requests at a time are done sooner with a device for each. Of more arrays than 64
/// each device takes more bytes, because it copies a part of every array and short copies cost more than they bring;
/// and Sharing::cost times as many. They reach each other's memory unless they need not. Where no two of the idle ones
/// do, Exchange::kCopies pass through the host, between devices with a bus each. Pure.
uint64_t ChooseShards(int64_t work_bytes, const Sharing& sharing, uint64_t idle, const Topology& topology,
                      const PlannerOptions& options);

/// Pure.
Strategy ChooseStrategy(const Workload& work, const PlannerOptions& options);

/// What a server plans its requests with.
struct PlannerMeans {
  const PlannerOptions& options;
  const StreamOptions& streams;
  const DeviceSet& devices;
  RunBuffers* buffers;                        // of work in pieces
  const std::shared_ptr<Budget>& job_memory;  // counts what work in pieces allocates
};

/// The plan of a request whose arrays are all there. `idle`: the devices without work. `shards`: the devices of its
/// sharded arrays; 0: none is sharded. They share the request whatever they do, unless its operator does not allow it:
/// then one of them brings the parts together.
Plan PlanRequest(std::unique_ptr<Operation> operation, const Extent& extent, const PlannerMeans& means, uint64_t idle,
                 uint64_t shards);

/// What an operation takes on each device. Small work takes no more than every lane has.
MemoryNeed NeedOf(const Operation& operation, Strategy strategy, const DeviceSet& devices);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_PLANNER_H_
