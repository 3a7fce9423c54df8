// An engine and a stream that forward every call. Derive from them to change some calls.
#ifndef CORANK_KERNELS_ENGINE_FORWARDING_ENGINE_H_
#define CORANK_KERNELS_ENGINE_FORWARDING_ENGINE_H_

#include <memory>
#include <utility>

#include "kernels/engine/engine.h"

namespace corank {

class ForwardingStream : public EngineStream {
 public:
  /// `stream` outlives this.
  explicit ForwardingStream(EngineStream* stream) : stream_(stream) {}
  explicit ForwardingStream(std::unique_ptr<EngineStream> stream) : owned_(std::move(stream)), stream_(owned_.get()) {}

  int device() const override { return stream_->device(); }
  absl::Status Begin(Pace pace) override { return stream_->Begin(pace); }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    return stream_->Upload(h_bytes, bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override { return stream_->AllocateHost(bytes); }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override { return stream_->AllocateDevice(bytes); }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override { return stream_->AllocateResult(bytes); }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return stream_->AllocateResultAt(h_place, bytes);
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override { return stream_->Zero(d_bytes, bytes); }
  absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) override {
    return stream_->Iota(d_out, element_bytes, first, count);
  }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return stream_->Copy(d_to, d_from, bytes);
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return stream_->CopyToDevice(d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return stream_->CopyToHost(h_to, d_from, bytes);
  }
  absl::Status EndCopyIn() override { return stream_->EndCopyIn(); }
  absl::Status EndKernels() override { return stream_->EndKernels(); }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override { return stream_->Download(result, bytes); }
  absl::StatusOr<const void*> MarkPoint() override { return stream_->MarkPoint(); }
  absl::Status After(const void* point) override { return stream_->After(point); }
  absl::StatusOr<PhaseTimes> Finish() override { return stream_->Finish(); }
  absl::Status Sort(const SortArgs& args, OperatorReport* report) override { return stream_->Sort(args, report); }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    return stream_->SortEach(sorts, reports);
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return stream_->SortColumns(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override { return stream_->Merge(args, report); }
  absl::Status SplitRuns(const SplitArgs& args) override { return stream_->SplitRuns(args); }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override { return stream_->Expand(args, report); }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override { return stream_->Move(args, report); }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return stream_->LoadBalance(args, report);
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override { return stream_->Search(args, report); }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    return stream_->SearchColumns(args, report);
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override { return stream_->Group(args, report); }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override { return stream_->Select(args, report); }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    return stream_->CombineSets(args, report);
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override { return stream_->Join(args, report); }
  void End() override { stream_->End(); }
  void Trim() override { stream_->Trim(); }
  int64_t workspace_bytes() const override { return stream_->workspace_bytes(); }

 private:
  const std::unique_ptr<EngineStream> owned_;
  EngineStream* const stream_;
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
