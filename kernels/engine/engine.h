// One interface to both engines: an NVIDIA GPU (kernels/cuda) or the cores of the host (kernels/cpu).
//
// The steps of a request on a stream:
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
// Memory that a stream hands out stays valid until the next Begin.
#ifndef CORANK_KERNELS_ENGINE_ENGINE_H_
#define CORANK_KERNELS_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/common/column_search.h"
#include "kernels/common/column_sort.h"
#include "kernels/common/group.h"
#include "kernels/common/join.h"
#include "kernels/common/operators.h"
#include "kernels/common/select.h"
#include "kernels/common/sets.h"
#include "kernels/common/types.h"

namespace corank {

enum class EngineKind : uint8_t { kCuda, kCpu };

constexpr const char* EngineKindName(EngineKind kind) { return kind == EngineKind::kCuda ? "cuda" : "cpu"; }

/// A description of an engine's device.
struct EngineInfo {
  EngineKind kind = EngineKind::kCpu;
  std::string device;  // "NVIDIA H200", or the CPU's model name
  int64_t memory_bytes = 0;
  int32_t parallelism = 0;  // multiprocessors, or threads
  std::string device_uuid;  // "GPU-...", as the driver gives it; empty on the CPU engine
  int32_t ordinal = 0;      // of the device, as the driver counts
  int32_t numa_node = -1;   // to which the device is attached; -1: unknown, or the host has one node
  /// Bit i: kernels of device i reach this device's memory, by a link such as NVLink or directly over the bus.
  uint64_t linked = ~uint64_t{0};
  int64_t relay_bytes = 0;  // pinned memory that the engine keeps for copies to devices that it does not reach
};

/// The time of a request on a stream, by phase. On the CPU engine only kernel_ns is not 0.
struct PhaseTimes {
  int64_t copy_in_ns = 0;
  int64_t kernel_ns = 0;
  int64_t copy_out_ns = 0;
};

/// Memory that kernels write and that the host reads after Download and Finish.
struct ResultBuffer {
  void* device = nullptr;
  void* host = nullptr;  // the same pointer on the CPU engine
  bool is_far = false;   // `host` is memory of another device, which kernels of this one do not write
};

/// Memory that belongs to no request. It lives until this object is destroyed, which must not happen before all work
/// that uses it has ended. Any stream of the engine may use it. 256-byte aligned unless somebody else allocated it.
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

/// The measurement of a request and the transport of its bytes.
enum class Pace : uint8_t {
  kPhases,  // each phase is timed
  /// For requests of a few microseconds, where every call to the driver counts. Finish reports the whole time as
  /// kernel_ns. Upload takes pinned bytes only; kernels read them in place and write results in place in host memory.
  kBrief,
};

/// Pinned memory that a stream takes for a request that copies from or to devices that it does not reach.
constexpr int64_t kRelayBytes = int64_t{16} << 20;

/// One in-order sequence of work. Not thread-safe: used by one thread at a time.
///
/// Errors: RESOURCE_EXHAUSTED when memory is short (the stream stays usable), INTERNAL for a fault of one operation,
/// UNAVAILABLE when the device is lost (no stream of this engine is usable again).
class EngineStream {
 public:
  virtual ~EngineStream() = default;

  /// The device of this stream, numbered from 0 among the devices of the program.
  virtual int device() const { return 0; }

  /// Starts a request: takes back all memory handed out since the last Begin (and keeps it for reuse) and starts the
  /// clock.
  virtual absl::Status Begin(Pace pace = Pace::kPhases) = 0;

  /// Makes host bytes readable by kernels. The caller keeps the bytes unchanged until Finish.
  virtual absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) = 0;
  /// Pinned host memory, which uploads and downloads at full speed; 256-byte aligned.
  virtual absl::StatusOr<void*> AllocateHost(int64_t bytes) = 0;
  /// Memory for kernels, uninitialised; 256-byte aligned.
  virtual absl::StatusOr<void*> AllocateDevice(int64_t bytes) = 0;
  /// Memory for a result, uninitialised; 256-byte aligned.
  virtual absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) = 0;
  /// The same for a result that Download writes to `h_place`. The caller owns `h_place`, which has the alignment of the
  /// elements. CPU: the place itself, without a copy.
  virtual absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) = 0;
  /// Enqueues a fill of device memory, or of pinned host memory, with zero bytes.
  virtual absl::Status Zero(void* d_bytes, int64_t bytes) = 0;
  /// Enqueues a fill of device memory with first, first + 1, ...: `count` unsigned integers of element_bytes (4 or 8)
  /// bytes. The width must hold all of them.
  virtual absl::Status Iota(void* d_out, int element_bytes, int64_t first, int64_t count) = 0;
  /// Enqueues a copy within device memory; one place may be on another device. Without a link (EngineInfo::linked), the
  /// bytes pass through pinned memory in pieces; the host waits for none of them. Copies that follow each other from
  /// one device to others then overlap, unless anything but After and MarkPoint comes between.
  virtual absl::Status Copy(void* d_to, const void* d_from, int64_t bytes) = 0;
  /// Enqueue copies between host memory and device memory, at full speed if the host memory is pinned. The caller keeps
  /// both places until Finish.
  virtual absl::Status CopyToDevice(void* d_to, const void* h_from, int64_t bytes) = 0;
  virtual absl::Status CopyToHost(void* h_to, const void* d_from, int64_t bytes) = 0;
  virtual absl::Status EndCopyIn() = 0;
  virtual absl::Status EndKernels() = 0;
  /// Enqueues a copy of the first `bytes` bytes of result.device to result.host.
  virtual absl::Status Download(const ResultBuffer& result, int64_t bytes) = 0;
  /// Marks the end of the work enqueued so far, for After. Valid until the next Begin. Null on engines that finish work
  /// while they enqueue it.
  virtual absl::StatusOr<const void*> MarkPoint() { return nullptr; }
  /// Delays work enqueued from here on until a marked point of another stream of this engine. Null: no delay.
  virtual absl::Status After(const void* point) {
    static_cast<void>(point);
    return absl::OkStatus();
  }
  /// Waits for all enqueued work. Returns the first error, or the times.
  virtual absl::StatusOr<PhaseTimes> Finish() = 0;

  /// The operators. Each of them writes its outputs and *report by the time Finish returns; report must live until
  /// then. If it reports a fault, its outputs are unspecified. `absl::OkStatus()` means enqueued (CUDA; a Sort may have
  /// waited for earlier work in order to look at the keys) or done (CPU).
  virtual absl::Status Sort(const SortArgs& args, OperatorReport* report) = 0;
  /// Sorts several arrays independently; CUDA sorts many of them in one launch. Each array has 1 to kSortEachKeys keys,
  /// without values, indices, limit or offset, and algorithm AUTO. The key type and order of the first array apply to
  /// all. `reports` has one element for each array. The caller may release `sorts` after the return.
  virtual absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) = 0;
  virtual absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Merge(const MergeArgs& args, OperatorReport* report) = 0;
  /// Writes args.splits by the time Finish returns. The caller may release `inputs` and `positions` after the return.
  virtual absl::Status SplitRuns(const SplitArgs& args) = 0;
  virtual absl::Status Expand(const ExpandArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Move(const MoveArgs& args, OperatorReport* report) = 0;
  virtual absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Search(const SearchArgs& args, OperatorReport* report) = 0;
  virtual absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) = 0;
  virtual absl::Status Group(const GroupArgs& args, GroupReport* report) = 0;
  virtual absl::Status Select(const SelectArgs& args, SelectReport* report) = 0;
  virtual absl::Status CombineSets(const SetArgs& args, SetReport* report) = 0;
  virtual absl::Status Join(const JoinArgs& args, JoinReport* report) = 0;

  /// Ends a request whose results were used: frees what its streams may not keep for the next one
  /// (Engine::LimitKept). Begin does the same, but may not come for a long time. The next call reports any error.
  virtual void End() {}
  /// Frees what the stream keeps for the next request, except what a small one needs. Call it between requests, from
  /// any thread. CUDA: may wait for the device.
  virtual void Trim() {}

  /// Device memory that operators requested since Begin, without Upload, AllocateDevice and AllocateResult, in bytes.
  virtual int64_t workspace_bytes() const = 0;
};

/// Memory that an engine keeps for later requests, in bytes.
struct KeptMemory {
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;  // pinned; 0 on the CPU engine, whose device is the host
};

/// A device, or the cores of the host. Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineInfo& info() const = 0;
  /// The most that it keeps from now on, beside a first MiB for each stream. By default a sixteenth of the device's
  /// memory, and as much pinned memory.
  virtual void LimitKept(const KeptMemory& most) { static_cast<void>(most); }
  virtual KeptMemory kept() const { return {}; }
  /// A new stream. Streams work at the same time. The engine must outlive them.
  virtual absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() = 0;

  /// Memory outside of requests; slow to allocate. RESOURCE_EXHAUSTED if memory is short. Pinned host memory, which
  /// kernels of all devices can also read and write in place, at the same address.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) = 0;
  /// Memory for kernels. CPU: host memory.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) = 0;
  /// Pins whole pages of the caller for all devices. The pages must stay mapped until the result is destroyed. CPU:
  /// does nothing.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) = 0;
  /// Opens device memory of another process by its cudaIpcMemHandle_t: size_bytes from offset_bytes on.
  /// INVALID_ARGUMENT if the handle is malformed or the allocation is smaller, NOT_FOUND if this process cannot open
  /// memory with this handle. CPU: UNIMPLEMENTED.
  virtual absl::StatusOr<std::unique_ptr<EngineMemory>> OpenIpc(absl::string_view handle, int64_t offset_bytes,
                                                                int64_t size_bytes) = 0;

  /// Upper bounds of the workspace that operators request, in bytes. Known before the run: they read no pointer in args
  /// except MergeArgs::inputs, ColumnSortArgs::columns and ColumnSortArgs::run_offsets.
  virtual int64_t WorkspaceBytes(const SortArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const ColumnSortArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const MergeArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const ExpandArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const MoveArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const LoadBalanceArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const SearchArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const ColumnSearchArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const GroupArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const SelectArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const SetArgs& args) const = 0;
  virtual int64_t WorkspaceBytes(const JoinArgs& args) const = 0;
};

}  // namespace corank

#endif  // CORANK_KERNELS_ENGINE_ENGINE_H_
