#include "server/schedule/fair_line.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/schedule/request_cost.h"

namespace corank {
namespace {

// Most idle tenants that the line remembers for recent use. With more, it forgets them.
constexpr size_t kMaxIdleTenants = 1024, kLeastIdleTenants = 16;

}  // namespace

FairLine::Tenant& FairLine::Find(absl::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return *found->second;
  auto tenant = std::make_unique<Tenant>();
  tenant->name = std::string(name);
  const auto weight = weights_->find(name);
  if (weight != weights_->end()) tenant->weight = weight->second;
  Tenant& added = *tenant;
  by_name_.emplace(added.name, std::move(tenant));
  return added;
}

const FairLine::Tenant* FairLine::Known(absl::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

void FairLine::Activate(Tenant* tenant) {
  const auto later = [](const Tenant* a, const Tenant* b) { return a->start < b->start; };
  active_.insert(std::upper_bound(active_.begin(), active_.end(), tenant, later), tenant);
}

void FairLine::Count(Tenant& tenant, const Task& task, int sign) {
  const double cost = sign * RequestCost(task.plan.work_bytes);
  tenant.requests += sign;
  tenant.bytes += sign * task.request.bytes;
  tenant.cost += cost;
  requests_ += sign;
  bytes_ += sign * task.request.bytes;
  cost_ = requests_ == 0 ? 0 : cost_ + cost;
}

void FairLine::Push(std::unique_ptr<Task> task) {
  Tenant& tenant = Find(task->request.caller->tenant);
  if (tenant.requests == 0) {
    tenant.start = std::max(tenant.start, time_);
    Activate(&tenant);
  }
  Count(tenant, *task, 1);
  const auto alike = [&task](const Queue& queue) {
    return queue.devices == task->plan.devices && queue.heavy == task->is_heavy();
  };
  auto queue = std::find_if(tenant.queues.begin(), tenant.queues.end(), alike);
  if (queue == tenant.queues.end()) {
    tenant.queues.emplace_back(task->plan.devices, task->is_heavy());
    queue = std::prev(tenant.queues.end());
  }
  queue->tasks.push_back({std::move(task), next_number_++});
}

FairLine::Place FairLine::First(MayTake may_take, MayHave may_have, absl::FunctionRef<bool(const Task& task)> fits,
                                bool* heavy_waits) const {
  for (size_t i = 0; i < active_.size(); ++i) {
    const std::vector<Queue>& queues = active_[i]->queues;
    for (;;) {
      Place place;
      int64_t number = std::numeric_limits<int64_t>::max();
      for (size_t q = 0; q < queues.size(); ++q) {
        const Queue& queue = queues[q];
        if (queue.tasks.empty() || (queue.heavy && *heavy_waits)) continue;
        if (queue.tasks.front().number >= number || !may_take(queue.devices)) continue;
        if (!may_have(*queue.tasks.front().task)) continue;
        number = queue.tasks.front().number;
        place.task_ = queue.tasks.front().task.get();
        place.tenant_ = i;
        place.queue_ = q;
      }
      if (!place) break;
      if (!queues[place.queue_].heavy || fits(*place)) return place;
      *heavy_waits = true;
    }
  }
  return Place();
}

std::unique_ptr<Task> FairLine::Take(const Place& place) {
  Tenant* const tenant = active_[place.tenant_];
  std::deque<Waiting>& tasks = tenant->queues[place.queue_].tasks;
  std::unique_ptr<Task> task = std::move(tasks.front().task);
  tasks.pop_front();
  Count(*tenant, *task, -1);
  time_ = std::max(time_, tenant->start);
  tenant->start += RequestCost(task->plan.work_bytes) / tenant->weight;
  active_.erase(active_.begin() + static_cast<ptrdiff_t>(place.tenant_));
  if (tenant->requests > 0) {
    Activate(tenant);
  } else {
    Forget();
  }
  return task;
}

std::vector<std::unique_ptr<Task>> FairLine::Remove(absl::FunctionRef<bool(const Task& task)> unwanted) {
  std::vector<std::unique_ptr<Task>> removed;
  for (Tenant* const tenant : active_) {
    for (Queue& queue : tenant->queues) {
      const auto leaves = [&](Waiting& waiting) {
        if (!unwanted(*waiting.task)) return false;
        Count(*tenant, *waiting.task, -1);
        removed.push_back(std::move(waiting.task));
        return true;
      };
      queue.tasks.erase(std::remove_if(queue.tasks.begin(), queue.tasks.end(), leaves), queue.tasks.end());
    }
  }
  if (removed.empty()) return removed;
  const auto is_idle = [](const Tenant* tenant) { return tenant->requests == 0; };
  active_.erase(std::remove_if(active_.begin(), active_.end(), is_idle), active_.end());
  Forget();
  return removed;
}

void FairLine::Forget() {
  const size_t idle = by_name_.size() - active_.size();
  const bool all = active_.empty() || idle > kMaxIdleTenants;
  // A few intermittent tenants keep their history. The tenants that arrived since the last search pay for this one.
  if (idle <= idle_allowed_) return;
  for (auto it = by_name_.begin(); it != by_name_.end();) {
    const Tenant& tenant = *it->second;
    if (tenant.requests == 0 && (all || tenant.start <= time_)) {
      by_name_.erase(it++);
    } else {
      ++it;
    }
  }
  idle_allowed_ = kLeastIdleTenants + 2 * (by_name_.size() - active_.size());
}

bool FairLine::HasTaskFor(MayTake may_take) const {
  for (const Tenant* const tenant : active_) {
    for (const Queue& queue : tenant->queues) {
      if (!queue.tasks.empty() && may_take(queue.devices)) return true;
    }
  }
  return false;
}

double FairLine::CostAhead(absl::string_view name) const {
  if (empty()) return 0;
  const Tenant* const own = Known(name);
  double start = own == nullptr ? time_ : std::max(time_, own->start);
  double ahead = 0;
  if (own != nullptr) {
    start += own->cost / own->weight;
    ahead = own->cost;
  }
  for (const Tenant* const other : active_) {
    if (other == own || other->start >= start) continue;
    ahead += std::min(other->cost, (start - other->start) * other->weight);
  }
  return ahead;
}

Instant FairLine::OldestArrival() const {
  Instant oldest = kForever;
  for (const Tenant* const tenant : active_) {
    for (const Queue& queue : tenant->queues) {
      if (!queue.tasks.empty()) oldest = std::min(oldest, queue.tasks.front().task->queued);
    }
  }
  return oldest;
}

Instant FairLine::EarliestDeadline() const {
  Instant earliest = kForever;
  for (const Tenant* const tenant : active_) {
    for (const Queue& queue : tenant->queues) {
      for (const Waiting& waiting : queue.tasks) earliest = std::min(earliest, waiting.task->request.deadline);
    }
  }
  return earliest;
}

int64_t FairLine::tenant_requests(absl::string_view name) const {
  const Tenant* const tenant = Known(name);
  return tenant == nullptr ? 0 : tenant->requests;
}

int64_t FairLine::tenant_bytes(absl::string_view name) const {
  const Tenant* const tenant = Known(name);
  return tenant == nullptr ? 0 : tenant->bytes;
}

}  // namespace corank
