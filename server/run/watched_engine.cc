// Wraps the engine and its streams, with every call under a DeviceWatch.
#include <memory>
#include <utility>

#include "server/run/device_watch.h"

namespace corank {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Makes a call and converts its error. `line`: null if the call never counts as hanging.
template <typename Result, typename Call>
Result Judged(DeviceWatch& watch, DeviceWatch::Line* line, const Call& call) {
  if (line != nullptr) line->Enter();
  Result result = call();
  if (line != nullptr) line->Leave();
  if (StatusOf(result).ok()) return result;
  return watch.Judge(StatusOf(result));
}

class WatchedStream final : public EngineStream {
 public:
  WatchedStream(std::unique_ptr<EngineStream> stream, DeviceWatch* watch, bool can_hang)
      : stream_(std::move(stream)), line_(watch), hanging_line_(can_hang ? &line_ : nullptr) {}

  int device() const override { return line_.watch().device(); }
  absl::Status Begin(Pace pace) override {
    return Start<absl::Status>([&] { return stream_->Begin(pace); });
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    return Start<absl::StatusOr<const void*>>([&] { return stream_->Upload(h_bytes, bytes); });
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Start<absl::StatusOr<void*>>([&] { return stream_->AllocateHost(bytes); });
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    return Start<absl::StatusOr<void*>>([&] { return stream_->AllocateDevice(bytes); });
  }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    return Start<absl::StatusOr<ResultBuffer>>([&] { return stream_->AllocateResult(bytes); });
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return Start<absl::StatusOr<ResultBuffer>>([&] { return stream_->AllocateResultAt(h_place, bytes); });
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override {
    return Start<absl::Status>([&] { return stream_->Zero(d_bytes, bytes); });
  }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    return Start<absl::Status>([&] { return stream_->Iota(d_out, element_bytes, first, count); });
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return Start<absl::Status>([&] { return stream_->Copy(d_to, d_from, bytes); });
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Start<absl::Status>([&] { return stream_->CopyToDevice(d_to, h_from, bytes); });
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return Start<absl::Status>([&] { return stream_->CopyToHost(h_to, d_from, bytes); });
  }
  absl::Status EndCopyIn() override {
    return Start<absl::Status>([&] { return stream_->EndCopyIn(); });
  }
  absl::Status EndKernels() override {
    return Start<absl::Status>([&] { return stream_->EndKernels(); });
  }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override {
    return Start<absl::Status>([&] { return stream_->Download(result, bytes); });
  }
  absl::StatusOr<const void*> MarkPoint() override {
    return Start<absl::StatusOr<const void*>>([&] { return stream_->MarkPoint(); });
  }
  absl::Status After(const void* point) override {
    return Start<absl::Status>([&] { return stream_->After(point); });
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    // Also after the device is lost: copies in flight access the request's memory.
    return Judged<absl::StatusOr<PhaseTimes>>(line_.watch(), hanging_line_, [&] { return stream_->Finish(); });
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->Sort(args, report); });
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    return Start<absl::Status>([&] { return stream_->SortEach(sorts, reports); });
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->SortColumns(args, report); });
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->Merge(args, report); });
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    return Start<absl::Status>([&] { return stream_->SplitRuns(args); });
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->Expand(args, report); });
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->Move(args, report); });
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->LoadBalance(args, report); });
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    return Start<absl::Status>([&] { return stream_->Search(args, report); });
  }
  void Trim() override { stream_->Trim(); }
  int64_t workspace_bytes() const override { return stream_->workspace_bytes(); }

 private:
  template <typename Result, typename Call>
  Result Start(const Call& call) {
    if (line_.watch().lost()) return line_.watch().Lost();
    return Judged<Result>(line_.watch(), hanging_line_, call);
  }

  const std::unique_ptr<EngineStream> stream_;
  DeviceWatch::Line line_;
  DeviceWatch::Line* const hanging_line_;
};

class WatchedEngine final : public Engine {
 public:
  WatchedEngine(std::unique_ptr<Engine> engine, DeviceWatch* watch)
      : engine_(std::move(engine)), watch_(watch), can_hang_(engine_->info().kind == EngineKind::kCuda) {}

  const EngineInfo& info() const override { return engine_->info(); }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    using Stream = absl::StatusOr<std::unique_ptr<EngineStream>>;
    Stream stream = Start<Stream>([&] { return engine_->CreateStream(); });
    if (!stream.ok()) return stream;
    return std::make_unique<WatchedStream>(*std::move(stream), watch_, can_hang_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return Start<Memory>([&] { return engine_->AllocateHost(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return Start<Memory>([&] { return engine_->AllocateDevice(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return Start<Memory>([&] { return engine_->PinHost(h_bytes, bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    return Start<Memory>([&] { return engine_->OpenIpc(handle, offset_bytes, size_bytes); });
  }

  int64_t WorkspaceBytes(const SortArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const ColumnSortArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MergeArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const ExpandArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MoveArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const LoadBalanceArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SearchArgs& args) const override { return engine_->WorkspaceBytes(args); }

 private:
  using Memory = absl::StatusOr<std::unique_ptr<EngineMemory>>;

  template <typename Result, typename Call>
  Result Start(const Call& call) {
    if (watch_->lost()) return watch_->Lost();
    if (!can_hang_) return Judged<Result>(*watch_, nullptr, call);
    DeviceWatch::Line line(watch_);
    return Judged<Result>(*watch_, &line, call);
  }

  const std::unique_ptr<Engine> engine_;
  DeviceWatch* const watch_;
  const bool can_hang_;
};

}  // namespace

std::unique_ptr<Engine> Watched(std::unique_ptr<Engine> engine, DeviceWatch* watch) {
  return std::make_unique<WatchedEngine>(std::move(engine), watch);
}

}  // namespace corank
