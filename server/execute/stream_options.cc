#include "server/execute/stream_options.h"

#include <unistd.h>

#include <algorithm>

namespace corank {

StreamOptions StreamOptions::Derived(const EngineInfo& engine, int lanes, int devices) const {
  // More lanes than this keep the wire busy; they rarely all have the largest of arrays, and what then does not fit is
  // refused, to be tried again.
  constexpr int kMostShares = 4;
  const int shares = std::min(lanes, kMostShares);
  StreamOptions derived = *this;
  const int64_t host_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (max_device_bytes == 0) derived.max_device_bytes = engine.memory_bytes / 4 * 3 / shares;
  if (max_host_bytes == 0) derived.max_host_bytes = host_bytes / 2 / shares / devices;
  return derived;
}

}  // namespace corank
