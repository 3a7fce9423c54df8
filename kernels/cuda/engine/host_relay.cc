#include "kernels/cuda/engine/host_relay.h"

#include <algorithm>

#include "kernels/cuda/engine/cuda_status.h"

namespace corank::cuda {
namespace {

absl::Status MakeEvent(cudaEvent_t& event) {
  if (event != nullptr) return absl::OkStatus();
  return ToStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "create event");
}

absl::Status MakeStream(cudaStream_t& stream) {
  if (stream != nullptr) return absl::OkStatus();
  return ToStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create stream");
}

}  // namespace

HostRelay::~HostRelay() {
  Release();
  // Errors mean a ruined context, and nothing can be done about them.
  const auto destroy_event = [](cudaEvent_t event) {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  };
  const auto destroy_stream = [](cudaStream_t stream) {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  };
  for (const End& end : ends_) {
    destroy_stream(end.stream);
    for (cudaEvent_t event : end.is_done) destroy_event(event);
  }
  destroy_stream(points_);
  destroy_event(is_here_);
}

absl::StatusOr<int> HostRelay::DeviceOf(const void* d_memory) {
  cudaPointerAttributes at = {};
  CORANK_RETURN_IF_CUDA_FAILED(cudaPointerGetAttributes(&at, d_memory), "find the GPU of an array");
  return at.device;
}

absl::Status HostRelay::Mark(int device, cudaStream_t stream, cudaEvent_t event) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  return ToStatus(cudaEventRecord(event, stream), "record event");
}

absl::Status HostRelay::Wait(cudaStream_t stream, cudaEvent_t event) {
  return ToStatus(cudaStreamWaitEvent(stream, event, cudaEventWaitDefault), "wait for another stream");
}

// The driver needs the GPU of the stream to be current, because memory of a pool is not known to the others.
absl::Status HostRelay::Enqueue(const End& end, size_t piece, void* to, const void* from, int64_t bytes,
                                cudaMemcpyKind kind) {
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(end.device), "set device");
  CORANK_RETURN_IF_CUDA_FAILED(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, end.stream),
                               "copy between GPUs");
  return Mark(end.device, end.stream, end.is_done[piece]);
}

const HostRelay::End* HostRelay::Find(int device) const {
  const auto end = std::find_if(ends_.begin(), ends_.end(), [device](const End& e) { return e.device == device; });
  return end == ends_.end() ? nullptr : &*end;
}

absl::StatusOr<HostRelay::End*> HostRelay::EndOn(int device) {
  auto* end = const_cast<End*>(Find(device));
  if (end == nullptr) {
    end = &ends_.emplace_back();
    end->device = device;
  }
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device), "set device");
  absl::Status made = MakeStream(end->stream);
  for (cudaEvent_t& event : end->is_done) {
    if (made.ok()) made = MakeEvent(event);
  }
  if (!made.ok()) return made;
  return end;
}

absl::StatusOr<bool> HostRelay::Knows(const void* d_to, const void* d_from) const {
  if (ends_.empty()) return false;
  const absl::StatusOr<int> from = DeviceOf(d_from);
  if (!from.ok()) return from.status();
  const absl::StatusOr<int> to = DeviceOf(d_to);
  if (!to.ok()) return to.status();
  return *from != *to && Find(*from) != nullptr && Find(*to) != nullptr;
}

absl::Status HostRelay::Copy(void* d_to, const void* d_from, int64_t bytes) {
  absl::Status status = TryCopy(d_to, d_from, bytes);
  if (!status.ok()) {
    // The caller is about to free memory that enqueued copies still use.
    static_cast<void>(Finish().ok());
    static_cast<void>(cudaGetLastError());
  }
  return status;
}

absl::Status HostRelay::TryCopy(void* d_to, const void* d_from, int64_t bytes) {
  if (h_pieces_ == nullptr) {
    const absl::StatusOr<char*> h_pieces = memory_->Take();
    if (!h_pieces.ok()) return h_pieces.status();
    h_pieces_ = *h_pieces;
  }
  const auto end_of = [this](const void* d_memory) -> absl::StatusOr<End*> {
    const absl::StatusOr<int> device = DeviceOf(d_memory);
    if (!device.ok()) return device.status();
    return EndOn(*device);
  };
  const absl::StatusOr<End*> from = end_of(d_from);
  if (!from.ok()) return from.status();
  const absl::StatusOr<End*> to = end_of(d_to);
  if (!to.ok()) return to.status();
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  absl::Status status = MakeEvent(is_here_);
  if (status.ok()) status = Mark(device_, stream_, is_here_);
  // The destination waits for the source, piece by piece.
  if (status.ok()) status = Wait((*from)->stream, is_here_);
  if (!status.ok()) return status;
  return CopyPieces(**from, **to, static_cast<char*>(d_to), static_cast<const char*>(d_from), bytes);
}

absl::Status HostRelay::CopyPieces(End& from, End& to, char* d_to, const char* d_from, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kPieceBytes) {
    const size_t piece = copied_++ % kPieces;
    const int64_t size = std::min(kPieceBytes, bytes - at);
    char* const h_piece = h_pieces_ + static_cast<int64_t>(piece) * kPieceBytes;
    absl::Status status;
    if (const End* const reader = std::exchange(readers_[piece], &to); reader != nullptr) {
      status = Wait(from.stream, reader->is_done[piece]);
    }
    if (status.ok()) status = Enqueue(from, piece, h_piece, d_from + at, size, cudaMemcpyDeviceToHost);
    if (status.ok()) status = Wait(to.stream, from.is_done[piece]);
    if (status.ok()) status = Enqueue(to, piece, d_to + at, h_piece, size, cudaMemcpyHostToDevice);
    if (!status.ok()) return status;
    to.arrives = to.is_done[piece];
  }
  return absl::OkStatus();
}

absl::Status HostRelay::Join() {
  for (End& end : ends_) {
    if (end.arrives == nullptr) continue;
    if (absl::Status waits = Wait(stream_, end.arrives); !waits.ok()) return waits;
    end.arrives = nullptr;
  }
  return absl::OkStatus();
}

absl::Status HostRelay::Record(cudaEvent_t event) {
  const bool copies = std::any_of(ends_.begin(), ends_.end(), [](const End& end) { return end.arrives != nullptr; });
  if (!copies) return Mark(device_, stream_, event);
  CORANK_RETURN_IF_CUDA_FAILED(cudaSetDevice(device_), "set device");
  absl::Status status = MakeStream(points_);
  if (status.ok()) status = Mark(device_, stream_, is_here_);
  if (status.ok()) status = Wait(points_, is_here_);
  for (const End& end : ends_) {
    if (status.ok() && end.arrives != nullptr) status = Wait(points_, end.arrives);
  }
  if (status.ok()) status = Mark(device_, points_, event);
  return status;
}

absl::Status HostRelay::Finish() {
  absl::Status status;
  for (End& end : ends_) {
    if (end.stream != nullptr) status.Update(ToStatus(cudaStreamSynchronize(end.stream), "wait for copies"));
    end.arrives = nullptr;
  }
  return status;
}

void HostRelay::Release() {
  if (h_pieces_ != nullptr) memory_->GiveBack(std::exchange(h_pieces_, nullptr));
  readers_.fill(nullptr);
}

}  // namespace corank::cuda
