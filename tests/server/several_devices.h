// Devices that tests hold, lose and inspect, and a server on them.
#ifndef CORANK_TESTS_SERVER_SEVERAL_DEVICES_H_
#define CORANK_TESTS_SERVER_SEVERAL_DEVICES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/forwarding_engine.h"
#include "server/run/engine_choice.h"
#include "tests/server/reach_engine.h"
#include "tests/server/running_server.h"

namespace corank::testing {

/// The test's control of a device. Thread-safe.
class DeviceSwitch {
 public:
  /// From now on sorts and merges wait until Release.
  void Hold() { SetHold(true); }
  void Release() { SetHold(false); }
  /// From now on every request fails, as on a GPU that is gone.
  void Lose() { lost_ = true; }

  int held() const {
    absl::MutexLock lock(&mutex_);
    return held_;
  }
  /// Copies between places of device memory so far.
  int copies() const { return copies_; }

  void CountCopy() { ++copies_; }
  absl::Status Check() const { return lost_ ? absl::UnavailableError("off the bus") : absl::OkStatus(); }
  void PassThrough() {
    absl::MutexLock lock(&mutex_);
    ++held_;
    const auto released = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !hold_; };
    mutex_.Await(absl::Condition(&released));
    --held_;
  }

 private:
  void SetHold(bool hold) {
    absl::MutexLock lock(&mutex_);
    hold_ = hold;
  }

  std::atomic<bool> lost_{false};
  std::atomic<int> copies_{0};
  mutable absl::Mutex mutex_;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

class SwitchedStream final : public ForwardingStream {
 public:
  SwitchedStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<DeviceSwitch> device)
      : ForwardingStream(std::move(stream)), device_(std::move(device)) {}

  absl::Status Begin(Pace pace) override {
    const absl::Status status = device_->Check();
    return status.ok() ? ForwardingStream::Begin(pace) : status;
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    device_->CountCopy();
    return ForwardingStream::Copy(d_to, d_from, bytes);
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    device_->PassThrough();
    return ForwardingStream::Sort(args, report);
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    device_->PassThrough();
    return ForwardingStream::SortColumns(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    device_->PassThrough();
    return ForwardingStream::Merge(args, report);
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    device_->PassThrough();
    return ForwardingStream::Expand(args, report);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    if (absl::Status status = device_->Check(); !status.ok()) return status;
    return ForwardingStream::Finish();
  }

 private:
  const std::shared_ptr<DeviceSwitch> device_;
};

class SwitchedEngine final : public ForwardingEngine {
 public:
  SwitchedEngine(std::unique_ptr<Engine> engine, std::shared_ptr<DeviceSwitch> device)
      : ForwardingEngine(std::move(engine)), device_(std::move(device)) {}

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    auto stream = ForwardingEngine::CreateStream();
    if (!stream.ok()) return stream;
    return std::make_unique<SwitchedStream>(*std::move(stream), device_);
  }

 private:
  const std::shared_ptr<DeviceSwitch> device_;
};

/// Device `ordinal`, whose kernels reach no memory of other devices.
class LoneEngine final : public ForwardingEngine {
 public:
  LoneEngine(std::unique_ptr<Engine> engine, int ordinal)
      : ForwardingEngine(std::move(engine)), info_(ForwardingEngine::info()) {
    info_.ordinal = ordinal;
    info_.linked = uint64_t{1} << ordinal;
  }
  const EngineInfo& info() const override { return info_; }

 private:
  EngineInfo info_;
};

/// CPU engines, `count` of them, that tests control by `devices`. Without links, operators fail where they read or
/// write memory of another device.
inline std::vector<ChosenEngine> SwitchedEngines(int count, std::vector<std::shared_ptr<DeviceSwitch>>* devices,
                                                 bool are_linked = true) {
  std::vector<ChosenEngine> engines;
  for (int i = 0; i < count; ++i) {
    devices->push_back(std::make_shared<DeviceSwitch>());
    ChosenEngine& engine = engines.emplace_back(are_linked ? CpuEngine() : ReachEngine());
    if (!are_linked) engine.engine = std::make_unique<LoneEngine>(std::move(engine.engine), i);
    engine.engine = std::make_unique<SwitchedEngine>(std::move(engine.engine), devices->back());
  }
  return engines;
}

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SEVERAL_DEVICES_H_
