// Copies between GPUs that do not reach each other's memory.
#ifndef CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_
#define CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/engine/engine.h"

namespace corank::cuda {

/// Copies pieces to pinned host memory by a stream of one GPU, and from there by a stream of the other, so that both
/// buses work at a time. Never waits.
class HostRelay {
 public:
  /// Pinned memory that copies take.
  static constexpr int64_t kBytes = kRelayBytes;

  /// `stream`: of the GPU `device`. It outlives this.
  HostRelay(int device, cudaStream_t stream) : near_{device, stream, {}, nullptr} {}
  ~HostRelay();
  HostRelay(const HostRelay&) = delete;
  HostRelay& operator=(const HostRelay&) = delete;

  /// Enqueues a copy from or to memory of the stream's GPU, in the order of the stream. `h_pieces`: kBytes of pinned
  /// memory, which other copies of the stream may use too. Leaves another GPU current if it fails.
  absl::Status Copy(void* d_to, const void* d_from, int64_t bytes, char* h_pieces);

 private:
  static constexpr size_t kPieces = 4;
  static constexpr int64_t kPieceBytes = kBytes / int64_t{kPieces};

  // One end of a copy.
  struct End {
    int device = 0;
    cudaStream_t stream = nullptr;
    std::array<cudaEvent_t, kPieces> is_done{};  // its last copy of the piece
    cudaEvent_t is_here = nullptr;               // its stream has come here
  };

  static absl::Status MakeEvents(End& end);
  static absl::Status Mark(const End& end, cudaEvent_t event);
  static absl::Status Wait(const End& end, cudaEvent_t event);
  static absl::Status Enqueue(const End& end, size_t piece, void* to, const void* from, int64_t bytes,
                              cudaMemcpyKind kind);
  // The end on a GPU.
  absl::StatusOr<End*> EndOn(int device);
  absl::Status CopyPieces(End& from, End& to, char* d_to, const char* d_from, int64_t bytes, char* h_pieces);

  End near_;
  std::deque<End> far_;  // on the other GPUs so far
};

}  // namespace corank::cuda

#endif  // CORANK_KERNELS_CUDA_ENGINE_HOST_RELAY_H_
