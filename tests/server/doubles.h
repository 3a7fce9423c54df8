// Test doubles for the server's foundations: a clock that tests move, an engine that they hold and break, and requests
// that only record their outcome.
#ifndef CORANK_TESTS_SERVER_DOUBLES_H_
#define CORANK_TESTS_SERVER_DOUBLES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "kernels/engine/engine.h"
#include "server/base/clock.h"
#include "server/plan/planner.h"
#include "server/run/engine_choice.h"
#include "server/run/task.h"

namespace corank::testing {

class FakeClock final : public Clock {
 public:
  Instant Now() const override { return Instant(std::chrono::nanoseconds(ns_.load())); }
  void Advance(std::chrono::nanoseconds by) { ns_ += by.count(); }

 private:
  std::atomic<int64_t> ns_{1'000'000'000};
};

/// An engine on host memory whose operators compute nothing (Sort copies its keys). Records every phase of every stream
/// and passes it to a script, which may wait, return an error, or set a fault. Thread-safe.
class PuppetEngine final : public Engine {
 public:
  /// Phases: AllocateMemory, PinHost (outside of requests), Begin, Upload, AllocateHost, AllocateResult, EndCopyIn,
  /// Run, EndKernels, Download, Finish. `report` is not null in Run.
  using Script = std::function<absl::Status(const std::string& phase, OperatorReport* report)>;

  PuppetEngine() : PuppetEngine(nullptr) {}
  explicit PuppetEngine(Script script, EngineKind kind = EngineKind::kCpu)
      : info_{kind, "puppet", 1 << 20, 1, ""}, script_(std::move(script)) {}

  const EngineInfo& info() const override { return info_; }
  /// EngineInfo::ordinal and linked. Before the first use.
  void SetLinks(int32_t ordinal, uint64_t linked) {
    info_.ordinal = ordinal;
    info_.linked = linked;
  }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override;
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override { return AllocateHost(bytes); }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override;
  int64_t WorkspaceBytes(const SortArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const ColumnSortArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const MergeArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const ExpandArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const MoveArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const LoadBalanceArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const SearchArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const ColumnSearchArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const GroupArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const SelectArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const SetArgs&) const override { return 0; }
  int64_t WorkspaceBytes(const JoinArgs&) const override { return 0; }

  /// From now on, operators wait in Run until Release.
  void Hold();
  void Release();
  /// Waits until `count` operators wait in Run.
  void AwaitHeld(int count);

  /// Whether streams get no more memory from now on.
  void SetStreamsFail(bool fail) { streams_fail_ = fail; }

  std::vector<std::string> phases() const;
  /// Calls of EngineStream::End.
  int64_t ends() const { return ends_; }
  /// Bytes that operators and copies have written, and memory handed out for kernels: a device would do both.
  int64_t copied_bytes() const { return copied_bytes_; }
  int64_t allocated_bytes() const { return allocated_bytes_; }
  /// Whether every uploaded pointer was aligned to 8 bytes.
  bool uploads_were_aligned() const { return uploads_were_aligned_; }

  absl::Status Enter(const std::string& phase, OperatorReport* report = nullptr);
  void NoteUpload(const void* bytes);
  void NoteCopy(int64_t bytes) { copied_bytes_ += bytes; }
  void NoteEnd() { ++ends_; }
  void NoteAllocation(int64_t bytes) { allocated_bytes_ += bytes; }

 private:
  EngineInfo info_;
  const Script script_;
  std::atomic<bool> streams_fail_{false};
  std::atomic<bool> uploads_were_aligned_{true};
  std::atomic<int64_t> copied_bytes_{0};
  std::atomic<int64_t> allocated_bytes_{0};
  std::atomic<int64_t> ends_{0};
  mutable absl::Mutex mutex_;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> phases_ ABSL_GUARDED_BY(mutex_);
};

/// A puppet in the form that the server takes. The pointer is valid as long as the server.
inline std::pair<PuppetEngine*, ChosenEngine> MakePuppet(PuppetEngine::Script script = nullptr,
                                                         EngineKind kind = EngineKind::kCpu) {
  auto engine = std::make_unique<PuppetEngine>(std::move(script), kind);
  PuppetEngine* puppet = engine.get();
  return {puppet, ChosenEngine{std::move(engine), "a test asks for it"}};
}

/// An operation that does nothing.
class NullOperation : public PhasedOperation {
 public:
  explicit NullOperation(Operator op) : op_(op) {}
  Operator op() const override { return op_; }
  absl::Status CopyIn(EngineStream&) override { return absl::OkStatus(); }
  absl::Status Run(EngineStream& stream, OperatorReport* report) override { return stream.Sort(SortArgs(), report); }
  absl::Status CopyOut(EngineStream&) override { return absl::OkStatus(); }
  void Collect(const OperatorReport&, Outcome&) const override {}
  absl::Status FaultStatus(const OperatorReport&) const override { return InvalidField("keys", "a fault"); }

 private:
  const Operator op_;
};

/// A request that records how it ended.
class RecordedRequest final : public Completion {
 public:
  /// The task of this request. Make only one.
  std::unique_ptr<Task> MakeTask(int64_t bytes = 1, TaskPriority priority = TaskPriority::kNormal,
                                 Operator op = Operator::kSort) {
    return MakeTask(std::make_unique<NullOperation>(op), bytes, priority);
  }
  std::unique_ptr<Task> MakeTask(std::unique_ptr<Operation> operation, int64_t bytes = 1,
                                 TaskPriority priority = TaskPriority::kNormal) {
    auto task = std::make_unique<Task>();
    task->plan.operation = std::move(operation);
    task->plan.work_bytes = std::max(bytes, task->plan.operation->work_bytes());
    task->plan.strategy =
        task->plan.work_bytes <= PlannerOptions().small_bytes ? Strategy::kBatched : Strategy::kDevice;
    task->request.priority = priority;
    task->request.bytes = bytes;
    task->request.cancelled = &cancelled;
    task->request.completion = this;
    return task;
  }

  void Done(const absl::Status& status, Outcome& outcome) override {
    ++ends;
    this->status = status;
    for (const ResultArray& result : outcome.results) {
      bytes.emplace_back(static_cast<const char*>(result.bytes),
                         static_cast<size_t>(result.count * result.element_bytes));
    }
    this->outcome = std::move(outcome);
  }
  void Abandon(const absl::Status& status) override { abandoned.push_back(status); }

  std::atomic<bool> cancelled{false};
  std::atomic<int> ends{0};
  // Read these when the other threads are done.
  std::vector<absl::Status> abandoned;
  absl::Status status = absl::UnknownError("not ended");
  Outcome outcome;
  std::vector<std::string> bytes;  // of the results, which the outcome borrows
};

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_DOUBLES_H_
