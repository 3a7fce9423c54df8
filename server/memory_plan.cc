#include "server/memory_plan.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace corank {
namespace {

constexpr int kReserve = 8;  // an eighth

// A smaller budget is useless: requests that exceed a lane's own memory are refused, and streams work in slivers.
constexpr int64_t kLeastWork = int64_t{64} << 20;

// Shares of the budgets that lanes may keep between requests. They fit into what no budget has: an eighth of the host,
// a tenth of a GPU.
constexpr int64_t kLanesShareOfHost = 4, kLanesShareOfGpu = 16, kLanesShareOfPool = 16;

bool RunsOnCpu(const MemoryPlan::Needs& needs) { return needs.engine == EngineKind::kCpu; }

// Memory that the flags leave to work and streams. Never zero: a server whose host pool is too large for its container
// should still do what it can, and warn.
int64_t LeftOf(const MemoryPlan::Needs& needs) {
  int64_t left = needs.host_bytes - needs.host_bytes / kReserve;
  for (const int64_t taken : {needs.host_pool_bytes, needs.buffered_bytes, needs.relay_bytes,
                              RunsOnCpu(needs) ? needs.kept_bytes : int64_t{0}}) {
    left -= std::min(left, taken);
  }
  return std::max(left, needs.host_bytes / kReserve);
}

// On the CPU engine, work and streams share the host's memory. Beside a GPU, all of it is for streams.
int64_t WorkOf(int64_t left) { return left / 2; }

// Memory of a device of this size for running work, if no flag sets it.
int64_t DerivedBudget(const MemoryPlan::Needs& needs, int64_t device_bytes) {
  const int64_t budget = std::max<int64_t>(0, device_bytes / 10 * 9 - needs.kept_bytes);
  return RunsOnCpu(needs) ? std::min(budget, WorkOf(LeftOf(needs)) / 10 * 9) : budget;
}

// One lane may keep what it takes without a budget, unless that is much of a small budget.
int64_t KeptByLanes(int64_t budget, int64_t share) {
  return std::max(budget / share, std::min(DeviceMemory::Options().lane_bytes, budget / 4));
}

KeptMemory KeptByLanes(const MemoryPlan::Needs& needs, int64_t budget) {
  if (RunsOnCpu(needs)) return {KeptByLanes(budget, kLanesShareOfHost), 0};
  const auto devices = static_cast<int64_t>(needs.device_bytes.size());
  return {KeptByLanes(budget, kLanesShareOfGpu), KeptByLanes(needs.host_pool_bytes / devices, kLanesShareOfPool)};
}

// For stored arrays that leave no memory for work, since no later request could succeed. A device that is too small by
// itself does what it can.
std::string WhyUseless(const MemoryPlan::Needs& needs, int64_t device_bytes) {
  MemoryPlan::Needs without_kept = needs;
  without_kept.kept_bytes = 0;
  const int64_t budget = DerivedBudget(needs, device_bytes);
  if (needs.device_budget_bytes > 0 || budget >= kLeastWork || DerivedBudget(without_kept, device_bytes) < kLeastWork) {
    return "";
  }
  return absl::StrCat("--kept-bytes ", needs.kept_bytes, " leaves ", budget, " bytes of a device with ", device_bytes,
                      " to running requests and streams (--device-budget-bytes), which need at least ", kLeastWork,
                      "; lower --kept-bytes");
}

std::string SmallBudget(int64_t budget) {
  return absl::StrCat("running requests and streams may take ", budget,
                      " bytes of a device together (--device-budget-bytes), less than ", kLeastWork,
                      ": requests that need more are refused, and streams are slow; raise it");
}

std::string MoreThanTheDevice(const MemoryPlan::Needs& needs, int64_t device_bytes) {
  return absl::StrCat("a device has ", device_bytes, " bytes of memory, but --device-budget-bytes ",
                      needs.device_budget_bytes, " and --kept-bytes ", needs.kept_bytes,
                      " together are more; requests will run out of memory under load; lower one of them");
}

std::string Clamped(int64_t max_device_bytes, int64_t budget) {
  return absl::StrCat("--max-device-bytes ", max_device_bytes, " is more than running requests may take of a device, ",
                      budget, " (--device-budget-bytes); streams take no more than that");
}

std::string MoreThanTheHost(const MemoryPlan::Needs& needs, const MemoryPlan& plan, int64_t work_bytes) {
  return absl::StrCat(
      "this process may have ", needs.host_bytes, " bytes of memory, but its budgets add up to ", plan.host_bytes,
      ": --host-pool-bytes ", needs.host_pool_bytes, ", --max-buffered-bytes ", needs.buffered_bytes,
      ", --max-stream-host-bytes of all streams ", plan.budgets.host_limit_bytes,
      needs.relay_bytes > 0 ? absl::StrCat(", copies between GPUs without a link ", needs.relay_bytes) : "",
      RunsOnCpu(needs) ? absl::StrCat(", --device-budget-bytes ", work_bytes, ", --kept-bytes ", needs.kept_bytes) : "",
      "; the system may kill it under load; give it more memory or lower the budgets");
}

}  // namespace

MemoryPlan MemoryPlan::Make(const Needs& needs) {
  const bool on_host = RunsOnCpu(needs);
  const int64_t left = LeftOf(needs);
  const int devices = static_cast<int>(needs.device_bytes.size());
  MemoryPlan plan;
  const int64_t work_bytes = WorkOf(left);
  const int64_t stream_bytes = on_host ? left - work_bytes : std::min(needs.host_bytes / 2, left);
  const int64_t smallest_device = *std::min_element(needs.device_bytes.begin(), needs.device_bytes.end());
  for (const int64_t device_bytes : needs.device_bytes) {
    plan.budgets.limits.push_back(needs.device_budget_bytes > 0 ? needs.device_budget_bytes
                                                                : DerivedBudget(needs, device_bytes));
    plan.lanes.push_back(KeptByLanes(needs, plan.budgets.limits.back()));
  }
  const auto [least, most] = std::minmax_element(plan.budgets.limits.begin(), plan.budgets.limits.end());
  const int64_t least_budget = *least;
  const int64_t most_of_one = std::max(*most, plan.budgets.lane_bytes);
  plan.streams = needs.streams.Derived(on_host ? std::min(smallest_device, work_bytes) : smallest_device, stream_bytes,
                                       needs.long_lanes, devices);
  // A stream of unknown size requests the most that one may have. More than the budget would never be admitted.
  if (needs.streams.max_device_bytes == 0) {
    plan.streams.max_device_bytes = std::min(plan.streams.max_device_bytes, least_budget);
  } else if (needs.streams.max_device_bytes > most_of_one) {
    plan.streams.max_device_bytes = most_of_one;
    plan.warnings.push_back(Clamped(needs.streams.max_device_bytes, most_of_one));
  }
  plan.budgets.host_limit_bytes = plan.streams.HostBudget(needs.long_lanes, devices);
  const auto add = [&plan](int64_t bytes) {
    plan.host_bytes += std::min(bytes, std::numeric_limits<int64_t>::max() - plan.host_bytes);
  };
  for (const int64_t bytes :
       {needs.host_pool_bytes, needs.buffered_bytes, needs.relay_bytes, plan.budgets.host_limit_bytes}) {
    add(bytes);
  }
  if (on_host) {
    add(least_budget);
    add(needs.kept_bytes);
  }
  if (plan.host_bytes > needs.host_bytes) plan.warnings.push_back(MoreThanTheHost(needs, plan, least_budget));
  if (!on_host && needs.device_budget_bytes > 0 && needs.device_budget_bytes > smallest_device - needs.kept_bytes) {
    plan.warnings.push_back(MoreThanTheDevice(needs, smallest_device));
  }
  plan.error = WhyUseless(needs, smallest_device);
  if (plan.error.empty() && least_budget < kLeastWork) plan.warnings.push_back(SmallBudget(least_budget));
  return plan;
}

}  // namespace corank
