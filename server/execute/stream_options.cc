#include "server/execute/stream_options.h"

#include <unistd.h>

namespace corank {

StreamOptions StreamOptions::Derived(const EngineInfo& engine, int lanes) const {
  StreamOptions derived = *this;
  const int64_t host_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (max_device_bytes == 0) derived.max_device_bytes = engine.memory_bytes / 4 * 3 / lanes;
  if (max_host_bytes == 0) derived.max_host_bytes = host_bytes / 2 / lanes;
  return derived;
}

}  // namespace corank
