#include "server/execute/stream_options.h"

#include <algorithm>
#include <limits>

namespace corank {
namespace {

// More lanes than this keep the wire busy; they rarely all have the largest of arrays, and what then does not fit
// waits.
constexpr int kMostShares = 4;

}  // namespace

StreamOptions StreamOptions::Derived(int64_t device_bytes, int64_t host_bytes, int lanes, int devices) const {
  const int shares = std::min(lanes, kMostShares);
  StreamOptions derived = *this;
  if (max_device_bytes == 0) derived.max_device_bytes = device_bytes / 4 * 3 / shares;
  if (max_host_bytes == 0) derived.max_host_bytes = host_bytes / shares / devices;
  return derived;
}

int64_t StreamOptions::HostBudget(int lanes, int devices) const {
  const int64_t shares = int64_t{std::min(lanes, kMostShares)} * devices;
  return max_host_bytes > std::numeric_limits<int64_t>::max() / shares ? std::numeric_limits<int64_t>::max()
                                                                       : max_host_bytes * shares;
}

}  // namespace corank
