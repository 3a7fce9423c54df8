#include "tests/faults/breaking_engine.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "kernels/engine/forwarding_engine.h"

#ifdef CORANK_HAS_CUDA
#include "tests/faults/gpu_faults.h"
#endif

namespace corank::testing {
namespace {

struct State {
  bool on_gpu = false;
  std::atomic<bool> wrong{false};
  std::atomic<bool> lost{false};
  std::atomic<bool> hangs{false};
  std::atomic<bool> hangs_when_trimmed{false};
};

[[noreturn]] void SleepForEver() {
  for (;;) pause();
}

absl::Status Lost() { return absl::UnavailableError("a test broke the device"); }

class BreakingStream final : public ForwardingStream {
 public:
  BreakingStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<State> state)
      : ForwardingStream(std::move(stream)), state_(std::move(state)) {}

  absl::Status Begin(Pace pace) override {
    if (state_->hangs) SleepForEver();
    if (state_->lost) return Lost();
    return ForwardingStream::Begin(pace);
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    if (state_->hangs) SleepForEver();
    if (state_->lost) return Lost();
    return ForwardingStream::Finish();
  }
  void Trim() override {
    if (state_->hangs_when_trimmed && !is_short_of_memory_) {
      state_->hangs = true;
      SleepForEver();
    }
    ForwardingStream::Trim();
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    if (absl::Status status = Break(args.count); !status.ok()) return status;
    if (!state_->wrong) return ForwardingStream::Sort(args, report);
    report->sort_algorithm = SortAlgorithm::kCopy;
    return Copy(args.keys_out, args.keys_in, args.ResultCount() * KeyBytes(args.key_type));
  }

 private:
  absl::Status Break(int64_t count) {
    if (count == kFault) return absl::InternalError("a test made the engine fail");
    if (count == kHangWhenTrimmed) {
      is_short_of_memory_ = state_->hangs_when_trimmed = true;
      return absl::ResourceExhaustedError("a test took the memory");
    }
    if (count == kWrong) state_->wrong = true;
    if (count == kMend) state_->wrong = false;
    return state_->on_gpu ? BreakGpu(count) : BreakCpu(count);
  }

  absl::Status BreakCpu(int64_t count) {
    if (count == kOutOfBounds || count == kAssertion || count == kIllegalInstruction) {
      state_->lost = true;
      return Lost();
    }
    if (count == kHang) SleepForEver();
    if (count == kHangBehind) state_->hangs = true;
    if (count == kLater) {
      std::thread([state = state_] {
        std::this_thread::sleep_for(std::chrono::milliseconds(kLaterMilliseconds));
        state->lost = true;
      }).detach();
    }
    return absl::OkStatus();
  }

  static absl::Status BreakGpu([[maybe_unused]] int64_t count) {
    bool works = true;
#ifdef CORANK_HAS_CUDA
    if (count == kOutOfBounds) works = WriteOutOfBounds(0);
    if (count == kLater) works = WriteOutOfBounds(kLaterMilliseconds);
    if (count == kAssertion) works = FailAssertion();
    if (count == kIllegalInstruction) works = RunIllegalInstruction();
    if (count == kHang || count == kHangBehind) works = SpinForEver();
#endif
    return works ? absl::OkStatus() : absl::InternalError("the breaking kernel cannot be launched");
  }

  const std::shared_ptr<State> state_;
  bool is_short_of_memory_ = false;
};

class BreakingEngine final : public ForwardingEngine {
 public:
  explicit BreakingEngine(std::unique_ptr<Engine> engine)
      : ForwardingEngine(std::move(engine)), state_(std::make_shared<State>()) {
    state_->on_gpu = info().kind == EngineKind::kCuda;
  }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    absl::StatusOr<std::unique_ptr<EngineStream>> stream = ForwardingEngine::CreateStream();
    if (!stream.ok()) return stream;
    return std::make_unique<BreakingStream>(*std::move(stream), state_);
  }

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Engine> Breaking(std::unique_ptr<Engine> engine) {
  return std::make_unique<BreakingEngine>(std::move(engine));
}

}  // namespace corank::testing
