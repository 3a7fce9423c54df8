// A stream for the small requests of a batch: their bytes are copied together.
#ifndef CORANK_SERVER_RUN_PACKED_STREAM_H_
#define CORANK_SERVER_RUN_PACKED_STREAM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/forwarding_engine.h"

namespace corank {

/// Gathers uploads in one block of pinned memory, which EndCopyIn copies in, and takes results from another, which
/// Finish copies out. Data that does not fit is copied separately. One request: Begin to Finish.
class PackedStream final : public ForwardingStream {
 public:
  /// Room for this many bytes of uploads, and for as many of results. `inner` outlives this.
  PackedStream(EngineStream* inner, int64_t bytes) : ForwardingStream(inner), bytes_(bytes) {}

  absl::Status Begin(Pace pace) override;
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override;
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override;
  absl::Status EndCopyIn() override;
  absl::Status Download(const ResultBuffer& result, int64_t bytes) override;
  absl::StatusOr<PhaseTimes> Finish() override;

 private:
  const int64_t bytes_;
  char* h_in_ = nullptr;
  char* d_in_ = nullptr;
  int64_t in_used_ = 0;
  ResultBuffer out_;
  int64_t out_used_ = 0;
  int64_t out_wanted_ = 0;  // end of the results to copy out
};

}  // namespace corank

#endif  // CORANK_SERVER_RUN_PACKED_STREAM_H_
