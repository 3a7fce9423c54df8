// How the devices of a server are connected.
#ifndef CORANK_SERVER_MEMORY_TOPOLOGY_H_
#define CORANK_SERVER_MEMORY_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "server/observe/device_link.h"

namespace corank {

/// A set of devices is a mask, in which bit i is device i, as in DeviceSet. All functions are pure.
struct Topology {
  Topology() = default;
  /// NOLINTNEXTLINE(google-explicit-constructor): this is all that most hosts and tests say.
  Topology(std::vector<uint64_t> reach) : reach(std::move(reach)) {}

  /// By device: those whose memory and its own each can reach.
  std::vector<uint64_t> reach;
  /// By device, its links to each other one. Empty: unknown.
  std::vector<std::vector<DeviceLink>> links;
  /// By device. Empty, or -1: unknown.
  std::vector<int> numa_nodes;

  /// Whether each of `devices` reaches the memory of the others.
  bool AreLinked(uint64_t devices) const;
  /// `devices`, but of those that share a bus to the host only the first.
  uint64_t OnOwnBuses(uint64_t devices) const;
  /// Up to `most` of `devices` to take together; if `are_linked`, all reach each other's memory. The largest set that
  /// can be had by adding the best device to one of them, again and again. Of several as large, the one with the best
  /// connections, and of those the first. Connections are better with more NVLinks between the pair that has fewest,
  /// then where fewer pairs share a bus to the host, and then where more pairs are on one NUMA node.
  uint64_t Choose(uint64_t devices, int64_t most, bool are_linked = true) const;

 private:
  struct Score;
  Score ScoreOf(size_t one, size_t other) const;
};

}  // namespace corank

#endif  // CORANK_SERVER_MEMORY_TOPOLOGY_H_
