#include "server/run/stream_options.h"

#include <algorithm>
#include <limits>

#include "server/memory/host_pool.h"

namespace corank {
namespace {

// A few requests keep the bus busy. They rarely all have arrays of the largest size; arrays that do not fit wait.
constexpr int kMostShares = 4;

// Large enough to make a launch negligible, small enough for the first one to leave early.
constexpr int64_t kMaxTileBytes = int64_t{8} << 20;
// Tiles in a window: three are in progress while others are being sent.
constexpr int64_t kTilesInWindow = 8;

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

int64_t TileBytes(int64_t window_bytes) { return std::min(kMaxTileBytes, window_bytes / kTilesInWindow); }

int64_t LeastStreamBytes(int64_t window_bytes, int64_t max_chunk_bytes) {
  return HostPool::BufferBytes(max_chunk_bytes) + HostPool::BufferBytes(TileBytes(window_bytes));
}

}  // namespace corank
