#include "server/memory/topology.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace corank {

// Of the pairs of a set of devices.
struct Topology::Score {
  int fewest_nvlinks = std::numeric_limits<int>::max();
  int shared_buses = 0;
  int on_one_node = 0;

  Score Plus(const Score& other) const {
    return {std::min(fewest_nvlinks, other.fewest_nvlinks), shared_buses + other.shared_buses,
            on_one_node + other.on_one_node};
  }
  bool IsBetterThan(const Score& other) const {
    return std::make_tuple(fewest_nvlinks, -shared_buses, on_one_node) >
           std::make_tuple(other.fewest_nvlinks, -other.shared_buses, other.on_one_node);
  }
};

Topology::Score Topology::ScoreOf(size_t one, size_t other) const {
  Score score;
  score.fewest_nvlinks = 0;
  if (!links.empty()) {
    score.fewest_nvlinks = links[one][other].nvlinks;
    score.shared_buses = links[one][other].shares_bus ? 1 : 0;
  }
  if (!numa_nodes.empty()) {
    score.on_one_node = numa_nodes[one] >= 0 && numa_nodes[one] == numa_nodes[other] ? 1 : 0;
  }
  return score;
}

bool Topology::AreLinked(uint64_t devices) const {
  for (size_t i = 0; i < reach.size(); ++i) {
    if ((devices >> i & 1) != 0 && (devices & ~reach[i]) != 0) return false;
  }
  return true;
}

uint64_t Topology::OnOwnBuses(uint64_t devices) const {
  for (size_t i = 0; i < links.size(); ++i) {
    if ((devices >> i & 1) == 0) continue;
    for (size_t other = i + 1; other < links.size(); ++other) {
      if (links[i][other].shares_bus) devices &= ~(uint64_t{1} << other);
    }
  }
  return devices;
}

uint64_t Topology::Choose(uint64_t devices, int64_t most, bool are_linked) const {
  uint64_t best = 0;
  int64_t best_count = 0;
  Score best_score;
  for (size_t first = 0; first < reach.size(); ++first) {
    uint64_t left = devices, taken = 0;
    int64_t count = 0;
    Score score;
    size_t next = first;
    // The scores of each device with all that are taken.
    std::vector<Score> with_taken(reach.size());
    while (count < most && next < reach.size() && (left >> next & 1) != 0) {
      taken |= uint64_t{1} << next;
      left &= ~(uint64_t{1} << next);
      if (are_linked) left &= reach[next];
      if (count++ > 0) score = score.Plus(with_taken[next]);
      const size_t last = next;
      next = reach.size();
      for (size_t i = 0; i < reach.size(); ++i) {
        if ((left >> i & 1) == 0) continue;
        with_taken[i] = with_taken[i].Plus(ScoreOf(i, last));
        if (next == reach.size() || with_taken[i].IsBetterThan(with_taken[next])) next = i;
      }
    }
    if (count > best_count || (count == best_count && score.IsBetterThan(best_score))) {
      best = taken;
      best_count = count;
      best_score = score;
    }
  }
  return best;
}

}  // namespace corank
