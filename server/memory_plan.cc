#include "server/memory_plan.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace corank {
namespace {

constexpr int kReserve = 8;  // an eighth

// What the flags leave to work and streams. Never nothing: a server whose host pool is too large for its container
// should still do what it can, and say so.
int64_t LeftOf(const MemoryPlan::Needs& needs) {
  int64_t left = needs.host_bytes - needs.host_bytes / kReserve - needs.host_pool_bytes - needs.buffered_bytes;
  if (needs.engine == EngineKind::kCpu) left -= needs.kept_bytes;
  return std::max(left, needs.host_bytes / kReserve);
}

std::string Warning(const MemoryPlan::Needs& needs, const MemoryPlan& plan, int64_t work_bytes) {
  const bool on_host = needs.engine == EngineKind::kCpu;
  return absl::StrCat(
      "this process may have ", needs.host_bytes, " bytes of memory, and its budgets add up to ", plan.host_bytes,
      ": --host-pool-bytes ", needs.host_pool_bytes, ", --max-buffered-bytes ", needs.buffered_bytes,
      ", --max-stream-host-bytes of all streams ", plan.budgets.host_limit_bytes,
      on_host ? absl::StrCat(", --device-budget-bytes ", work_bytes, ", --kept-bytes ", needs.kept_bytes) : "",
      "; under load the system may end it: give it more, or the budgets less");
}

}  // namespace

MemoryPlan MemoryPlan::Make(const Needs& needs) {
  const bool on_host = needs.engine == EngineKind::kCpu;
  const int64_t left = LeftOf(needs);
  const int devices = static_cast<int>(needs.device_bytes.size());
  MemoryPlan plan;
  // The CPU engine's work and its streams share; beside a GPU's the host has nothing else to do.
  const int64_t work_bytes = left / 2;
  const int64_t stream_bytes = on_host ? left - work_bytes : std::min(needs.host_bytes / 2, left);
  int64_t smallest_device = *std::min_element(needs.device_bytes.begin(), needs.device_bytes.end());
  if (on_host) smallest_device = std::min(smallest_device, work_bytes);
  for (const int64_t device_bytes : needs.device_bytes) {
    int64_t budget = std::max<int64_t>(0, device_bytes / 10 * 9 - needs.kept_bytes);
    if (on_host) budget = std::min(budget, work_bytes / 10 * 9);
    plan.budgets.limits.push_back(needs.device_budget_bytes > 0 ? needs.device_budget_bytes : budget);
  }
  const int64_t least_budget = *std::min_element(plan.budgets.limits.begin(), plan.budgets.limits.end());
  plan.streams = needs.streams.Derived(smallest_device, stream_bytes, needs.long_lanes, devices);
  // A stream of unknown size asks for all that one may have: more than the budget would never be admitted.
  if (needs.streams.max_device_bytes == 0) {
    plan.streams.max_device_bytes = std::min(plan.streams.max_device_bytes, least_budget);
  }
  plan.budgets.host_limit_bytes = plan.streams.HostBudget(needs.long_lanes, devices);
  const auto add = [&plan](int64_t bytes) {
    plan.host_bytes += std::min(bytes, std::numeric_limits<int64_t>::max() - plan.host_bytes);
  };
  for (const int64_t bytes : {needs.host_pool_bytes, needs.buffered_bytes, plan.budgets.host_limit_bytes}) add(bytes);
  if (on_host) {
    add(least_budget);
    add(needs.kept_bytes);
  }
  if (plan.host_bytes > needs.host_bytes) plan.warning = Warning(needs, plan, least_budget);
  return plan;
}

}  // namespace corank
