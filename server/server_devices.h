// The devices of one server, with their watched engines and canaries.
#ifndef CORANK_SERVER_SERVER_DEVICES_H_
#define CORANK_SERVER_SERVER_DEVICES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/memory/device_set.h"
#include "server/observe/log.h"
#include "server/observe/nvml.h"
#include "server/run/canary.h"
#include "server/run/device_watch.h"
#include "server/run/engine_choice.h"

namespace corank {

/// Thread-safe, except for startup and shutdown.
class ServerDevices {
 public:
  struct Listener {
    /// A device was lost. Called once for each, on the thread that detects it. Must not block.
    std::function<void(int device)> on_lost;
    /// A device failed or recovered. Likewise.
    std::function<void()> on_change;
  };

  /// 1 to DeviceSet::kMaxDevices engines. The logger outlives this object.
  ServerDevices(std::vector<ChosenEngine> engines, const Logger* logger, Listener listener);

  /// Each canary sorts once. Returns the first error.
  absl::Status MakeCanaries(const Canary::Options& options);
  void StartCanaries();
  /// The listener gets no more reports of canaries after this.
  void StopCanaries();
  absl::Status MakeCopiers() { return set_->MakeCopiers(); }

  /// Reads how GPUs are connected, before other threads use the set, and logs it. Null: only the driver's answers
  /// count.
  void ReadLinks(const Nvml* nvml);

  const DeviceSet& set() const { return *set_; }
  int size() const { return set_->size(); }
  Engine& engine(int device) const { return set_->engine(device); }
  const DeviceWatch& watch(int device) const { return *devices_[static_cast<size_t>(device)]->watch; }
  int ordinal(int device) const { return watch(device).ordinal(); }
  const std::string& reason() const { return reason_; }
  bool all_lost() const { return set_->live() == 0; }
  bool is_good(int device) const { return (set_->good() & DeviceSet::Only(device)) != 0; }
  /// The device's service in grpc.health.v1.
  std::string HealthService(int device) const;

 private:
  struct Device {
    std::unique_ptr<DeviceWatch> watch;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Canary> canary;
  };

  const Logger* const logger_;
  const Listener listener_;
  const std::string reason_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::optional<DeviceSet> set_;
};

}  // namespace corank

#endif  // CORANK_SERVER_SERVER_DEVICES_H_
