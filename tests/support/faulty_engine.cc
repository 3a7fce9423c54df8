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

class FaultyStream final : public InterceptingStream<FaultyStream> {
 public:
  FaultyStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<FaultPlan> plan)
      : InterceptingStream(std::move(stream)), plan_(std::move(plan)) {}

  absl::Status Begin(Pace pace) override {
    plan_->Wait();
    return InterceptingStream::Begin(pace);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    // Waits for the work anyway, as a GPU does when its event cannot be read.
    absl::StatusOr<PhaseTimes> times = next().Finish();
    FAIL_IF_PLANNED("Finish");
    return times;
  }
  template <typename Call>
  std::invoke_result_t<Call> Intercept(const char* name, const Call& call) {
    FAIL_IF_PLANNED(name);
    return call();
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
