#include "kernels/cuda/engine/host_relay.h"

#include <algorithm>

#include "kernels/cuda/engine/cuda_status.h"

namespace corank::cuda {

HostRelay::~HostRelay() {
  // Errors mean a ruined context, and nothing can be done about them.
  const auto destroy_events = [](const End& end) {
    for (cudaEvent_t event : end.is_done) {
      if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
    }
    if (end.is_here != nullptr) static_cast<void>(cudaEventDestroy(end.is_here));
  };
  destroy_events(near_);
  for (const End& end : far_) {
    if (end.stream != nullptr) static_cast<void>(cudaStreamDestroy(end.stream));
    destroy_events(end);
  }
}

absl::Status HostRelay::MakeEvents(End& end) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(end.device), "set device");
  const auto make = [](cudaEvent_t& event) {
    if (event != nullptr) return absl::OkStatus();
    CORANK_RETURN_IF_CUDA_FAILED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "create event");
    return absl::OkStatus();
  };
  for (cudaEvent_t& event : end.is_done) {
    if (absl::Status made = make(event); !made.ok()) return made;
  }
  return make(end.is_here);
}

absl::StatusOr<HostRelay::End*> HostRelay::EndOn(int device) {
  const auto is_there = [device](const End& end) { return end.device == device; };
  End* end = &near_;
  if (!is_there(near_)) {
    const auto known = std::find_if(far_.begin(), far_.end(), is_there);
    end = known != far_.end() ? &*known : &far_.emplace_back();
    end->device = device;
  }
  if (absl::Status made = MakeEvents(*end); !made.ok()) return made;
  if (end->stream == nullptr) {
    CORANK_RETURN_IF_CUDA_FAILED(cudaStreamCreateWithFlags(&end->stream, cudaStreamNonBlocking), "create stream");
  }
  return end;
}

absl::Status HostRelay::Mark(const End& end, cudaEvent_t event) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(end.device), "set device");
  CORANK_RETURN_IF_CUDA_FAILED(cudaEventRecord(event, end.stream), "record event");
  return absl::OkStatus();
}

absl::Status HostRelay::Wait(const End& end, cudaEvent_t event) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaStreamWaitEvent(end.stream, event, cudaEventWaitDefault), "wait for another stream");
  return absl::OkStatus();
}

// The driver needs the GPU of the stream to be current, because memory of a pool is not known to the others.
absl::Status HostRelay::Enqueue(const End& end, size_t piece, void* to, const void* from, int64_t bytes,
                                cudaMemcpyKind kind) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(end.device), "set device");
  CORANK_RETURN_IF_CUDA_FAILED(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, end.stream),
                               "copy between GPUs");
  return Mark(end, end.is_done[piece]);
}

absl::Status HostRelay::CopyPieces(End& from, End& to, char* d_to, const char* d_from, int64_t bytes, char* h_pieces) {
  size_t number = 0;
  for (int64_t at = 0; at < bytes; at += kPieceBytes, ++number) {
    const size_t piece = number % kPieces;
    const int64_t size = std::min(kPieceBytes, bytes - at);
    char* const h_piece = h_pieces + static_cast<int64_t>(piece) * kPieceBytes;
    absl::Status status;
    if (number >= kPieces) status = Wait(from, to.is_done[piece]);
    if (status.ok()) status = Enqueue(from, piece, h_piece, d_from + at, size, cudaMemcpyDeviceToHost);
    if (status.ok()) status = Wait(to, from.is_done[piece]);
    if (status.ok()) status = Enqueue(to, piece, d_to + at, h_piece, size, cudaMemcpyHostToDevice);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status HostRelay::Copy(void* d_to, const void* d_from, int64_t bytes, char* h_pieces) {
  const auto end_of = [this](const void* d_memory) -> absl::StatusOr<End*> {
    cudaPointerAttributes at = {};
    CORANK_RETURN_IF_CUDA_FAILED(cudaPointerGetAttributes(&at, d_memory), "find the GPU of an array");
    return EndOn(at.device);
  };
  const absl::StatusOr<End*> from = end_of(d_from);
  if (!from.ok()) return from.status();
  const absl::StatusOr<End*> to = end_of(d_to);
  if (!to.ok()) return to.status();
  if (*from != &near_ && *to != &near_) return absl::InternalError("a copy between two other GPUs");
  const End& far = *from == &near_ ? **to : **from;
  // The other stream begins after the work before, which also empties the pieces, and this one goes on after it.
  absl::Status status = Mark(near_, near_.is_here);
  if (status.ok()) status = Wait(far, near_.is_here);
  if (status.ok()) {
    status = CopyPieces(**from, **to, static_cast<char*>(d_to), static_cast<const char*>(d_from), bytes, h_pieces);
  }
  if (status.ok()) status = Mark(far, far.is_here);
  if (status.ok()) status = Wait(near_, far.is_here);
  if (!status.ok()) {
    // The caller is about to free memory that enqueued copies still use, and waits for its own stream only.
    static_cast<void>(cudaStreamSynchronize(far.stream));
    static_cast<void>(cudaGetLastError());
  }
  return status;
}

}  // namespace corank::cuda
