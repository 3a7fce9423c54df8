#include "bench/shards/arrays.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace corank::bench {

void AllocateDevice(Engine& engine, int64_t bytes, Memory* to, absl::Status& status) {
  if (bytes == 0) return;
  auto memory = engine.AllocateDevice(bytes);
  status.Update(memory.status());
  if (memory.ok()) *to = *std::move(memory);
}

absl::Status MakeStreams(Engine& engine, std::initializer_list<std::unique_ptr<EngineStream>*> made) {
  for (std::unique_ptr<EngineStream>* const to : made) {
    auto stream = engine.CreateStream();
    if (!stream.ok()) return stream.status();
    *to = *std::move(stream);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> SecondsOf(const std::function<absl::Status()>& work, const std::vector<EngineStream*>& streams) {
  const absl::Time start = absl::Now();
  absl::Status status = work();
  for (EngineStream* const stream : streams) status.Update(stream->Finish().status());
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  if (!status.ok()) return status;
  return seconds;
}

void OnAllCores(int64_t count, const std::function<void(int64_t begin, int64_t end)>& fill) {
  const auto threads = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> running;
  for (int64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { fill(count * i / threads, count * (i + 1) / threads); });
  }
  for (std::thread& thread : running) thread.join();
}

std::vector<size_t> DeviceCounts(size_t most) {
  std::vector<size_t> counts;
  for (size_t count = 2; count < most; count *= 2) counts.push_back(count);
  if (most > 1) counts.push_back(most);
  return counts;
}

absl::StatusOr<std::shared_ptr<Data>> AllocateData(int64_t count, int64_t key_bytes, int64_t value_bytes,
                                                   const std::vector<Engine*>& engines) {
  auto data = std::make_shared<Data>();
  data->count = count;
  data->key_bytes = key_bytes;
  data->value_bytes = value_bytes;
  absl::Status status;
  const auto allocate = [&](int64_t bytes, Memory* to) {
    if (bytes == 0) return;
    auto memory = engines.front()->AllocateHost(bytes);
    status.Update(memory.status());
    if (memory.ok()) *to = *std::move(memory);
  };
  allocate(count * key_bytes, &data->keys);
  allocate(count * value_bytes, &data->values);
  for (size_t i = 0; i <= DeviceCounts(engines.size()).size(); ++i) {
    allocate(count * key_bytes, &data->sorted_keys.emplace_back());
    allocate(count * value_bytes, &data->sorted_values.emplace_back());
  }
  if (!status.ok()) return status;
  return data;
}

Contest ContestOf(const std::shared_ptr<Data>& data, const Row& row, const std::function<double(size_t)>& least_ratio,
                  const std::vector<Engine*>& engines, const MakeContestant& make) {
  const std::vector<size_t> counts = DeviceCounts(engines.size());
  Contest contest;
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::vector<Engine*> on(engines.begin(), engines.begin() + static_cast<int64_t>(counts[i]));
    contest.contestants.push_back({absl::StrCat(counts[i], " devices"), make(i, on)});
  }
  contest.contestants.push_back({"one device", make(counts.size(), {engines.front()})});
  contest.check = [data] {
    const auto same = [&](const std::vector<Memory>& of, int64_t bytes) {
      return bytes == 0 || std::all_of(of.begin(), of.end(), [&](const Memory& memory) {
               return std::memcmp(memory->data(), of.back()->data(), static_cast<size_t>(data->count * bytes)) == 0;
             });
    };
    if (!same(data->sorted_keys, data->key_bytes) || !same(data->sorted_values, data->value_bytes)) {
      return absl::InternalError("an answer is not that of one device");
    }
    return absl::OkStatus();
  };
  contest.rows = [row, counts, least_ratio](const std::vector<Summary>& seconds) {
    std::vector<Row> lines;
    const auto work = static_cast<double>(row.n);
    for (size_t i = 0; i < counts.size(); ++i) {
      Row& line = lines.emplace_back(row);
      line.row = absl::StrCat(row.row, ", ", counts[i], " devices");
      line.reference_name = "one device";
      line.details["devices"] = static_cast<double>(counts[i]);
      line.ours = GigaPerSecond(seconds[i], work);
      line.reference = GigaPerSecond(seconds.back(), work);
      if (const double ratio = least_ratio(counts[i]); ratio > 0) line.RequireRatio(ratio);
    }
    return lines;
  };
  return contest;
}

}  // namespace corank::bench
