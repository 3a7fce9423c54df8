// The work of one request: what a lane runs.
#ifndef CORANK_SERVER_RUN_OPERATION_H_
#define CORANK_SERVER_RUN_OPERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/engine/engine.h"
#include "server/base/status_macros.h"
#include "server/model/operand.h"
#include "server/model/operator.h"
#include "server/model/outcome.h"
#include "server/model/result_target.h"
#include "server/observe/metrics.h"

namespace corank {

class MemoryRegion;

/// What a lane offers to the operation that it runs.
class Lane {
 public:
  virtual ~Lane() = default;
  virtual EngineStream& stream() = 0;
  /// The engine of the streams.
  virtual Engine& engine() = 0;
  /// Another stream of this lane, i from 0, made on first use. Streams work concurrently.
  virtual absl::StatusOr<EngineStream*> ExtraStream(int i) = 0;
  /// A stream of this lane on a device of the server, i from 0, made on first use. On the lane's own device: stream(),
  /// then ExtraStream.
  virtual absl::StatusOr<EngineStream*> StreamOn(int device, int i);
  /// OK, or why nobody needs the answer any more: DEADLINE_EXCEEDED, CANCELLED, or UNAVAILABLE if the device is lost.
  /// Any thread may ask.
  virtual absl::Status CheckWanted() = 0;
  /// Reports that the work stalls because of its caller, or no longer does. Meanwhile another lane may work in its
  /// place.
  virtual void SetStalled(bool stalled) { static_cast<void>(stalled); }

  /// The stage before which the work counts as dropped, if it is dropped now.
  Stage next_stage() const { return next_stage_; }
  void set_next_stage(Stage stage) { next_stage_ = stage; }

 private:
  Stage next_stage_ = Stage::kCopyIn;
};

/// Shared memory that an operation reads, and the field that names it.
struct SharedSource {
  std::shared_ptr<const MemoryRegion> region;
  std::string field;
};

struct ExternalWork;
class PhasedOperation;
class RowsInTurn;

/// Sorts with equal keys may be members of one fused sort.
struct FuseKey {
  v1::ElementType type;
  Order order;
  SortAlgorithm algorithm;
  bool want_keys;
  bool want_indices;
  int32_t value_bytes;  // 0: no values

  bool operator==(const FuseKey& other) const {
    return type == other.type && order == other.order && algorithm == other.algorithm && want_keys == other.want_keys &&
           want_indices == other.want_indices && value_bytes == other.value_bytes;
  }
};

/// How devices exchange rows of arrays in host memory that they share.
enum class Exchange : uint8_t {
  kNone,    // not at all: each device takes what it needs from the host
  kCopies,  // by copies, which may pass through the host
  kReads,   // by kernels that read the memory of other devices
};

/// What decides whether it pays that several devices do some work together.
struct Sharing {
  int64_t arrays = 0;  // of which each device takes a part; 0: one device must do the work
  Exchange exchange = Exchange::kReads;
  int64_t cost = 1;  // the time that the host takes to divide the work, in that of a sort of keys
};

/// Devices that share work.
struct DeviceGroup {
  uint64_t devices = 0;
  bool are_linked = true;  // each reaches the memory of the others
};

/// One operator with its validated inputs.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual Operator op() const = 0;
  /// Set if the operation can make its result some rows at a time instead of by Execute, and the place of the result
  /// accepts rows in that way; else null. If set, device_bytes is the need of making rows in turn.
  virtual RowsInTurn* rows_in_turn() { return nullptr; }
  /// Set if it is one request on one stream, and small ones may share a round trip to the device; else null.
  virtual PhasedOperation* phased() { return nullptr; }
  /// Set if it is a sort whose arrays and results are all in the message.
  virtual std::optional<FuseKey> fuse_key() const { return std::nullopt; }
  /// Null unless the same work can be done piece by piece.
  virtual std::unique_ptr<const ExternalWork> external() const;
  /// How several devices can do it together, and the operation that does it on those.
  virtual Sharing sharing() const { return {}; }
  virtual std::unique_ptr<Operation> Sharded(const DeviceGroup& by) const;
  /// INVALID_ARGUMENT: a result cannot be sharded, or `devices` have too many parts of arrays to share the work. 0: no
  /// array and no result is sharded.
  virtual absl::Status CheckShards(int devices) const {
    static_cast<void>(devices);
    return absl::OkStatus();
  }
  /// Bytes of its inputs and results, wherever they are, with results that it writes more than once counted as often; 0
  /// if unknown before the inputs arrive.
  virtual int64_t work_bytes() const { return 0; }
  /// Whether one core of the host needs less than 0.7 ns for each byte.
  virtual bool is_light() const { return false; }
  /// Whether Execute may be repeated after it failed for lack of memory.
  virtual bool is_repeatable() const { return false; }
  /// Upper bound of the device memory that it takes from the engine at a time, workspace included.
  virtual int64_t device_bytes(const Engine& engine) const {
    static_cast<void>(engine);
    return 0;
  }
  /// Whether it occupies a lane while its caller sends or reads. Its duration then says nothing about the server.
  virtual bool waits_for_caller() const { return false; }
  /// Upper bound of the pinned memory that it takes from the engine at a time, beside its request's earlier
  /// reservations.
  virtual int64_t host_bytes() const { return 0; }
  /// Does all the work, once, on the lane's thread, and lists the results in the outcome. They are valid until the
  /// lane's streams begin again, or as long as their targets keep them. When this returns, nothing of it is in progress
  /// on the lane's streams, whatever it returns. Errors: the caller's (base/errors.h) and the engine's.
  virtual absl::Status Execute(Lane& lane, Outcome& outcome) = 0;
  /// After Execute has succeeded: publishes all results, or none on an error.
  virtual absl::Status Commit(Outcome& outcome);

  void ReadsFrom(std::vector<SharedSource> sources) { sources_ = std::move(sources); }
  /// The final status of the work, given the status that Execute returned. Call it before publishing results.
  /// FAILED_PRECONDITION: a part of a source disappeared during the work. Reads of it gave zeros, so neither the
  /// results nor any faults found in the inputs count.
  absl::Status Judged(const absl::Status& executed) const;

 private:
  std::vector<SharedSource> sources_;
};

/// A fault that the operator cannot have.
absl::Status UnexpectedFault(const OperatorReport& report);
/// INVALID_ARGUMENT: the array's element `index` belongs before its predecessor.
absl::Status NotSorted(absl::string_view field, int64_t index, Order order);

/// A result while it is being made.
struct PendingResult {
  ResultRole role = ResultRole::kResult;
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  int32_t element_bytes = 0;
  int64_t count = 0;
  std::shared_ptr<ResultTarget> target;  // null: the response, from the stream's own memory
  ResultBuffer buffer = {};

  int64_t size_bytes() const { return count * element_bytes; }
  absl::Status Allocate(EngineStream& stream);
  /// ResultTarget::Check. Operators with several results check all of them before the first Download.
  absl::Status Check() const { return target == nullptr ? absl::OkStatus() : target->Check(); }
  /// To host memory, or to the parts of a sharded result.
  absl::Status Download(EngineStream& stream) const;
  ResultArray Collect() const { return {role, type, element_bytes, count, buffer.host, target}; }
};

/// An operator on whole arrays, which one stream of the lane copies in, works on and copies out.
class KernelOperation : public Operation {
 public:
  bool is_repeatable() const final { return true; }
  int64_t work_bytes() const override;
  /// Uploads the inputs and allocates the results.
  virtual absl::Status CopyIn(EngineStream& stream);

  size_t input_count() const { return inputs_.size(); }
  bool AnyInput(absl::FunctionRef<bool(const Operand&)> is) const;
  const absl::InlinedVector<PendingResult, 3>& results() const { return results_; }
  /// Whether a result lies, in part or as a whole, where an input is.
  bool OverwritesInputs() const;

 protected:
  KernelOperation() = default;
  // Inputs and results know their places in the arguments.
  KernelOperation(const KernelOperation&) = delete;
  KernelOperation& operator=(const KernelOperation&) = delete;

  /// For constructors. CopyIn uploads the inputs in this order, and sets `*d_bytes` to where kernels read them, null if
  /// there are no bytes. The pointees are members of the operation.
  template <typename T>
  void AddInput(const Operand& input, const T** d_bytes) {
    const auto set = [](void* place, const void* bytes) {
      *static_cast<const T**>(place) = static_cast<const T*>(bytes);
    };
    inputs_.push_back({&input, d_bytes, set});
  }
  template <typename T>
  void AddInput(const std::optional<Operand>& input, const T** d_bytes) {
    if (input) AddInput(*input, d_bytes);
  }
  /// Results are made and listed in this order. CopyIn sets `*d_bytes` to where kernels write them.
  template <typename T>
  void AddResult(PendingResult result, T** d_bytes) {
    results_.push_back(std::move(result));
    places_.push_back({nullptr, d_bytes, [](void* place, const void* bytes) {
                         *static_cast<T**>(place) = static_cast<T*>(const_cast<void*>(bytes));
                       }});
  }
  /// Enqueues all but the copies of the results; `run` enqueues the operator.
  absl::Status EnqueueKernels(Lane& lane, absl::FunctionRef<absl::Status()> run);

 private:
  // Where an address of device memory belongs.
  struct Place {
    const Operand* input;
    void* place;
    void (*set)(void* place, const void* d_bytes);
  };

  absl::InlinedVector<Place, 4> inputs_;
  absl::InlinedVector<Place, 3> places_;  // of the results
  absl::InlinedVector<PendingResult, 3> results_;
};

/// An operator that is one request on one stream (kernels/engine/engine.h). The phases are called once each, in the
/// order of their declarations after CopyIn; the work may stop after any of them.
class PhasedOperation : public KernelOperation {
 public:
  PhasedOperation* phased() final { return this; }
  absl::Status Execute(Lane& lane, Outcome& outcome) final;
  /// kBrief only if inputs and results are so small that kernels should read and write them in host memory, each once.
  virtual Pace pace() const { return Pace::kPhases; }
  /// Runs the operator. `report` is valid once the stream finished.
  virtual absl::Status Run(EngineStream& stream, OperatorReport* report) = 0;
  /// Checks the places of all results, then downloads the results.
  virtual absl::Status CopyOut(EngineStream& stream);
  /// After the stream finished without a fault: lists the results. They borrow the stream's memory.
  virtual void Collect(const OperatorReport& report, Outcome& outcome) const;
  /// After the stream finished with a fault in the report: the caller's error, with its field named. An operator that
  /// has faults overrides this.
  virtual absl::Status FaultStatus(const OperatorReport& report) const { return UnexpectedFault(report); }

 private:
  absl::Status Enqueue(Lane& lane, OperatorReport* report);
};

/// Uploads an array of T, and sets where kernels read it.
template <typename T>
absl::Status UploadTo(EngineStream& stream, const Operand& operand, const T** d_bytes) {
  CORANK_ASSIGN_OR_RETURN(const void* const uploaded, Upload(stream, operand));
  *d_bytes = static_cast<const T*>(uploaded);
  return absl::OkStatus();
}

/// Keys have the numbers of ELEMENT_TYPE_*.
constexpr KeyType KeyTypeOf(v1::ElementType type) { return static_cast<KeyType>(type); }

/// UINT32 or UINT64 (ELEMENT_TYPE_*) for an index of this many bytes.
constexpr v1::ElementType IndexType(int index_bytes) {
  return index_bytes == 4 ? v1::ELEMENT_TYPE_UINT32 : v1::ELEMENT_TYPE_UINT64;
}

/// Prepares the results of a successful request for the places that the caller chose. Nothing is published yet, so that
/// either all results of a request are published or none.
absl::Status PrepareResults(const Outcome& outcome);
/// Publishes results that were prepared.
absl::Status PublishResults(Outcome& outcome);

/// Adds the times of a finished stream, and its workspace if that is the largest so far.
void AddTimes(const PhaseTimes& times, int64_t workspace_bytes, v1::RequestStats* stats);
/// Adds the times of devices that worked at the same time: for each phase, the longest.
void AddLongest(const std::vector<const v1::RequestStats*>& devices, v1::RequestStats* stats);
/// Ends a request on a stream whose work was enqueued with this status, and adds its times. Waits also after an error,
/// because enqueued copies use the request's memory until the stream has finished.
absl::Status FinishStream(EngineStream& stream, const absl::Status& enqueued, v1::RequestStats* stats);
/// The same for a request that only copied to the device.
absl::Status FinishCopyIn(EngineStream& stream, absl::Status enqueued, v1::RequestStats* stats);

}  // namespace corank

#endif  // CORANK_SERVER_RUN_OPERATION_H_
