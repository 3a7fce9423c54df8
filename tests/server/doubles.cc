#include "tests/server/doubles.h"

#include <cstring>

namespace corank::testing {
namespace {

class PuppetStream final : public EngineStream {
 public:
  explicit PuppetStream(PuppetEngine* engine) : engine_(engine) {}

  absl::Status Begin(Pace) override {
    memory_.clear();
    return engine_->Enter("Begin");
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t) override {
    engine_->NoteUpload(h_bytes);
    if (absl::Status status = engine_->Enter("Upload"); !status.ok()) return status;
    return h_bytes;
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    if (absl::Status status = engine_->Enter("AllocateHost"); !status.ok()) return status;
    return Allocate(bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override { return Allocate(bytes); }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    if (absl::Status status = engine_->Enter("AllocateResult"); !status.ok()) return status;
    void* memory = Allocate(bytes);
    return ResultBuffer{memory, memory};
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t) override {
    if (absl::Status status = engine_->Enter("AllocateResult"); !status.ok()) return status;
    return ResultBuffer{h_place, h_place};
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override {
    std::memset(d_bytes, 0, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Iota(void*, int, int64_t, int64_t) override { return engine_->Enter("Iota"); }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    engine_->NoteCopy(bytes);
    std::memcpy(d_to, d_from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Copy(d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override { return Copy(h_to, d_from, bytes); }
  absl::Status EndCopyIn() override { return engine_->Enter("EndCopyIn"); }
  absl::Status EndKernels() override { return engine_->Enter("EndKernels"); }
  absl::Status Download(const ResultBuffer&, int64_t) override { return engine_->Enter("Download"); }
  absl::StatusOr<PhaseTimes> Finish() override {
    if (absl::Status status = engine_->Enter("Finish"); !status.ok()) return status;
    return PhaseTimes{1, 2, 3};
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    Answer(args, report);
    return engine_->Enter("Run", report);
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    for (size_t i = 0; i < sorts.size(); ++i) Answer(sorts[i], &reports[i]);
    return engine_->Enter("Run", reports);
  }
  absl::Status SortColumns(const ColumnSortArgs&, OperatorReport* report) override {
    return engine_->Enter("Run", report);
  }
  absl::Status Merge(const MergeArgs&, OperatorReport* report) override { return engine_->Enter("Run", report); }
  absl::Status SplitRuns(const SplitArgs&) override { return engine_->Enter("SplitRuns"); }
  absl::Status Expand(const ExpandArgs&, OperatorReport* report) override { return engine_->Enter("Run", report); }
  absl::Status Move(const MoveArgs&, OperatorReport* report) override { return engine_->Enter("Run", report); }
  absl::Status LoadBalance(const LoadBalanceArgs&, OperatorReport* report) override {
    return engine_->Enter("Run", report);
  }
  absl::Status Search(const SearchArgs&, OperatorReport* report) override { return engine_->Enter("Run", report); }
  absl::Status SearchColumns(const ColumnSearchArgs&, OperatorReport* report) override {
    return engine_->Enter("Run", report);
  }
  absl::Status Group(const GroupArgs&, GroupReport*) override {
    OperatorReport unused;
    return engine_->Enter("Run", &unused);
  }
  absl::Status Select(const SelectArgs&, SelectReport*) override {
    OperatorReport unused;
    return engine_->Enter("Run", &unused);
  }
  absl::Status CombineSets(const SetArgs&, SetReport*) override {
    OperatorReport unused;
    return engine_->Enter("Run", &unused);
  }
  absl::Status Join(const JoinArgs&, JoinReport*) override {
    OperatorReport unused;
    return engine_->Enter("Run", &unused);
  }
  void End() override { engine_->NoteEnd(); }
  void Trim() override { static_cast<void>(engine_->Enter("Trim")); }
  int64_t workspace_bytes() const override { return 4; }

 private:
  void Answer(const SortArgs& args, OperatorReport* report) {
    report->sort_algorithm = SortAlgorithm::kCopy;
    if (args.keys_out == nullptr) return;
    const int64_t bytes = args.ResultCount() * KeyBytes(args.key_type);
    engine_->NoteCopy(bytes);
    std::memcpy(args.keys_out, args.keys_in, static_cast<size_t>(bytes));
  }
  void* Allocate(int64_t bytes) {
    engine_->NoteAllocation(bytes);
    memory_.push_back(std::make_unique<uint64_t[]>(static_cast<size_t>(bytes / 8 + 1)));
    return memory_.back().get();
  }

  PuppetEngine* const engine_;
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
};

class PuppetMemory final : public EngineMemory {
 public:
  explicit PuppetMemory(int64_t bytes) : EngineMemory(new uint64_t[static_cast<size_t>(bytes / 8 + 1)], bytes) {}
  ~PuppetMemory() override { delete[] static_cast<uint64_t*>(data()); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<EngineStream>> PuppetEngine::CreateStream() {
  if (streams_fail_) return absl::ResourceExhaustedError("no memory for a stream");
  return std::make_unique<PuppetStream>(this);
}

absl::StatusOr<std::unique_ptr<EngineMemory>> PuppetEngine::AllocateHost(int64_t bytes) {
  if (absl::Status status = Enter("AllocateMemory"); !status.ok()) return status;
  NoteAllocation(bytes);
  return std::make_unique<PuppetMemory>(bytes);
}

absl::StatusOr<std::unique_ptr<EngineMemory>> PuppetEngine::PinHost(void* h_bytes, int64_t bytes) {
  if (absl::Status status = Enter("PinHost"); !status.ok()) return status;
  return std::make_unique<EngineMemory>(h_bytes, bytes);
}

absl::StatusOr<std::unique_ptr<EngineMemory>> PuppetEngine::OpenIpc(absl::string_view, int64_t, int64_t) {
  return absl::UnimplementedError("a puppet has no GPU memory");
}

void PuppetEngine::Hold() {
  absl::MutexLock lock(&mutex_);
  hold_ = true;
}

void PuppetEngine::Release() {
  absl::MutexLock lock(&mutex_);
  hold_ = false;
}

void PuppetEngine::AwaitHeld(int count) {
  const auto held = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_ == count; };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&held));
}

std::vector<std::string> PuppetEngine::phases() const {
  absl::MutexLock lock(&mutex_);
  return phases_;
}

absl::Status PuppetEngine::Enter(const std::string& phase, OperatorReport* report) {
  {
    absl::MutexLock lock(&mutex_);
    phases_.push_back(phase);
    if (report != nullptr) {
      ++held_;
      const auto released = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !hold_; };
      mutex_.Await(absl::Condition(&released));
      --held_;
    }
  }
  return script_ ? script_(phase, report) : absl::OkStatus();
}

void PuppetEngine::NoteUpload(const void* bytes) {
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) uploads_were_aligned_ = false;
}

}  // namespace corank::testing
