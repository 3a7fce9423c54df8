// Memory of one streamed job outside its windows.
#ifndef CORANK_SERVER_RUN_JOB_MEMORY_H_
#define CORANK_SERVER_RUN_JOB_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/engine/budget.h"
#include "kernels/engine/engine.h"
#include "server/memory/device_set.h"
#include "server/memory/run_buffers.h"

namespace corank {

/// Device memory that arrays which may spill leave to counts, offsets, results and workspace. 0 if the host offers them
/// less than the device.
constexpr int64_t LeftBySpilling(int64_t max_device_bytes, int64_t max_host_bytes) {
  return max_host_bytes < max_device_bytes ? 0 : max_device_bytes / 2;
}

/// A piece of a job's memory; 256-byte aligned.
class StreamBlock {
 public:
  StreamBlock(std::shared_ptr<void> memory, int64_t size_bytes, Budget::Reservation of_job, Budget::Reservation of_all)
      : of_job_(std::move(of_job)), of_all_(std::move(of_all)), memory_(std::move(memory)), size_bytes_(size_bytes) {}
  char* data() const { return static_cast<char*>(memory_.get()); }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  Budget::Reservation of_job_, of_all_;
  const std::shared_ptr<void> memory_;
  const int64_t size_bytes_;
};

/// Allocates memory within the budgets of one request: device memory from its engine; host memory from blocks that
/// other requests freed, or from the engine. Used by one thread at a time; blocks may outlive it.
class JobMemory {
 public:
  /// `all`: counts the memory of all jobs. Both may be null if nothing is allocated. `devices`: for AllocateDeviceOn.
  JobMemory(int64_t max_device_bytes, int64_t max_host_bytes, std::shared_ptr<Budget> all, RunBuffers* buffers,
            const DeviceSet* devices = nullptr)
      : device_(Budget::Create(max_device_bytes)),
        host_(Budget::Create(max_host_bytes)),
        all_(std::move(all)),
        buffers_(buffers),
        devices_(devices) {}

  /// The engine of the lane that runs the request, and its device. Set it before the first allocation. It outlives all
  /// blocks.
  void SetEngine(Engine* engine, int device = 0) {
    engine_ = engine;
    device_of_engine_ = device;
  }

  int64_t max_device_bytes() const { return device_->limit(); }
  int64_t max_host_bytes() const { return host_->limit(); }
  int64_t device_bytes_left_by_spilling() const { return LeftBySpilling(max_device_bytes(), max_host_bytes()); }
  /// Rows of `row_bytes` bytes that a sort or merge keeps in device memory at once. The other half is for pieces in
  /// progress, their workspace and tiles. Larger work runs out of core.
  int64_t MostRowsInCore(int64_t row_bytes) const { return max_device_bytes() / 2 / row_bytes; }
  /// Bytes that the request may still take.
  int64_t free_device_bytes() const { return device_->limit() - device_->used(); }
  /// Bytes that it has taken of the device where that is most.
  int64_t most_device_bytes() const;
  int64_t free_host_bytes() const { return host_->limit() - host_->used(); }

  /// 1 byte or more. INVALID_ARGUMENT names `field` and the limit: more than a request may take. RESOURCE_EXHAUSTED:
  /// the engine has no more.
  absl::StatusOr<std::shared_ptr<StreamBlock>> AllocateDevice(int64_t bytes, absl::string_view field);
  /// The same on a device of the server. On each, the request may take as much.
  absl::StatusOr<std::shared_ptr<StreamBlock>> AllocateDeviceOn(int device, int64_t bytes, absl::string_view field);
  /// Pinned; kernels read and write it in place.
  absl::StatusOr<std::shared_ptr<StreamBlock>> AllocateHost(int64_t bytes, absl::string_view field);

 private:
  absl::StatusOr<std::shared_ptr<StreamBlock>> Allocate(Engine& engine, Budget& device, int64_t bytes,
                                                        absl::string_view field) const;

  Engine* engine_ = nullptr;
  int device_of_engine_ = 0;
  const std::shared_ptr<Budget> device_, host_, all_;
  RunBuffers* const buffers_;
  const DeviceSet* const devices_;
  std::map<int, std::shared_ptr<Budget>> elsewhere_;  // of other devices than the engine's
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_JOB_MEMORY_H_
