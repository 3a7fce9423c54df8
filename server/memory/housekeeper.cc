#include "server/memory/housekeeper.h"

#include <utility>

#include "server/base/steady_wait.h"
#include "server/memory/allocator.h"

namespace corank {

Housekeeper::Housekeeper(HostPool* pool, RunBuffers* run_buffers, RegionRegistry* regions, ArrayStore* arrays,
                         std::function<void()> trim_lanes, absl::Duration interval)
    : pool_(pool),
      run_buffers_(run_buffers),
      regions_(regions),
      arrays_(arrays),
      trim_lanes_(std::move(trim_lanes)),
      interval_(interval),
      thread_([this] { Keep(); }) {}

Housekeeper::~Housekeeper() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

void Housekeeper::Keep() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (AwaitSteadily(&mutex_, absl::Condition(&ends_), interval_)) return;
    }
    pool_->Trim();
    run_buffers_->Trim();
    regions_->GiveBackExpired();
    arrays_->GiveBackExpired();
    trim_lanes_();
    GiveBackFreedPages();
  }
}

}  // namespace corank
