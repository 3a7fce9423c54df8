// The devices of a server, for code that places work and memory.
#ifndef CORANK_SERVER_MEMORY_DEVICE_SET_H_
#define CORANK_SERVER_MEMORY_DEVICE_SET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/engine/engine.h"
#include "server/memory/copier.h"
#include "server/memory/topology.h"

namespace corank {

/// Devices are numbered from 0. A set of them is a mask, in which bit i is device i. Thread-safe.
class DeviceSet {
 public:
  static constexpr int kMaxDevices = 64;

  /// 1 to kMaxDevices engines, which outlive the set.
  explicit DeviceSet(std::vector<Engine*> engines);

  /// Call it before the first use of a copier.
  absl::Status MakeCopiers();

  int size() const { return static_cast<int>(engines_.size()); }
  Engine& engine(int device) const { return *engines_[static_cast<size_t>(device)]; }
  Copier& copier(int device) const { return *copiers_[static_cast<size_t>(device)]; }

  /// An engine for host memory, which all devices share: the first one that is not lost.
  Engine& host() const;

  static constexpr uint64_t Only(int device) { return uint64_t{1} << device; }
  static int Count(uint64_t devices) { return __builtin_popcountll(devices); }
  /// In order.
  static std::vector<int> List(uint64_t devices);
  uint64_t all() const { return all_; }
  /// Devices that are not lost.
  uint64_t live() const { return live_.load(std::memory_order_acquire); }
  bool is_live(int device) const { return (live() & Only(device)) != 0; }
  /// Live devices that work, as far as is known.
  uint64_t good() const { return live() & ~bad_.load(std::memory_order_acquire); }

  /// Marks a device as lost, permanently.
  void Lose(int device) { live_.fetch_and(~Only(device), std::memory_order_acq_rel); }
  void SetGood(int device, bool good);

  const Topology& topology() const { return topology_; }
  /// Topology::links. Before other threads use the set.
  void SetLinks(std::vector<std::vector<DeviceLink>> links) { topology_.links = std::move(links); }

  /// Whether a device should take work that `devices` may do. A device that does not work well leaves it to others.
  bool ShouldRun(int device, uint64_t devices) const;

 private:
  const std::vector<Engine*> engines_;
  const uint64_t all_;
  Topology topology_;
  std::atomic<uint64_t> live_;
  std::atomic<uint64_t> bad_{0};
  std::vector<std::unique_ptr<Copier>> copiers_;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_DEVICE_SET_H_
