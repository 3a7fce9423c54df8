// One or a few lanes, and the work that tests give them.
#ifndef CORANK_TESTS_SERVER_LANE_POOL_FIXTURE_H_
#define CORANK_TESTS_SERVER_LANE_POOL_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/run/device_ops/sort.h"
#include "server/run/lane_pool.h"
#include "tests/server/doubles.h"

namespace corank::testing {

/// Hands out the given batches, then ends; waits instead if it was told to stay open.
class GivenWork final : public WorkSource {
 public:
  void SetOpen(bool open) {
    absl::MutexLock lock(&mutex_);
    open_ = open;
  }
  void Add(std::vector<std::unique_ptr<Task>> batch) { batches_.push_back(std::move(batch)); }
  void Add(std::unique_ptr<Task> task) {
    batches_.emplace_back();
    batches_.back().push_back(std::move(task));
  }
  std::vector<std::unique_ptr<Task>> NextBatch(int, bool) override {
    absl::MutexLock lock(&mutex_);
    const auto knows = [this] { return !open_ || !batches_.empty(); };
    mutex_.Await(absl::Condition(&knows));
    if (batches_.empty()) return {};
    auto batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }

 private:
  absl::Mutex mutex_;
  bool open_ = false;
  std::deque<std::vector<std::unique_ptr<Task>>> batches_;
};

class LanePoolTest : public ::testing::Test {
 protected:
  // One lane, which does all given work.
  std::unique_ptr<LanePool> OneLane(Engine& engine) {
    LanePool::Options options;
    options.lanes = 1;
    options.spares = spares_;
    options.together = together_;
    options.watch = watch_;
    options.free_idle = [this] { ++idle_freed_; };
    return *LanePool::Create(options, &engine, &work_, &clock_, &metrics_, &logger_);
  }
  // Lanes that only run direct work.
  std::unique_ptr<LanePool> DirectLanes(Engine& engine) {
    LanePool::Options options;
    options.lanes = 0;
    return *LanePool::Create(options, &engine, /*source=*/nullptr, &clock_, &metrics_, &logger_);
  }
  // Runs all work to its end.
  void RunAll(Engine& engine) { OneLane(engine).reset(); }
  std::unique_ptr<Operation> SortOf(const void* keys, int64_t count) {
    SortOperation::Spec spec;
    spec.keys = Operand{v1::ELEMENT_TYPE_UINT64, 8, count, keys};
    return std::make_unique<SortOperation>(std::move(spec));
  }

  FakeClock clock_;
  Metrics metrics_;
  std::string log_;
  const Logger logger_{LogLevel::kDebug, [this](absl::string_view line) { log_ += std::string(line); }};
  GivenWork work_;
  const DeviceWatch* watch_ = nullptr;
  int idle_freed_ = 0;
  int spares_ = 0;
  std::optional<bool> together_;
  RecordedRequest request_, second_;
  alignas(16) const uint64_t keys_[4] = {3, 1, 2, 4};
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_LANE_POOL_FIXTURE_H_
