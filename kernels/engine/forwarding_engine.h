// An engine and a stream that forward every call, and a stream that intercepts every call. Derive from them to change
// some calls or all.
#ifndef CORANK_KERNELS_ENGINE_FORWARDING_ENGINE_H_
#define CORANK_KERNELS_ENGINE_FORWARDING_ENGINE_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/engine/engine.h"

namespace corank {

/// A stream that passes each call whose result is a status to another stream through
/// `Derived::Intercept(name, call)`. That template returns call(), or another result of its type. Other calls pass
/// directly.
template <typename Derived>
class InterceptingStream : public EngineStream {
 public:
  /// `stream` outlives this.
  explicit InterceptingStream(EngineStream* stream) : stream_(stream) {}
  explicit InterceptingStream(std::unique_ptr<EngineStream> stream)
      : owned_(std::move(stream)), stream_(owned_.get()) {}

  int device() const override { return stream_->device(); }
  absl::Status Begin(Pace pace) override { return Pass("Begin", &EngineStream::Begin, pace); }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    return Pass("Upload", &EngineStream::Upload, h_bytes, bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Pass("AllocateHost", &EngineStream::AllocateHost, bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    return Pass("AllocateDevice", &EngineStream::AllocateDevice, bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    return Pass("AllocateResult", &EngineStream::AllocateResult, bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return Pass("AllocateResultAt", &EngineStream::AllocateResultAt, h_place, bytes);
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override { return Pass("Zero", &EngineStream::Zero, d_bytes, bytes); }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    return Pass("Iota", &EngineStream::Iota, d_out, element_bytes, first, count);
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return Pass("Copy", &EngineStream::Copy, d_to, d_from, bytes);
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return Pass("CopyToDevice", &EngineStream::CopyToDevice, d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return Pass("CopyToHost", &EngineStream::CopyToHost, h_to, d_from, bytes);
  }
  absl::Status EndCopyIn() override { return Pass("EndCopyIn", &EngineStream::EndCopyIn); }
  absl::Status EndKernels() override { return Pass("EndKernels", &EngineStream::EndKernels); }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override {
    return Pass("Download", &EngineStream::Download, result, bytes);
  }
  absl::StatusOr<const void*> MarkPoint() override { return Pass("MarkPoint", &EngineStream::MarkPoint); }
  absl::Status After(const void* point) override { return Pass("After", &EngineStream::After, point); }
  absl::StatusOr<PhaseTimes> Finish() override { return Pass("Finish", &EngineStream::Finish); }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    return Pass("Sort", &EngineStream::Sort, args, report);
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    return Pass("SortEach", &EngineStream::SortEach, sorts, reports);
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return Pass("SortColumns", &EngineStream::SortColumns, args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    return Pass("Merge", &EngineStream::Merge, args, report);
  }
  absl::Status SplitRuns(const SplitArgs& args) override { return Pass("SplitRuns", &EngineStream::SplitRuns, args); }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    return Pass("Expand", &EngineStream::Expand, args, report);
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    return Pass("Move", &EngineStream::Move, args, report);
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return Pass("LoadBalance", &EngineStream::LoadBalance, args, report);
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    return Pass("Search", &EngineStream::Search, args, report);
  }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    return Pass("SearchColumns", &EngineStream::SearchColumns, args, report);
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override {
    return Pass("Group", &EngineStream::Group, args, report);
  }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override {
    return Pass("Select", &EngineStream::Select, args, report);
  }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    return Pass("CombineSets", &EngineStream::CombineSets, args, report);
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override {
    return Pass("Join", &EngineStream::Join, args, report);
  }
  void End() override { stream_->End(); }
  void Trim() override { stream_->Trim(); }
  int64_t workspace_bytes() const override { return stream_->workspace_bytes(); }

 protected:
  EngineStream& next() const { return *stream_; }

 private:
  template <typename Method, typename... Args>
  auto Pass(const char* name, Method method, const Args&... args) {
    return static_cast<Derived*>(this)->Intercept(name, [&] { return (stream_->*method)(args...); });
  }

  const std::unique_ptr<EngineStream> owned_;
  EngineStream* const stream_;
};

/// Forwards every call.
class ForwardingStream : public InterceptingStream<ForwardingStream> {
 public:
  using InterceptingStream::InterceptingStream;

  template <typename Call>
  static std::invoke_result_t<Call> Intercept(const char*, const Call& call) {
    return call();
  }
};

class ForwardingEngine : public Engine {
 public:
  explicit ForwardingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  const EngineInfo& info() const override { return engine_->info(); }
  void LimitKept(const KeptMemory& most) override { engine_->LimitKept(most); }
  KeptMemory kept() const override { return engine_->kept(); }
  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override { return engine_->CreateStream(); }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return engine_->AllocateHost(bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return engine_->AllocateDevice(bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return engine_->PinHost(h_bytes, bytes);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                        int64_t size_bytes) override {
    return engine_->OpenIpc(handle, offset_bytes, size_bytes);
  }
  int64_t WorkspaceBytes(const SortArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const ColumnSortArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MergeArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const ExpandArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const MoveArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const LoadBalanceArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SearchArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const ColumnSearchArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const GroupArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SelectArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const SetArgs& args) const override { return engine_->WorkspaceBytes(args); }
  int64_t WorkspaceBytes(const JoinArgs& args) const override { return engine_->WorkspaceBytes(args); }

 private:
  const std::unique_ptr<Engine> engine_;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_FORWARDING_ENGINE_H_
