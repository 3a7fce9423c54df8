// The arrays of the cases of shards_bench, in host memory.
#ifndef CORANK_BENCH_SHARDS_ARRAYS_H_
#define CORANK_BENCH_SHARDS_ARRAYS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/harness/contest.h"
#include "kernels/engine/engine.h"

namespace corank::bench {

using Memory = std::unique_ptr<EngineMemory>;

/// Null stays null.
inline void* PlaceOf(const Memory& memory) { return memory == nullptr ? nullptr : memory->data(); }

/// Allocates on the engine's device, nothing for 0 bytes. An error goes to `status`.
void AllocateDevice(Engine& engine, int64_t bytes, Memory* to, absl::Status& status);

/// Makes streams of the engine's device.
absl::Status MakeStreams(Engine& engine, std::initializer_list<std::unique_ptr<EngineStream>*> made);

/// The seconds of `work` and of what it enqueued on the streams. They have finished even if it failed.
absl::StatusOr<double> SecondsOf(const std::function<absl::Status()>& work, const std::vector<EngineStream*>& streams);

void OnAllCores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& fill);

/// The numbers of devices that work on one array: 2, 4, 8 and so on, and all `most` of them.
std::vector<size_t> DeviceCounts(size_t most);

/// Rows, and what contestants made of them, all in pinned memory.
struct Data {
  int64_t count = 0;
  int64_t key_bytes = 0;
  int64_t value_bytes = 0;  // 0: no values
  Memory keys, values;
  std::vector<Memory> sorted_keys, sorted_values;  // of each contestant
};

/// Has room for the contestants of ContestOf on these engines, which outlive the data.
absl::StatusOr<std::shared_ptr<Data>> AllocateData(int64_t count, int64_t key_bytes, int64_t value_bytes,
                                                   const std::vector<Engine*>& engines);

/// The contest of the first device with several, for each of DeviceCounts. `make(index, on)`: contestant `index`, on
/// these devices.
using MakeContestant =
    std::function<std::function<absl::StatusOr<double>()>(size_t index, const std::vector<Engine*>& on)>;
/// Its check compares the answers, and its rows, one for each number of devices, have billions of rows per second.
/// `least_ratio(devices)`: the goal; 0: none.
Contest ContestOf(const std::shared_ptr<Data>& data, const Row& row, const std::function<double(size_t)>& least_ratio,
                  const std::vector<Engine*>& engines, const MakeContestant& make);

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_ARRAYS_H_
