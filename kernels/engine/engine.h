// One interface for all that does the work: an NVIDIA GPU (kernels/cuda) or the cores of the host (kernels/cpu).
//
// A request's life on a stream:
//
//   stream->Begin();
//   d_in  = stream->Upload(h_in, bytes);            // CUDA: enqueues a copy. CPU: returns h_in
//   out   = stream->AllocateResult(bytes);          // CUDA: device and pinned memory. CPU: one buffer
//   stream->EndCopyIn();
//   stream->Sort(args, report);                     // enqueues; asks for its own workspace from the stream
//   stream->EndKernels();
//   stream->Download(out, bytes);                   // CUDA: enqueues a copy. CPU: nothing, where both are one
//   times = stream->Finish();                       // waits; now report and out.host are valid
//
// Everything that a stream hands out stays valid until the next Begin.
#ifndef CORANK_KERNELS_ENGINE_ENGINE_H_
#define CORANK_KERNELS_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/common/column_sort.h"
#include "kernels/common/operators.h"
#include "kernels/common/types.h"

namespace corank {

enum class EngineKind : uint8_t { kCuda, kCpu };

constexpr const char* EngineKindName(EngineKind kind) { return kind == EngineKind::kCuda ? "cuda" : "cpu"; }

/// What an engine runs on.
struct EngineInfo {
  EngineKind kind = EngineKind::kCpu;
  std::string device;  // "NVIDIA H200", or the CPU's model name
  int64_t memory_bytes = 0;
  int32_t parallelism = 0;  // multiprocessors, or threads
  std::string device_uuid;  // "GPU-...", as the driver gives it; empty on the CPU engine
};

/// Where the time of a request on a stream went. On the CPU engine only kernel_ns is not 0.
struct PhaseTimes {
  int64_t copy_in_ns = 0;
  int64_t kernel_ns = 0;
  int64_t copy_out_ns = 0;
};

/// Memory that a kernel writes and the host reads after Download and Finish.
struct ResultBuffer {
  void* device = nullptr;
  void* host = nullptr;  // the same pointer on the CPU engine
  bool is_far = false;   // `host` is memory of another device, which this one's kernels do not write
};

/// Memory that belongs to no request: it lives until this is destroyed, which must not be before all work that uses it
/// has ended. Any stream of the engine may use it; 256-byte aligned unless it was made elsewhere.
class EngineMemory {
 public:
  EngineMemory(void* data, int64_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  virtual ~EngineMemory() = default;
  EngineMemory(const EngineMemory&) = delete;
  EngineMemory& operator=(const EngineMemory&) = delete;
  void* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }

 private:
  void* const data_;
  const int64_t size_bytes_;
};

/// How a request is timed and how its bytes travel.
enum class Pace : uint8_t {
  kPhases,  // each phase is timed
  /// For requests that are over in microseconds, where each call to the driver counts: Finish gives all of it as
  /// kernel_ns; bytes given to Upload are pinned, kernels read them and write results where they lie in host memory.
  kBrief,
};

/// One in-order sequence of work. Not thread-safe: used by one thread at a time.
///
/// Errors: RESOURCE_EXHAUSTED when memory is short (the stream stays usable), INTERNAL for a fault of one operation,
/// UNAVAILABLE when the device is lost (no stream of this engine is usable again).
class EngineStream {
 public:
  virtual ~EngineStream() = default;

  /// Which of the devices that a program works with this stream is of, from 0 on.
  virtual int device() const { return 0; }

  /// Starts a request: takes back all memory handed out since the last Begin (kept for reuse) and starts the clock.
  virtual absl::Status Begin(Pace pace = Pace::kPhases) = 0;

  /// Makes host bytes readable by kernels. The caller keeps them unchanged until Finish.
  virtual absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) = 0;
  /// Pinned host memory, for bytes that are uploaded or downloaded at full speed; 256-byte aligned.
  virtual absl::StatusOr<void*> AllocateHost(int64_t bytes) = 0;
  /// Memory for kernels, not initialised; 256-byte aligned.
  virtual absl::StatusOr<void*> AllocateDevice(int64_t bytes) = 0;
  /// Memory for a result, not initialised; 256-byte aligned.
  virtual absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) = 0;
  /// The same for a result that shall be downloaded to `h_place`, which is the caller's and aligned as its elements.
  /// CPU: the place itself, no copy.
  virtual absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) = 0;
  /// Enqueues a fill of device memory, or of pinned memory of the host, with zero bytes.
  virtual absl::Status Zero(void* d_bytes, int64_t bytes) = 0;
  /// Enqueues a fill of device memory with first, first + 1, ...: `count` unsigned integers of element_bytes bytes, 4
  /// or 8, which hold all of them.
  virtual absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) = 0;
  /// Enqueues a copy between two places of device memory; either may be another device's.
  virtual absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) = 0;
  /// Enqueue copies between host memory, at full speed where it is pinned, and device memory. Both stay as they are
  /// until Finish.
  virtual absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) = 0;
  virtual absl::Status EndCopyIn() = 0;
  virtual absl::Status EndKernels() = 0;
  /// Enqueues the copy of the first `bytes` of result.device to result.host.
  virtual absl::Status Download(const ResultBuffer& result, int64_t bytes) = 0;
  /// A point behind all that is enqueued so far, for After; valid until the next Begin. Null where all is done when it
  /// is enqueued.
  virtual absl::StatusOr<const void*> MarkPoint() { return nullptr; }
  /// What is enqueued from here on begins after such a point of another stream of this engine; null: at any time.
  virtual absl::Status After(const void* point) {
    static_cast<void>(point);
    return absl::OkStatus();
  }
  /// Waits for all enqueued work and returns its first error or where the time went.
  virtual absl::StatusOr<PhaseTimes> Finish() = 0;

  /// The operators. Each writes its outputs and *report by the time Finish returns; report must live until then. When a
  /// fault is reported, outputs are not specified. `absl::OkStatus()` means enqueued (CUDA; a Sort may have waited for
  /// what was enqueued before, to look at the keys) or done (CPU).
  virtual absl::Status Sort(const SortArgs& args, OperatorReport* report) = 0;
  /// Sorts several arrays, each for itself: CUDA in one launch for many. Of each, keys alone are sorted, all of them, 1
  /// to kSortEachKeys, with AUTO; key type and order are the first one's for all. `reports` has one for each; `sorts`
  /// is not needed after the return.
  virtual absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) = 0;
  virtual absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Merge(const MergeArgs& args, OperatorReport* report) = 0;
  /// Writes args.splits by the time Finish returns; `inputs` and `positions` are not needed after the return.
  virtual absl::Status SplitRuns(const SplitArgs& args) = 0;
  virtual absl::Status Expand(const ExpandArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Move(const MoveArgs& args, OperatorReport* report) = 0;
  virtual absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Search(const SearchArgs& args, OperatorReport* report) = 0;

  /// Between requests, perhaps from another thread than those: gives back to the system what is kept for the next one
  /// and cheap to get again. CUDA: nothing, since giving back waits for the device.
  virtual void Trim() {}

  /// Device memory that operators asked for since Begin, beyond Upload, AllocateDevice and AllocateResult, in bytes.
  virtual int64_t workspace_bytes() const = 0;
};

/// A device, or the cores of the host. Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineInfo& info() const = 0;
  /// A new stream; streams work at the same time. The engine must outlive it.
  virtual absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() = 0;

  /// Memory outside of requests; slow to get. RESOURCE_EXHAUSTED when it is short.
  /// Pinned host memory, which kernels of all devices can read and write in place too, at the same address.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) = 0;
  /// Memory for kernels. CPU: host memory.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) = 0;
  /// Pins whole pages of the caller's, which stay mapped until the result is destroyed, for all devices. CPU: nothing
  /// to be done.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) = 0;
  /// Opens device memory of another process by its cudaIpcMemHandle_t: size_bytes from offset_bytes on.
  /// INVALID_ARGUMENT if the handle is none or the allocation is smaller, NOT_FOUND if the handle is of no memory that
  /// can be opened here. CPU: UNIMPLEMENTED.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                                int64_t size_bytes) = 0;

  /// Upper bounds of the workspace that the operators ask for, in bytes. Known before the run; pointers in args are
  /// not read (except MergeArgs::inputs and ColumnSortArgs::columns).
  virtual int64_t WorkspaceBytes(const SortArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const ColumnSortArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const MergeArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const ExpandArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const MoveArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const LoadBalanceArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const SearchArgs& args) const = 0;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ENGINE_H_
