// Wraps the engine and its streams, with every call under a DeviceWatch.
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/engine/forwarding_engine.h"
#include "server/base/status_macros.h"
#include "server/run/device_watch.h"

namespace corank {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Makes a call and converts its error. `line`: null if the call never counts as hanging.
template <typename Call>
std::invoke_result_t<Call> Judged(DeviceWatch& watch, DeviceWatch::Line* line, const Call& call) {
  if (line != nullptr) line->Enter();
  std::invoke_result_t<Call> result = call();
  if (line != nullptr) line->Leave();
  if (StatusOf(result).ok()) return result;
  return watch.Judge(StatusOf(result));
}

class WatchedStream final : public ForwardingStream {
 public:
  WatchedStream(std::unique_ptr<EngineStream> stream, DeviceWatch* watch, bool can_hang)
      : ForwardingStream(std::move(stream)), line_(watch), hanging_line_(can_hang ? &line_ : nullptr) {}

  int device() const override { return line_.watch().device(); }
  absl::Status Begin(Pace pace) override {
    return Start([&] { return ForwardingStream::Begin(pace); });
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    return Start([&] { return ForwardingStream::Upload(h_bytes, bytes); });
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Start([&] { return ForwardingStream::AllocateHost(bytes); });
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    return Start([&] { return ForwardingStream::AllocateDevice(bytes); });
  }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    return Start([&] { return ForwardingStream::AllocateResult(bytes); });
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return Start([&] { return ForwardingStream::AllocateResultAt(h_place, bytes); });
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override {
    return Start([&] { return ForwardingStream::Zero(d_bytes, bytes); });
  }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    return Start([&] { return ForwardingStream::Iota(d_out, element_bytes, first, count); });
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return Start([&] { return ForwardingStream::Copy(d_to, d_from, bytes); });
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Start([&] { return ForwardingStream::CopyToDevice(d_to, h_from, bytes); });
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return Start([&] { return ForwardingStream::CopyToHost(h_to, d_from, bytes); });
  }
  absl::Status EndCopyIn() override {
    return Start([&] { return ForwardingStream::EndCopyIn(); });
  }
  absl::Status EndKernels() override {
    return Start([&] { return ForwardingStream::EndKernels(); });
  }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override {
    return Start([&] { return ForwardingStream::Download(result, bytes); });
  }
  absl::StatusOr<const void*> MarkPoint() override {
    return Start([&] { return ForwardingStream::MarkPoint(); });
  }
  absl::Status After(const void* point) override {
    return Start([&] { return ForwardingStream::After(point); });
  }
  absl::StatusOr<PhaseTimes> Finish() override {
    // Also after the device is lost: copies in flight access the request's memory.
    return Judged(line_.watch(), hanging_line_, [&] { return ForwardingStream::Finish(); });
  }
  void End() override {
    Free([&] { ForwardingStream::End(); });
  }
  void Trim() override {
    Free([&] { ForwardingStream::Trim(); });
  }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::Sort(args, report); });
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    return Start([&] { return ForwardingStream::SortEach(sorts, reports); });
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::SortColumns(args, report); });
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::Merge(args, report); });
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    return Start([&] { return ForwardingStream::SplitRuns(args); });
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::Expand(args, report); });
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::Move(args, report); });
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::LoadBalance(args, report); });
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::Search(args, report); });
  }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    return Start([&] { return ForwardingStream::SearchColumns(args, report); });
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override {
    return Start([&] { return ForwardingStream::Group(args, report); });
  }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override {
    return Start([&] { return ForwardingStream::Select(args, report); });
  }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    return Start([&] { return ForwardingStream::CombineSets(args, report); });
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override {
    return Start([&] { return ForwardingStream::Join(args, report); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Start(const Call& call) {
    if (line_.watch().lost()) return line_.watch().Lost();
    return Judged(line_.watch(), hanging_line_, call);
  }
  // Freeing pinned memory waits for the device, for ever if that hangs.
  template <typename Call>
  void Free(const Call& call) {
    if (line_.watch().lost()) return;
    if (hanging_line_ != nullptr) hanging_line_->Enter();
    call();
    if (hanging_line_ != nullptr) hanging_line_->Leave();
  }

  DeviceWatch::Line line_;
  DeviceWatch::Line* const hanging_line_;
};

class WatchedEngine final : public ForwardingEngine {
 public:
  WatchedEngine(std::unique_ptr<Engine> engine, DeviceWatch* watch)
      : ForwardingEngine(std::move(engine)), watch_(watch), can_hang_(info().kind == EngineKind::kCuda) {}

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    CORANK_ASSIGN_OR_RETURN(auto stream, Start([&] { return ForwardingEngine::CreateStream(); }));
    return std::make_unique<WatchedStream>(std::move(stream), watch_, can_hang_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return Start([&] { return ForwardingEngine::AllocateHost(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return Start([&] { return ForwardingEngine::AllocateDevice(bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return Start([&] { return ForwardingEngine::PinHost(h_bytes, bytes); });
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    return Start([&] { return ForwardingEngine::OpenIpc(handle, offset_bytes, size_bytes); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Start(const Call& call) {
    if (watch_->lost()) return watch_->Lost();
    if (!can_hang_) return Judged(*watch_, nullptr, call);
    DeviceWatch::Line line(watch_);
    return Judged(*watch_, &line, call);
  }

  DeviceWatch* const watch_;
  const bool can_hang_;
};

}  // namespace

std::unique_ptr<Engine> Watched(std::unique_ptr<Engine> engine, DeviceWatch* watch) {
  return std::make_unique<WatchedEngine>(std::move(engine), watch);
}

}  // namespace corank
