// Copies between GPUs that do not reach each other's memory.
#ifndef CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_
#define CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/engine/relay_memory.h"
#include "kernels/engine/engine.h"

namespace corank::cuda {

/// The copies of one stream. Each GPU has a stream for them: that of the source copies pieces to pinned memory, and
/// that of the destination copies them from there. So both buses work at a time, and the first pieces of a copy leave
/// while the last ones of the copy before arrive. Never waits, except after an error.
///
/// Copies begin after the stream's work before them, and after each other where they use memory of the same GPU.
class HostRelay {
 public:
  /// Large enough for the full rate of a bus, with four pieces on their way at a time.
  static constexpr int64_t kPieceBytes = int64_t{4} << 20;

  /// `stream`: of the GPU `device`. It outlives the use of this.
  HostRelay(int device, cudaStream_t stream, std::shared_ptr<RelayMemory> memory)
      : device_(device), stream_(stream), memory_(std::move(memory)) {}
  /// Nothing may be in progress.
  ~HostRelay();
  HostRelay(const HostRelay&) = delete;
  HostRelay& operator=(const HostRelay&) = delete;

  /// These may leave another GPU current.

  /// Whether these places are on different GPUs between which Copy may have copied before.
  absl::StatusOr<bool> Knows(const void* d_to, const void* d_from) const;
  /// Enqueues a copy. If it fails, no copy is in progress.
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes);
  /// Delays what is enqueued on the stream from here on until the end of the copies so far.
  absl::Status Join();
  /// Records the event, of the stream's GPU, at the end of the stream's work and of the copies so far. It delays no
  /// later copy, as an event that the stream records after Join would.
  absl::Status Record(cudaEvent_t event);
  /// Waits for the copies so far.
  absl::Status Finish();

  /// Gives the pinned memory back. Nothing may be in progress.
  void Release();

 private:
  static constexpr size_t kPieces = static_cast<size_t>(kRelayBytes / kPieceBytes);

  // A GPU's part in the copies.
  struct End {
    int device = 0;
    cudaStream_t stream = nullptr;
    std::array<cudaEvent_t, kPieces> is_done{};  // the stream's last copy from or to the piece
    cudaEvent_t arrives = nullptr;  // of is_done: the last copy to this GPU, unless the caller's stream waits for it
  };

  static absl::StatusOr<int> DeviceOf(const void* d_memory);
  static absl::Status Mark(int device, cudaStream_t stream, cudaEvent_t event);
  static absl::Status Wait(cudaStream_t stream, cudaEvent_t event);
  static absl::Status Enqueue(const End& end, size_t piece, void* to, const void* from, int64_t bytes,
                              cudaMemcpyKind kind);
  const End* Find(int device) const;
  absl::StatusOr<End*> EndOn(int device);
  absl::Status TryCopy(void* d_to, const void* d_from, int64_t bytes);
  absl::Status CopyPieces(End& from, End& to, char* d_to, const char* d_from, int64_t bytes);

  const int device_;
  const cudaStream_t stream_;
  const std::shared_ptr<RelayMemory> memory_;
  char* h_pieces_ = nullptr;                   // from the first copy on
  size_t copied_ = 0;                          // pieces so far, which use the memory of h_pieces_ in turn
  std::array<const End*, kPieces> readers_{};  // from which end each piece left last
  cudaEvent_t is_here_ = nullptr;              // the caller's stream has come to a copy
  cudaStream_t points_ = nullptr;              // for Record
  std::deque<End> ends_;
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_
