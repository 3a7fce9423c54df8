// Streams of a lane that take turns, so that copies and kernels of different streams overlap.
#ifndef CORANK_SERVER_RUN_ENGINE_STREAM_RING_H_
#define CORANK_SERVER_RUN_ENGINE_STREAM_RING_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/operators.pb.h"
#include "server/base/status_macros.h"
#include "server/run/operation.h"

namespace corank {

/// Used by one thread at a time. Nothing is in progress on the streams after destruction.
class EngineStreamRing {
 public:
  /// Which times count in the statistics. kKernels: other streams do the copies.
  enum class Counted : uint8_t { kAll, kKernels };

  /// The lane's extra streams from `first` on, `count` of them.
  EngineStreamRing(Lane& lane, int count, v1::RequestStats* stats, int first = 0, Counted counted = Counted::kAll)
      : lane_(lane), first_(first), slots_(static_cast<size_t>(count)), stats_(stats), counted_(counted) {}
  /// The lane's streams on a device (Lane::StreamOn) from `first` on, `count` of them.
  EngineStreamRing(Lane& lane, int device, int first, int count, v1::RequestStats* stats)
      : EngineStreamRing(lane, count, stats, first) {
    device_ = device;
  }
  ~EngineStreamRing() {
    for (Slot& slot : slots_) {
      // The destructor may ignore an error: it was returned before, or the next use of the stream returns it.
      if (slot.busy) static_cast<void>(slot.stream->Finish().ok());
    }
  }
  EngineStreamRing(const EngineStreamRing&) = delete;
  EngineStreamRing& operator=(const EngineStreamRing&) = delete;

  /// Gets the first `count` streams from the lane, so that Next does not, and may run beside other users of the lane.
  absl::Status Make(size_t count) {
    for (size_t i = 0; i < count; ++i) CORANK_RETURN_IF_ERROR(Make(slots_[i]));
    return absl::OkStatus();
  }
  /// The next stream, begun. Its previous work has finished.
  absl::StatusOr<EngineStream*> Next() {
    Slot& slot = slots_[static_cast<size_t>(turn_ % static_cast<int64_t>(slots_.size()))];
    CORANK_RETURN_IF_ERROR(Finish(slot));
    CORANK_RETURN_IF_ERROR(Make(slot));
    CORANK_RETURN_IF_ERROR(slot.stream->Begin());
    slot.busy = true;
    ++turn_;
    return slot.stream;
  }
  /// Sets the action for when the stream of the last Next has finished. Called in the order of the turns.
  void WhenDone(std::function<void()> done) {
    slots_[static_cast<size_t>((turn_ - 1) % static_cast<int64_t>(slots_.size()))].done = std::move(done);
  }
  /// Waits for all.
  absl::Status FinishAll() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      CORANK_RETURN_IF_ERROR(Finish(slots_[(static_cast<size_t>(turn_) + i) % slots_.size()]));
    }
    return absl::OkStatus();
  }

 private:
  struct Slot {
    EngineStream* stream = nullptr;
    bool busy = false;
    std::function<void()> done;
  };

  absl::Status Make(Slot& slot) {
    if (slot.stream != nullptr) return absl::OkStatus();
    const int number = first_ + static_cast<int>(&slot - slots_.data());
    CORANK_ASSIGN_OR_RETURN(slot.stream, device_ ? lane_.StreamOn(*device_, number) : lane_.ExtraStream(number));
    return absl::OkStatus();
  }
  absl::Status Finish(Slot& slot) {
    if (!slot.busy) return absl::OkStatus();
    slot.busy = false;
    const std::function<void()> done = std::exchange(slot.done, nullptr);
    CORANK_ASSIGN_OR_RETURN(PhaseTimes times, slot.stream->Finish());
    if (counted_ == Counted::kKernels) times.copy_in_ns = times.copy_out_ns = 0;
    AddTimes(times, slot.stream->workspace_bytes(), stats_);
    if (done != nullptr) done();
    return absl::OkStatus();
  }

  Lane& lane_;
  std::optional<int> device_;  // null: the lane's extra streams
  const int first_;
  std::vector<Slot> slots_;
  v1::RequestStats* const stats_;
  const Counted counted_;
  int64_t turn_ = 0;
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_ENGINE_STREAM_RING_H_
