#include "server/memory/housekeeper.h"

namespace corank {

Housekeeper::Housekeeper(HostPool* pool, RegionRegistry* regions, ArrayStore* arrays, absl::Duration interval)
    : pool_(pool), regions_(regions), arrays_(arrays), interval_(interval), thread_([this] { Keep(); }) {}

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
      if (mutex_.AwaitWithTimeout(absl::Condition(&ends_), interval_)) return;
    }
    pool_->Trim();
    regions_->GiveBackExpired();
    arrays_->GiveBackExpired();
  }
}

}  // namespace corank
