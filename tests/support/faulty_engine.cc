#include "tests/support/faulty_engine.h"

#include <utility>

namespace corank::testing {

void FaultPlan::FailCall(int64_t n, const absl::Status& status, bool stays) {
  absl::MutexLock lock(&mutex_);
  stays_ = stays || absl::IsUnavailable(status);
  fails_ = false;
  calls_left_ = n;
  status_ = status;
  failed_.clear();
}

std::string FaultPlan::failed() const {
  absl::MutexLock lock(&mutex_);
  return failed_;
}

void FaultPlan::Hold() {
  absl::MutexLock lock(&mutex_);
  hold_ = true;
}

void FaultPlan::Release() {
  absl::MutexLock lock(&mutex_);
  hold_ = false;
}

void FaultPlan::AwaitHeld() {
  const auto held = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_ > 0; };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&held));
}

void FaultPlan::AtCall(const std::string& call, int64_t n, std::function<void()> action) {
  absl::MutexLock lock(&mutex_);
  action_call_ = call;
  action_at_ = n;
  action_calls_ = 0;
  action_ = std::move(action);
}

int64_t FaultPlan::calls() const {
  absl::MutexLock lock(&mutex_);
  return action_calls_;
}

absl::Status FaultPlan::Enter(const std::string& call) {
  std::function<void()> action;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (call == action_call_ && ++action_calls_ == action_at_) action = std::move(action_);
    status = FailIfPlanned(call);
  }
  if (action) action();
  return status;
}

absl::Status FaultPlan::FailIfPlanned(const std::string& call) {
  if (fails_) return status_;
  if (calls_left_ == 0 || --calls_left_ > 0) return absl::OkStatus();
  failed_ = call;
  fails_ = stays_;
  return status_;
}

void FaultPlan::Wait() {
  const auto released = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !hold_; };
  absl::MutexLock lock(&mutex_);
  ++held_;
  mutex_.Await(absl::Condition(&released));
  --held_;
}

void FaultPlan::AddBlocks(int64_t blocks) {
  absl::MutexLock lock(&mutex_);
  blocks_ += blocks;
}

int64_t FaultPlan::blocks() const {
  absl::MutexLock lock(&mutex_);
  return blocks_;
}

namespace {

class FaultyMemory final : public EngineMemory {
 public:
  FaultyMemory(std::unique_ptr<EngineMemory> memory, std::shared_ptr<FaultPlan> plan)
      : EngineMemory(memory->data(), memory->size_bytes()), memory_(std::move(memory)), plan_(std::move(plan)) {
    plan_->AddBlocks(1);
  }
  ~FaultyMemory() override { plan_->AddBlocks(-1); }

 private:
  const std::unique_ptr<EngineMemory> memory_;
  const std::shared_ptr<FaultPlan> plan_;
};

#define FAIL_IF_PLANNED(call) \
  if (absl::Status status = plan_->Enter(call); !status.ok()) return status

class FaultyStream final : public ForwardingStream {
 public:
  FaultyStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<FaultPlan> plan)
      : ForwardingStream(std::move(stream)), plan_(std::move(plan)) {}

  absl::Status Begin(Pace pace) override {
    plan_->Wait();
    FAIL_IF_PLANNED("Begin");
    return ForwardingStream::Begin(pace);
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    FAIL_IF_PLANNED("Upload");
    return ForwardingStream::Upload(h_bytes, bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    FAIL_IF_PLANNED("AllocateHost");
    return ForwardingStream::AllocateHost(bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    FAIL_IF_PLANNED("AllocateDevice");
    return ForwardingStream::AllocateDevice(bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    FAIL_IF_PLANNED("AllocateResult");
    return ForwardingStream::AllocateResult(bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    FAIL_IF_PLANNED("AllocateResultAt");
    return ForwardingStream::AllocateResultAt(h_place, bytes);
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override {
    FAIL_IF_PLANNED("Zero");
    return ForwardingStream::Zero(d_bytes, bytes);
  }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    FAIL_IF_PLANNED("Iota");
    return ForwardingStream::Iota(d_out, element_bytes, first, count);
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    FAIL_IF_PLANNED("Copy");
    return ForwardingStream::Copy(d_to, d_from, bytes);
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    FAIL_IF_PLANNED("CopyToDevice");
    return ForwardingStream::CopyToDevice(d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    FAIL_IF_PLANNED("CopyToHost");
    return ForwardingStream::CopyToHost(h_to, d_from, bytes);
  }
  absl::Status EndCopyIn() override {
    FAIL_IF_PLANNED("EndCopyIn");
    return ForwardingStream::EndCopyIn();
  }
  absl::Status EndKernels() override {
    FAIL_IF_PLANNED("EndKernels");
    return ForwardingStream::EndKernels();
  }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override {
    FAIL_IF_PLANNED("Download");
    return ForwardingStream::Download(result, bytes);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    // Waits for the work anyway, as a GPU does when its event cannot be read.
    absl::StatusOr<PhaseTimes> times = ForwardingStream::Finish();
    FAIL_IF_PLANNED("Finish");
    return times;
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("Sort");
    return ForwardingStream::Sort(args, report);
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("SortColumns");
    return ForwardingStream::SortColumns(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("Merge");
    return ForwardingStream::Merge(args, report);
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    FAIL_IF_PLANNED("SplitRuns");
    return ForwardingStream::SplitRuns(args);
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("Expand");
    return ForwardingStream::Expand(args, report);
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("Move");
    return ForwardingStream::Move(args, report);
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("LoadBalance");
    return ForwardingStream::LoadBalance(args, report);
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("Search");
    return ForwardingStream::Search(args, report);
  }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    FAIL_IF_PLANNED("SearchColumns");
    return ForwardingStream::SearchColumns(args, report);
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override {
    FAIL_IF_PLANNED("Group");
    return ForwardingStream::Group(args, report);
  }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override {
    FAIL_IF_PLANNED("Select");
    return ForwardingStream::Select(args, report);
  }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    FAIL_IF_PLANNED("CombineSets");
    return ForwardingStream::CombineSets(args, report);
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override {
    FAIL_IF_PLANNED("Join");
    return ForwardingStream::Join(args, report);
  }

 private:
  const std::shared_ptr<FaultPlan> plan_;
};

class FaultyEngine final : public ForwardingEngine {
 public:
  FaultyEngine(std::unique_ptr<Engine> engine, std::shared_ptr<FaultPlan> plan)
      : ForwardingEngine(std::move(engine)), plan_(std::move(plan)) {}

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    FAIL_IF_PLANNED("CreateStream");
    absl::StatusOr<std::unique_ptr<EngineStream>> stream = ForwardingEngine::CreateStream();
    if (!stream.ok()) return stream;
    return std::make_unique<FaultyStream>(*std::move(stream), plan_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    FAIL_IF_PLANNED("Engine::AllocateHost");
    return Counted(ForwardingEngine::AllocateHost(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    FAIL_IF_PLANNED("Engine::AllocateDevice");
    return Counted(ForwardingEngine::AllocateDevice(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    FAIL_IF_PLANNED("PinHost");
    return Counted(ForwardingEngine::PinHost(h_bytes, bytes));
  }

 private:
  absl::StatusOr<std::unique_ptr<EngineMemory>> Counted(absl::StatusOr<std::unique_ptr<EngineMemory>> memory) const {
    if (!memory.ok()) return memory;
    return std::make_unique<FaultyMemory>(*std::move(memory), plan_);
  }

  const std::shared_ptr<FaultPlan> plan_;
};

#undef FAIL_IF_PLANNED

}  // namespace

std::unique_ptr<Engine> Faulty(std::unique_ptr<Engine> engine, std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<FaultyEngine>(std::move(engine), std::move(plan));
}

}  // namespace corank::testing
