#include "server/run/packed_stream.h"

#include <algorithm>
#include <cstring>

#include "kernels/engine/alignment.h"
#include "server/base/status_macros.h"

namespace corank {
absl::Status PackedStream::Begin(Pace) {
  CORANK_RETURN_IF_ERROR(ForwardingStream::Begin(Pace::kPhases));
  CORANK_ASSIGN_OR_RETURN(void* const h_in, ForwardingStream::AllocateHost(bytes_));
  CORANK_ASSIGN_OR_RETURN(void* const d_in, ForwardingStream::AllocateDevice(bytes_));
  CORANK_ASSIGN_OR_RETURN(out_, ForwardingStream::AllocateResult(bytes_));
  h_in_ = static_cast<char*>(h_in);
  d_in_ = static_cast<char*>(d_in);
  return absl::OkStatus();
}

absl::StatusOr<const void*> PackedStream::Upload(const void* h_bytes, int64_t bytes) {
  if (bytes > bytes_ - in_used_) return ForwardingStream::Upload(h_bytes, bytes);
  std::memcpy(h_in_ + in_used_, h_bytes, static_cast<size_t>(bytes));
  const void* const d_bytes = d_in_ + in_used_;
  in_used_ = std::min(bytes_, in_used_ + AlignUp(bytes));
  return d_bytes;
}

absl::StatusOr<ResultBuffer> PackedStream::AllocateResult(int64_t bytes) {
  if (bytes > bytes_ - out_used_) return ForwardingStream::AllocateResult(bytes);
  const ResultBuffer result = {static_cast<char*>(out_.device) + out_used_, static_cast<char*>(out_.host) + out_used_};
  out_used_ = std::min(bytes_, out_used_ + AlignUp(bytes));
  return result;
}

absl::Status PackedStream::EndCopyIn() {
  if (in_used_ > 0) CORANK_RETURN_IF_ERROR(ForwardingStream::CopyToDevice(d_in_, h_in_, in_used_));
  return ForwardingStream::EndCopyIn();
}

absl::Status PackedStream::Download(const ResultBuffer& result, int64_t bytes) {
  const auto* const begin = static_cast<const char*>(out_.host);
  const auto* const host = static_cast<const char*>(result.host);
  if (host < begin || host >= begin + bytes_) return ForwardingStream::Download(result, bytes);
  out_wanted_ = std::max(out_wanted_, host - begin + bytes);
  return absl::OkStatus();
}

absl::StatusOr<PhaseTimes> PackedStream::Finish() {
  const absl::Status copied = out_wanted_ == 0 ? absl::OkStatus() : ForwardingStream::Download(out_, out_wanted_);
  absl::StatusOr<PhaseTimes> times = ForwardingStream::Finish();
  CORANK_RETURN_IF_ERROR(copied);
  return times;
}

}  // namespace corank
