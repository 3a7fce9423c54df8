// The plan of an Execute call: checked before its arrays arrive, turned into operations afterwards.
#ifndef CORANK_SERVER_PLAN_EXECUTE_PLAN_H_
#define CORANK_SERVER_PLAN_EXECUTE_PLAN_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "corank/v1/corank_service.pb.h"
#include "server/observe/trace.h"
#include "server/plan/execute_places.h"
#include "server/plan/parse/validate.h"
#include "server/plan/payloads.h"
#include "server/plan/spill.h"
#include "server/run/collected_operation.h"
#include "server/run/external_work.h"
#include "server/run/plan.h"
#include "server/run/stream_options.h"

namespace corank {

/// Belongs to one job. One thread at a time uses it: first that of the call that sent it, then the lane.
class ExecutePlan final : public StreamedRequest {
 public:
  /// From the first message of a call, which has an allowed size. INVALID_ARGUMENT, and the errors of places. Fields
  /// are named as in the unary request; in a plan of several operations, "operations[i]." comes first. Checks that need
  /// the bytes of arrays still to come are left to Bind. RESOURCE_EXHAUSTED: memory for results is reserved here as
  /// far as its size is known; Bind reserves the rest, which may fail.
  static absl::StatusOr<std::unique_ptr<ExecutePlan>> Read(std::unique_ptr<const v1::ExecuteRequest> request,
                                                           std::shared_ptr<const Payloads> payloads,
                                                           const Limits& limits, const StreamOptions& streams,
                                                           const SharedPlaces& places,
                                                           std::shared_ptr<const Caller> caller);

  /// For a plan of several parts, one part reserves what Read did not. The errors of Read.
  absl::Status Reserve();

  const std::shared_ptr<const Caller>& caller() const { return caller_; }
  /// The ids under which logs mention the job.
  void SetId(const CallId& id) { id_ = id; }
  /// The peer's address, of the job's first part.
  void SetPeer(std::string peer) { peer_ = std::move(peer); }
  const std::string& peer() const { return peer_; }
  const CallId& id() const { return id_; }
  const v1::Plan& message() const { return request_->plan(); }
  /// The fingerprint of the arrays in the plan's message, whose bytes message() does not contain.
  uint64_t payload_fingerprint() const { return payloads_->Fingerprint(); }
  const std::vector<StreamInput>& inputs() const { return inputs_; }
  Strategy strategy() const { return strategy_; }
  /// Set if the strategy is an external one, or if it may become one when the streams have told their lengths.
  const ExternalWork* external() const override { return external_.get(); }
  /// Options of the first operation.
  const v1::RequestOptions& options() const;
  TaskPriority priority() const { return priority_; }
  /// Devices on which the plan should run, as a mask.
  uint64_t devices() const { return devices_; }
  /// The devices of its sharded arrays and results, as a mask, which all work on it; 0: it has none.
  uint64_t shard_devices() const override { return shard_devices_; }
  const DeviceSet& all_devices() const { return *places_.devices; }

  /// Upper bound of the streamed output in bytes; -1: unknown.
  int64_t output_bytes() const { return has_outputs_ ? known_bytes_ : 0; }

  int size() const override { return message().operations_size(); }
  Operator op() const override;
  absl::StatusOr<PreparedOperation> Bind(int operation, const std::vector<Operand>& inputs,
                                         std::shared_ptr<JobMemory> memory) override;
  void Executed(const Outcome& outcome) override { arrays_.Store(outcome); }
  absl::Status Named(int operation, const absl::Status& status) const override;
  bool is_size_known() const override;
  int64_t device_bytes() const override { return known_device_bytes_; }
  int64_t spilled_bytes() const override { return spill_ ? spill_->bytes() : 0; }
  /// Releases the server memory of the plan, except for answers in transit.
  void Release();

 private:
  ExecutePlan(std::unique_ptr<const v1::ExecuteRequest> request, std::shared_ptr<const Payloads> payloads,
              const Limits& limits, const SharedPlaces& places, std::shared_ptr<const Caller> caller)
      : request_(std::move(request)),
        payloads_(std::move(payloads)),
        limits_(limits),
        places_(places),
        caller_(std::move(caller)) {}

  absl::Status Check(const StreamOptions& streams);
  using IsControl = absl::FunctionRef<bool(const v1::Array& array)>;
  absl::Status FindStreams(const google::protobuf::Message& message, const std::string& path, IsControl is_control,
                           std::vector<uint32_t>& outputs);
  absl::Status FindStream(const google::protobuf::Message& message, const std::string& path, IsControl is_control,
                          std::vector<uint32_t>& outputs);
  absl::Status AddInput(const v1::Array& array, const std::string& path, bool is_control);
  absl::Status CheckOperations(bool reserve);
  absl::Status CheckOperation(int operation, bool reserve);
  // Whether an array or a result of the operation is sharded. Earlier operations have been executed, or will be.
  PlanShards ShardsOf(int operation) const;
  // Whether counts or offsets lie in the place. The host copies these from wherever they lie.
  bool IsStoredControl(const v1::StoredPlace& place) const { return stored_controls_.contains(&place); }
  // The operation on these places. If arrays or results are sharded, their devices share it if they can.
  absl::StatusOr<std::unique_ptr<Operation>> Make(int operation, ExecutePlaces& places) const;
  // The number of elements of an array of the plan; nullopt if only its stream or an earlier operation tells it.
  std::optional<int64_t> CountOf(const v1::Array& array) const;
  // Whether the announced counts are plausible enough to sum up.
  bool HasPlausibleCounts() const;
  absl::Status ReservePinned();
  // Chooses the strategy, once all sizes are known that are known before the arrays come, and with it where the streams
  // are collected.
  void Choose(const StreamOptions& streams);
  int64_t parts() const { return std::max<int64_t>(1, message().parts()); }
  absl::Status CheckBudgets(const StreamOptions& streams) const;
  absl::Status CheckSpill(const StreamOptions& streams) const;

  const std::unique_ptr<const v1::ExecuteRequest> request_;
  const std::shared_ptr<const Payloads> payloads_;
  const Limits limits_;
  const SharedPlaces places_;
  const std::shared_ptr<const Caller> caller_;
  CallId id_;
  std::string peer_;
  std::vector<StreamInput> inputs_;
  absl::flat_hash_set<const v1::StoredPlace*> stored_controls_;  // parts of the message
  Strategy strategy_ = Strategy::kCollected;
  std::unique_ptr<const ExternalWork> external_;
  std::optional<Spill> spill_;
  TaskPriority priority_ = TaskPriority::kNormal;
  uint64_t devices_ = ~uint64_t{0};
  uint64_t shard_devices_ = 0;
  bool has_outputs_ = false;        // some results are streamed
  int64_t known_bytes_ = -1;        // of inputs and results together
  int64_t known_device_bytes_ = 0;  // workspace included
  int64_t pinned_bytes_ = 0;        // of results for the response and of copied counts
  std::shared_ptr<HostPool::Reservation> pinned_;
  std::vector<KeptRooms> rooms_;                   // by operation
  std::vector<std::shared_ptr<const void>> held_;  // regions and kept arrays that the plan names, until Release
  PlanArrays arrays_;
};

/// The plan of a job. `earlier` receives the outcomes of all operations but the last, and outlives the plan.
Plan PlanJob(const std::shared_ptr<ExecutePlan>& job, ExternalMeans means, std::vector<Outcome>* earlier);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_EXECUTE_PLAN_H_
