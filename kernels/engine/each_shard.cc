#include "kernels/engine/each_shard.h"

#include <system_error>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"

namespace corank {

std::thread StartThread(std::function<void()> function) { return std::thread(std::move(function)); }

absl::Status OnEachShard(size_t count, absl::FunctionRef<absl::Status(size_t)> work,
                         absl::FunctionRef<std::thread(std::function<void()>)> start) {
  return OnEachShard(
      count, [&work](size_t shard, const std::atomic<bool>&) { return work(shard); }, start);
}

absl::Status OnEachShard(size_t count,
                         absl::FunctionRef<absl::Status(size_t, const std::atomic<bool>& has_failed)> work,
                         absl::FunctionRef<std::thread(std::function<void()>)> start) {
  std::vector<absl::Status> statuses(count);
  std::atomic<bool> has_failed{false};
  const auto run = [&work, &statuses, &has_failed](size_t shard) {
    statuses[shard] = work(shard, has_failed);
    if (!statuses[shard].ok()) has_failed = true;
  };
  std::vector<std::thread> threads;
  threads.reserve(count);
  absl::Notification is_decided;
  bool all_start = true;  // constant once decided
  for (size_t i = 1; i < count && all_start; ++i) {
    try {
      threads.push_back(start([&run, &is_decided, &all_start, i] {
        is_decided.WaitForNotification();
        if (all_start) run(i);
      }));
    } catch (const std::system_error&) {
      all_start = false;
    }
  }
  is_decided.Notify();
  if (count > 0 && all_start) run(0);
  for (std::thread& thread : threads) thread.join();
  if (!all_start) {
    return absl::ResourceExhaustedError(
        "the server has too many threads to share the request between devices; retry later, or raise the server's "
        "limit of threads (ulimit -u, pids.max)");
  }
  absl::Status first;
  for (const absl::Status& status : statuses) first.Update(status);
  return first;
}

}  // namespace corank
