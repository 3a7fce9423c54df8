#include "bench/shards/arrays.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace corank::bench {

void AllocateDevice(Engine& engine, int64_t bytes, Memory* to, absl::Status& status) {
  if (bytes == 0) return;
  auto memory = engine.AllocateDevice(bytes);
  status.Update(memory.status());
  if (memory.ok()) *to = *std::move(memory);
}

void OnAllCores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& fill) {
  const auto threads = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> running;
  for (int64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { fill(count * i / threads, count * (i + 1) / threads); });
  }
  for (std::thread& thread : running) thread.join();
}

absl::StatusOr<std::shared_ptr<Data>> AllocateData(int64_t count, int64_t key_bytes, int64_t value_bytes,
                                                   Engine& engine) {
  auto data = std::make_shared<Data>();
  data->count = count;
  data->key_bytes = key_bytes;
  data->value_bytes = value_bytes;
  absl::Status status;
  const auto allocate = [&](int64_t bytes, Memory* to) {
    if (bytes == 0) return;
    auto memory = engine.AllocateHost(bytes);
    status.Update(memory.status());
    if (memory.ok()) *to = *std::move(memory);
  };
  allocate(count * key_bytes, &data->keys);
  allocate(count * value_bytes, &data->values);
  for (size_t i = 0; i < 2; ++i) {
    allocate(count * key_bytes, &data->sorted_keys[i]);
    allocate(count * value_bytes, &data->sorted_values[i]);
  }
  if (!status.ok()) return status;
  return data;
}

Contest ContestOf(const std::shared_ptr<Data>& data, const Row& row, double least_ratio,
                  const std::vector<Engine*>& engines, const MakeContestant& make) {
  Contest contest;
  contest.contestants.push_back({"all devices", make(0, engines)});
  contest.contestants.push_back({"one device", make(1, {engines.front()})});
  contest.check = [data] {
    const auto same = [&](const Memory(&of)[2], int64_t bytes) {
      return of[0] == nullptr ||
             std::memcmp(of[0]->data(), of[1]->data(), static_cast<size_t>(data->count * bytes)) == 0;
    };
    if (!same(data->sorted_keys, data->key_bytes) || !same(data->sorted_values, data->value_bytes)) {
      return absl::InternalError("the answer is not that of one device");
    }
    return absl::OkStatus();
  };
  contest.rows = [row, least_ratio](const std::vector<Summary>& seconds) {
    Row line = row;
    line.reference_name = "one device";
    const double work = static_cast<double>(row.n);
    line.ours = GigaPerSecond(seconds[0], work);
    line.reference = GigaPerSecond(seconds[1], work);
    if (least_ratio > 0) line.RequireRatio(least_ratio);
    return std::vector<Row>{line};
  };
  return contest;
}

}  // namespace corank::bench
