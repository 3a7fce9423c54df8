// Operations of the server on some devices, without a server.
#ifndef CORANK_BENCH_SHARDS_WORKER_H_
#define CORANK_BENCH_SHARDS_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/run/operation.h"

namespace corank::bench {

/// A lane that keeps its streams' memory from one run to the next, as in a server.
class BenchLane final : public Lane {
 public:
  explicit BenchLane(std::vector<Engine*> engines) : engines_(std::move(engines)) {}
  absl::Status Prepare() { return StreamOn(0, 0).status(); }
  EngineStream& stream() override { return *streams_.at({0, 0}); }
  Engine& engine() override { return *engines_.front(); }
  absl::StatusOr<EngineStream*> ExtraStream(int i) override { return StreamOn(0, i + 1); }
  absl::StatusOr<EngineStream*> StreamOn(int device, int i) override {
    std::unique_ptr<EngineStream>& stream = streams_[{device, i}];
    if (stream == nullptr) {
      auto made = engines_[static_cast<size_t>(device)]->CreateStream();
      if (!made.ok()) return made.status();
      stream = *std::move(made);
    }
    return stream.get();
  }
  absl::Status CheckWanted() override { return absl::OkStatus(); }

 private:
  const std::vector<Engine*> engines_;
  std::map<std::pair<int, int>, std::unique_ptr<EngineStream>> streams_;
};

/// A result in pinned memory.
class PinnedTarget final : public ResultTarget {
 public:
  explicit PinnedTarget(void* h_place) : h_place_(h_place) {}
  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    return stream.AllocateResultAt(h_place_, bytes);
  }
  char* HostPlace() const override { return static_cast<char*>(h_place_); }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }

 private:
  void* const h_place_;
};

/// Does the work on some devices, copies included.
class Worker {
 public:
  /// `are_linked`: the devices reach each other's memory.
  Worker(std::unique_ptr<Operation> whole, const std::vector<Engine*>& engines, bool are_linked) : lane_(engines) {
    const uint64_t devices = (uint64_t{1} << engines.size()) - 1;
    work_ = engines.size() == 1 ? std::move(whole) : whole->Sharded({devices, are_linked});
  }

  absl::StatusOr<double> Run() {
    if (absl::Status prepared = lane_.Prepare(); !prepared.ok()) return prepared;
    Outcome outcome;
    const absl::Time start = absl::Now();
    if (absl::Status done = work_->Execute(lane_, outcome); !done.ok()) return done;
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

 private:
  BenchLane lane_;
  std::unique_ptr<Operation> work_;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_SHARDS_WORKER_H_
