#include "server/plan/planner.h"

#include <algorithm>
#include <utility>

#include "server/run/external_work.h"
#include "server/run/job_memory.h"

namespace corank {

Strategy ChooseStrategy(const Workload& work, const PlannerOptions& options) {
  const bool has_room = work.external_host_bytes <= options.max_host_bytes;
  if (work.is_streamed) {
    return work.external && (has_room || !work.may_fit_whole) ? *work.external : Strategy::kCollected;
  }
  if (IsLong(work, options) && options.in_pieces && work.external && has_room) return *work.external;
  const int64_t for_host = work.is_light ? 2 * options.host_bytes : options.host_bytes;
  if (work.is_inline && options.host_bytes > 0 && work.work_bytes <= for_host) return Strategy::kHost;
  return work.work_bytes <= options.small_bytes ? Strategy::kBatched : Strategy::kDevice;
}

namespace {

// Without links, each device needs at least this many times the least bytes. Two H200s that did not use their link then
// sorted keys, pairs and tables 1.10 to 1.21 times as fast as one, and with half the bytes 0.90 to 0.98 times
// (bench/NOTES.md, "One array on several GPUs"). More than four devices have not been measured.
constexpr int64_t kCostThroughHost = 2;

}  // namespace

uint64_t ChooseShards(int64_t work_bytes, const Sharing& sharing, uint64_t idle, const Topology& topology,
                      const PlannerOptions& options) {
  constexpr int64_t kArrays = 64;
  if (sharing.arrays == 0) return 0;
  const int64_t least = options.shard_bytes * ((sharing.arrays + kArrays - 1) / kArrays);
  const auto choose = [&](uint64_t devices, int64_t cost, bool are_linked) {
    const int64_t most = options.most_shards == 0 ? DeviceSet::kMaxDevices : options.most_shards;
    return topology.Choose(devices, std::min(most, work_bytes / (least * cost)), are_linked);
  };
  uint64_t shards = choose(idle, sharing.cost, sharing.exchange != Exchange::kNone);
  if (DeviceSet::Count(shards) < 2 && sharing.exchange == Exchange::kCopies) {
    shards = choose(topology.OnOwnBuses(idle), std::max(sharing.cost, kCostThroughHost), /*are_linked=*/false);
  }
  return DeviceSet::Count(shards) < 2 ? 0 : shards;
}

namespace {

// Whether the operation takes no more than `most_bytes` of any device.
bool Fits(const MemoryNeed& need, int64_t most_bytes) {
  return std::all_of(need.device_bytes.begin(), need.device_bytes.end(),
                     [most_bytes](int64_t bytes) { return bytes <= most_bytes; });
}

}  // namespace

Plan PlanRequest(std::unique_ptr<Operation> operation, const Extent& extent, const PlannerMeans& means, uint64_t idle,
                 uint64_t shards) {
  const auto& [options, streams, devices, buffers, job_memory] = means;
  Plan plan;
  plan.operation = std::move(operation);
  plan.work_bytes = std::max(extent.message_bytes, plan.operation->work_bytes());
  const bool must_share = shards != 0;
  if (must_share && plan.operation->sharing().arrays == 0) {
    plan.strategy = Strategy::kDevice;
    plan.need = NeedOf(*plan.operation, plan.strategy, devices);
    plan.devices = plan.shard_devices = shards;
    return plan;
  }
  if (!must_share) {
    shards = ChooseShards(plan.work_bytes, plan.operation->sharing(), idle, devices.topology(), options);
  }
  if (shards != 0) {
    std::unique_ptr<Operation> shared = plan.operation->Sharded({shards, devices.topology().AreLinked(shards)});
    MemoryNeed need = NeedOf(*shared, Strategy::kSharded, devices);
    const bool fits = Fits(need, options.max_device_bytes) && need.host_bytes <= options.max_host_bytes;
    if (must_share || fits) {
      plan.operation = std::move(shared);
      plan.strategy = Strategy::kSharded;
      plan.need = std::move(need);
      plan.devices = plan.shard_devices = shards;
      return plan;
    }
  }
  Workload work;
  work.work_bytes = plan.work_bytes;
  work.placed_bytes = extent.placed_bytes;
  work.is_inline = extent.is_inline;
  work.is_light = plan.operation->is_light();
  std::unique_ptr<const ExternalWork> external;
  ExternalMeans pieces;
  if (IsLong(work, options) && options.in_pieces) external = plan.operation->external();
  if (external != nullptr && external->prefers_whole &&
      Fits(NeedOf(*plan.operation, Strategy::kDevice, devices), streams.max_device_bytes)) {
    external.reset();
  }
  if (external != nullptr) {
    pieces.memory = std::make_shared<JobMemory>(streams.max_device_bytes, streams.max_host_bytes, job_memory, buffers);
    pieces.piece_bytes = streams.piece_bytes;
    work.external = external->strategy;
    work.external_host_bytes = external->host_bytes(/*parts=*/0, pieces.piece_bytes, *pieces.memory);
  }
  plan.strategy = ChooseStrategy(work, options);
  if (plan.strategy == work.external) {
    plan.operation = external->make(std::move(pieces));
    plan.work_bytes = std::max(extent.message_bytes, plan.operation->work_bytes());
  }
  plan.need = NeedOf(*plan.operation, plan.strategy, devices);
  return plan;
}

MemoryNeed NeedOf(const Operation& operation, Strategy strategy, const DeviceSet& devices) {
  MemoryNeed need;
  if (strategy == Strategy::kHost || strategy == Strategy::kBatched) return need;
  for (int i = 0; i < devices.size(); ++i) need.device_bytes.push_back(operation.device_bytes(devices.engine(i)));
  need.host_bytes = operation.host_bytes();
  return need;
}

}  // namespace corank
