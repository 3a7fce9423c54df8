#include "tests/server/reach_engine.h"

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/forwarding_engine.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

// Ranges of memory that kernels can read. Thread-safe.
class Reach {
 public:
  void Add(const void* memory, int64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    ranges_.emplace(static_cast<const char*>(memory), bytes);
  }
  void Remove(const void* memory) {
    const absl::MutexLock lock(&mutex_);
    ranges_.erase(ranges_.find(static_cast<const char*>(memory)));
  }
  bool Contains(const void* memory, int64_t bytes) const {
    if (bytes == 0) return true;
    const char* const first = static_cast<const char*>(memory);
    const absl::MutexLock lock(&mutex_);
    for (auto range = ranges_.begin(); range != ranges_.end() && !std::less<>()(first, range->first); ++range) {
      if (first + bytes <= range->first + range->second) return true;
    }
    return false;
  }

 private:
  mutable absl::Mutex mutex_;
  std::multimap<const char*, int64_t, std::less<>> ranges_ ABSL_GUARDED_BY(mutex_);
};

class ReachMemory final : public EngineMemory {
 public:
  ReachMemory(std::unique_ptr<EngineMemory> memory, std::shared_ptr<Reach> reach)
      : EngineMemory(memory->data(), memory->size_bytes()), memory_(std::move(memory)), reach_(std::move(reach)) {
    reach_->Add(data(), size_bytes());
  }
  ~ReachMemory() override { reach_->Remove(data()); }

 private:
  const std::unique_ptr<EngineMemory> memory_;
  const std::shared_ptr<Reach> reach_;
};

class ReachStream final : public ForwardingStream {
 public:
  ReachStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<Reach> reach)
      : ForwardingStream(std::move(stream)), reach_(std::move(reach)) {}
  ~ReachStream() override { Forget(); }

  absl::Status Begin(Pace pace) override {
    Forget();
    return ForwardingStream::Begin(pace);
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    return Noted(ForwardingStream::Upload(h_bytes, bytes), bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Noted(ForwardingStream::AllocateHost(bytes), bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    return Noted(ForwardingStream::AllocateDevice(bytes), bytes);
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    if (!Reaches(args.keys_in, args.count * KeyBytes(args.key_type)) ||
        (args.values_in != nullptr && !Reaches(args.values_in, args.count * args.value_bytes))) {
      return OutOfReach("Sort");
    }
    return ForwardingStream::Sort(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    if (!ReachesInputs(args, args.value_bytes)) return OutOfReach("Merge");
    return ForwardingStream::Merge(args, report);
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    if (!ReachesInputs(args, 0)) return OutOfReach("SplitRuns");
    return ForwardingStream::SplitRuns(args);
  }

 private:
  template <typename Pointer>
  absl::StatusOr<Pointer> Noted(absl::StatusOr<Pointer> memory, int64_t bytes) {
    if (memory.ok()) {
      reach_->Add(*memory, bytes);
      noted_.push_back(*memory);
    }
    return memory;
  }
  void Forget() {
    for (const void* memory : noted_) reach_->Remove(memory);
    noted_.clear();
  }
  bool Reaches(const void* memory, int64_t bytes) const { return reach_->Contains(memory, bytes); }
  template <typename Args>
  bool ReachesInputs(const Args& args, int64_t value_bytes) const {
    for (int32_t i = 0; i < args.input_count; ++i) {
      const MergeInput& input = args.inputs[i];
      if (!Reaches(input.keys, input.count * KeyBytes(args.key_type))) return false;
      if (value_bytes > 0 && !Reaches(input.values, input.count * value_bytes)) return false;
    }
    return true;
  }
  static absl::Status OutOfReach(const char* op) {
    return absl::InternalError(absl::StrCat(op, " was given memory that no kernel can read"));
  }

  const std::shared_ptr<Reach> reach_;
  std::vector<const void*> noted_;  // since Begin
};

class ReachingEngine final : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    absl::StatusOr<std::unique_ptr<EngineStream>> stream = ForwardingEngine::CreateStream();
    if (!stream.ok()) return stream;
    return std::make_unique<ReachStream>(*std::move(stream), reach_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return Noted(ForwardingEngine::AllocateHost(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return Noted(ForwardingEngine::AllocateDevice(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return Noted(ForwardingEngine::PinHost(h_bytes, bytes));
  }

 private:
  absl::StatusOr<std::unique_ptr<EngineMemory>> Noted(absl::StatusOr<std::unique_ptr<EngineMemory>> memory) const {
    if (!memory.ok()) return memory;
    return std::make_unique<ReachMemory>(*std::move(memory), reach_);
  }

  const std::shared_ptr<Reach> reach_ = std::make_shared<Reach>();
};

}  // namespace

ChosenEngine ReachEngine() {
  ChosenEngine chosen = CpuEngine();
  chosen.engine = std::make_unique<ReachingEngine>(std::move(chosen.engine));
  return chosen;
}

}  // namespace corank::testing
