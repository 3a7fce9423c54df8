// A stream for the small requests of a batch: their bytes travel as one.
#ifndef CORANK_SERVER_EXECUTE_PACKED_STREAM_H_
#define CORANK_SERVER_EXECUTE_PACKED_STREAM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank {

/// Gathers what is uploaded in one piece of pinned memory, which is copied in at EndCopyIn, and hands out results from
/// another, which is copied out at Finish. What has no room there goes its own way. One request: Begin to Finish.
class PackedStream final : public EngineStream {
 public:
  /// Room for this many bytes of uploads, and for as many of results. `inner` outlives this.
  PackedStream(EngineStream* inner, int64_t bytes) : inner_(inner), bytes_(bytes) {}

  absl::Status Begin(Pace pace) override;
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override;
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override { return inner_->AllocateHost(bytes); }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override { return inner_->AllocateDevice(bytes); }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override;
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return inner_->AllocateResultAt(h_place, bytes);
  }
  absl::Status Zero(void* d_bytes, int64_t bytes) override { return inner_->Zero(d_bytes, bytes); }
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) override {
    return inner_->Copy(d_to, d_from, bytes);
  }
  absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) override {
    return inner_->CopyToDevice(d_to, h_from, bytes);
  }
  absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) override {
    return inner_->CopyToHost(h_to, d_from, bytes);
  }
  absl::Status EndCopyIn() override;
  absl::Status EndKernels() override { return inner_->EndKernels(); }
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override;
  absl::StatusOr<PhaseTimes> Finish() override;

  absl::Status Sort(const SortArgs& args, OperatorReport* report) override { return inner_->Sort(args, report); }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    return inner_->SortColumns(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override { return inner_->Merge(args, report); }
  absl::Status SplitRuns(const SplitArgs& args) override { return inner_->SplitRuns(args); }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override { return inner_->Expand(args, report); }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override { return inner_->Move(args, report); }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    return inner_->LoadBalance(args, report);
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override { return inner_->Search(args, report); }
  int64_t workspace_bytes() const override { return inner_->workspace_bytes(); }

 private:
  EngineStream* const inner_;
  const int64_t bytes_;
  char* h_in_ = nullptr;
  char* d_in_ = nullptr;
  int64_t in_used_ = 0;
  ResultBuffer out_;
  int64_t out_used_ = 0;
  int64_t out_wanted_ = 0;  // up to where results are to be copied out
};

}  // namespace corank

#endif  // CORANK_SERVER_EXECUTE_PACKED_STREAM_H_
