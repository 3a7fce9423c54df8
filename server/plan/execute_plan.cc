#include "server/plan/execute_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/model/operator_traits.h"
#include "server/plan/parse/arrays.h"
#include "server/plan/plan_places.h"
#include "server/plan/planner.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

using google::protobuf::Message;

// Asks the parser what it does with each array of a request whose arrays have not arrived.
class ArrayUses final : public Places {
 public:
  /// Adds the places of stored counts and offsets to `stored_controls`.
  explicit ArrayUses(absl::flat_hash_set<const v1::StoredPlace*>* stored_controls)
      : stored_controls_(stored_controls) {}

  absl::Status Find(const v1::Array& array, Field, ArrayUse use, Operand* operand) override {
    if (use == ArrayUse::kInt64) {
      controls_.insert(&array);
      if (array.has_stored()) stored_controls_->insert(&array.stored());
    }
    operand->count = std::max<int64_t>(0, array.count());
    operand->has_count = array.has_count();
    operand->is_pending = true;
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<ResultTarget>> Target(const v1::Destination&, Field, int64_t, int32_t) override {
    return nullptr;
  }

  // Whether the server reads the array's values: counts and offsets. It only moves and compares all other arrays.
  bool IsControl(const v1::Array& array) const { return controls_.contains(&array); }

 private:
  absl::flat_hash_set<const v1::Array*> controls_;
  absl::flat_hash_set<const v1::StoredPlace*>* const stored_controls_;
};

// Bytes that a request may have, and the flag that says so.
struct Limit {
  int64_t bytes;
  absl::string_view flag;

  bool operator<(const Limit& other) const { return bytes < other.bytes; }
};

// The start of the paths of an operation's fields.
std::string PathOf(int operation) { return absl::StrCat("plan.operations[", operation, "]."); }

absl::Status CheckStreamId(uint32_t id, const std::string& path, bool is_taken) {
  if (id > kMaxStreamId) return InvalidField(path, absl::StrCat("must be 0 to ", kMaxStreamId, ", not ", id));
  if (!is_taken) return absl::OkStatus();
  return InvalidField(path, absl::StrCat("another array of the plan has the stream_id ", id));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExecutePlan>> ExecutePlan::Read(std::unique_ptr<const v1::ExecuteRequest> request,
                                                               std::shared_ptr<const Payloads> payloads,
                                                               const Limits& limits, const StreamOptions& streams,
                                                               const SharedPlaces& places,
                                                               std::shared_ptr<const Caller> caller) {
  std::unique_ptr<ExecutePlan> plan(
      new ExecutePlan(std::move(request), std::move(payloads), limits, places, std::move(caller)));
  CORANK_RETURN_IF_ERROR(plan->Check(streams));
  plan->Choose(streams);
  CORANK_RETURN_IF_ERROR(plan->CheckBudgets(streams));
  if (plan->message().parts() <= 1) CORANK_RETURN_IF_ERROR(plan->ReservePinned());
  return plan;
}

absl::Status ExecutePlan::Reserve() {
  CORANK_RETURN_IF_ERROR(CheckOperations(/*reserve=*/true));
  return ReservePinned();
}

absl::Status ExecutePlan::Check(const StreamOptions& streams) {
  if (!request_->has_plan()) return InvalidField("plan", "the first message of a call must be its plan");
  if (size() < 1 || size() > kMaxPlanOperations) {
    return InvalidField("plan.operations",
                        absl::StrCat("must be 1 to ", kMaxPlanOperations, " operations, not ", size()));
  }
  std::vector<uint32_t> outputs;
  for (int i = 0; i < size(); ++i) {
    const v1::Operation& operation = message().operations(i);
    if (operation.operation_case() == v1::Operation::OPERATION_NOT_SET) {
      return InvalidField(absl::StrCat("plan.operations[", i, "]"), "no operator is set");
    }
    CORANK_RETURN_IF_ERROR(CheckOperator(*caller_, OperatorOf(operation)));
    CORANK_RETURN_IF_ERROR(WithRequest(operation, [&](const auto& request) -> absl::Status {
      const absl::StatusOr<TaskPriority> priority = ValidateOptions(request.options());
      CORANK_RETURN_IF_ERROR(Named(i, priority.status()));
      if (i == 0) priority_ = *priority;
      ArrayUses uses(&stored_controls_);
      CORANK_RETURN_IF_ERROR(Named(i, Validate(request, limits_, uses).status()));
      const auto is_control = [&uses](const v1::Array& array) { return uses.IsControl(array); };
      return FindStreams(request, PathOf(i), is_control, outputs);
    }));
    HoldPlaces(operation, places_, caller_->tenant, held_);
  }
  has_outputs_ = !outputs.empty();
  rooms_.resize(static_cast<size_t>(size()));
  shard_devices_ = FindShardDevices(message(), places_, caller_->tenant,
                                    [this](const v1::StoredPlace& place) { return IsStoredControl(place); });
  if (shard_devices_ == 0) {
    spill_ = FindSpill(
        message(), streams, [this](const v1::Array& array) { return CountOf(array); }, inputs_);
  }
  CORANK_RETURN_IF_ERROR(CheckOperations(/*reserve=*/message().parts() <= 1));
  return absl::OkStatus();
}

std::optional<int64_t> ExecutePlan::CountOf(const v1::Array& array) const {
  if (array.has_count()) return array.count();
  switch (array.place_case()) {
    case v1::Array::kInlineData: {
      const int64_t element_bytes = ElementBytes(array);
      if (element_bytes == 0) return std::nullopt;  // refused later
      return static_cast<int64_t>(payloads_->Find(array).size()) / element_bytes;
    }
    case v1::Array::kStored: {
      if (array.stored().temporary() || !CheckStoredArrays(*caller_).ok()) return std::nullopt;
      const absl::StatusOr<std::shared_ptr<const KeptArray>> kept =
          places_.arrays->Find(caller_->tenant, array.stored().name(), "name");
      return kept.ok() ? std::optional((*kept)->count) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

absl::Status ExecutePlan::CheckOperations(bool reserve) {
  pinned_bytes_ = 0;
  for (int i = 0; i < size(); ++i) {
    // An array that is read from the store may be the result of an earlier operation.
    if (i > 0 && ReadsStored(message().operations(i))) continue;
    CORANK_RETURN_IF_ERROR(Named(i, CheckOperation(i, reserve)));
  }
  arrays_.Clear();
  return absl::OkStatus();
}

absl::Status ExecutePlan::FindStreams(const Message& message, const std::string& path, IsControl is_control,
                                      std::vector<uint32_t>& outputs) {
  absl::Status status;
  ForEachMessage(message, [&](Field field, const Message& inner) {
    if (status.ok()) status = FindStream(inner, path + field.Path(), is_control, outputs);
  });
  return status;
}

absl::Status ExecutePlan::FindStream(const Message& message, const std::string& path, IsControl is_control,
                                     std::vector<uint32_t>& outputs) {
  if (message.GetDescriptor() == v1::Array::descriptor()) {
    const auto& array = static_cast<const v1::Array&>(message);
    return array.has_stream() ? AddInput(array, path, is_control(array)) : absl::OkStatus();
  }
  if (message.GetDescriptor() != v1::Destination::descriptor()) {
    return FindStreams(message, path + ".", is_control, outputs);
  }
  const auto& destination = static_cast<const v1::Destination&>(message);
  if (!destination.has_stream()) return absl::OkStatus();
  const uint32_t id = destination.stream().stream_id();
  const bool is_taken = std::find(outputs.begin(), outputs.end(), id) != outputs.end();
  CORANK_RETURN_IF_ERROR(CheckStreamId(id, path + ".stream.stream_id", is_taken));
  outputs.push_back(id);
  return absl::OkStatus();
}

absl::Status ExecutePlan::AddInput(const v1::Array& array, const std::string& path, bool is_control) {
  const uint32_t id = array.stream().stream_id();
  const bool is_taken =
      std::any_of(inputs_.begin(), inputs_.end(), [id](const StreamInput& input) { return input.stream_id == id; });
  CORANK_RETURN_IF_ERROR(CheckStreamId(id, path + ".stream.stream_id", is_taken));
  CORANK_ASSIGN_OR_RETURN(const Operand operand,
                          CheckElements(true, array, {path}, is_control ? ArrayUse::kInt64 : ArrayUse::kMoved));
  const int64_t count = array.has_count() ? array.count() : -1;
  if (array.has_count() && (count < 0 || count > std::numeric_limits<int64_t>::max() / operand.element_bytes)) {
    return InvalidField(path + ".count",
                        absl::StrCat("must be 0 or more, with bytes that fit in 63 bits, not ", count));
  }
  if (!array.has_count() && message().parts() > 1) {
    return InvalidField(path + ".count", "required in a job of several parts");
  }
  inputs_.push_back({path, id, operand.type, operand.element_bytes, count, is_control});
  return absl::OkStatus();
}

PlanShards ExecutePlan::ShardsOf(int operation) const {
  if (shard_devices_ == 0) return {};
  const auto is_sharded = [this](const v1::StoredPlace& place, bool is_result) {
    if (is_result) return place.sharded();
    if (IsStoredControl(place)) return false;
    if (const Operand* const made = arrays_.Find(place)) return IsSharded(*made);
    if (place.temporary()) return false;
    const auto kept = places_.arrays->Find(caller_->tenant, place.name(), "name");
    return kept.ok() && (*kept)->is_sharded;
  };
  return {shard_devices_, AnyStored(message().operations(operation), is_sharded)};
}

absl::StatusOr<std::unique_ptr<Operation>> ExecutePlan::Make(int operation, ExecutePlaces& places) const {
  absl::StatusOr<std::unique_ptr<Operation>> made = WithRequest(
      message().operations(operation), [&](const auto& request) { return Validate(request, limits_, places); });
  if (!made.ok() || !places.is_shared()) return made;
  const bool is_shared = (*made)->sharing().arrays > 0;
  if (!is_shared) places.MakeWhole();  // only what the caller wants sharded still is, and CheckShards judges that
  CORANK_RETURN_IF_ERROR((*made)->CheckShards(DeviceSet::Count(shard_devices_)));
  return is_shared ? (*made)->Sharded({shard_devices_}) : std::move(made);
}

absl::Status ExecutePlan::CheckOperation(int operation, bool reserve) {
  ExecutePlaces places(places_, caller_, payloads_.get(), inputs_, &arrays_, ShardsOf(operation), spill_.has_value());
  const absl::StatusOr<std::unique_ptr<Operation>> made = Make(operation, places);
  CORANK_RETURN_IF_ERROR(made.status());
  const bool is_first_check = reserve == (message().parts() <= 1);  // Reserve checks a plan of several parts again
  if (size() == 1 && is_first_check) external_ = (*made)->external();
  if (external_ != nullptr && !external_->is_streamed) external_.reset();
  if (reserve) CORANK_RETURN_IF_ERROR(places.ReserveKept(devices_));
  if (const uint64_t devices = devices_ & places.devices(); devices != 0) devices_ = devices;
  rooms_[static_cast<size_t>(operation)] = places.TakeRooms();
  pinned_bytes_ += places.pinned_bytes();
  if (is_size_known()) known_bytes_ = (*made)->work_bytes();
  for (int i = 0; i < places_.devices->size() && HasPlausibleCounts(); ++i) {
    const int64_t bytes = (*made)->device_bytes(places_.devices->engine(i)) + places.part_bytes();
    known_device_bytes_ = std::max(known_device_bytes_, bytes);
  }
  return absl::OkStatus();
}

bool ExecutePlan::HasPlausibleCounts() const {
  // CheckBudgets refuses larger counts.
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const StreamInput& input) { return input.count <= kMostPlausibleElements; });
}

bool ExecutePlan::is_size_known() const {
  // Later operations read results of earlier ones, and the values of counts determine the size of results.
  return size() == 1 && shard_devices_ == 0 && HasPlausibleCounts() &&
         std::all_of(inputs_.begin(), inputs_.end(),
                     [](const StreamInput& input) { return input.count >= 0 && !input.is_control; });
}

absl::Status ExecutePlan::ReservePinned() {
  if (pinned_bytes_ == 0) return absl::OkStatus();
  if (payloads_->pinned_bytes() + pinned_bytes_ > places_.host_pool->max_bytes()) {
    return TooLargeField(
        "plan.operations",
        absl::StrCat("their arrays and results take ", payloads_->pinned_bytes() + pinned_bytes_,
                     " bytes of the server's host memory, but host_pool_bytes is ", places_.host_pool->max_bytes()));
  }
  CORANK_ASSIGN_OR_RETURN(pinned_, places_.host_pool->Reserve(pinned_bytes_));
  return absl::OkStatus();
}

void ExecutePlan::Release() {
  held_.clear();
  arrays_.Clear();
  rooms_.clear();
  pinned_.reset();
}

void ExecutePlan::Choose(const StreamOptions& streams) {
  const bool all_known =
      std::all_of(inputs_.begin(), inputs_.end(), [](const StreamInput& input) { return input.count >= 0; });
  const bool fits_whole = all_known && HasPlausibleCounts() && known_device_bytes_ <= streams.max_device_bytes;
  if (external_ != nullptr && external_->prefers_whole && fits_whole) external_.reset();
  Workload work;
  work.is_streamed = true;
  if (external_ != nullptr) {
    const JobMemory memory(streams.max_device_bytes, streams.max_host_bytes, nullptr, nullptr);
    work.external = external_->strategy;
    work.may_fit_whole = external_->may_fit_whole;
    if (work.may_fit_whole) work.external_host_bytes = external_->host_bytes(parts(), streams.piece_bytes, memory);
  }
  PlannerOptions options;
  options.max_host_bytes = streams.max_host_bytes;
  strategy_ = ChooseStrategy(work, options);
  if (strategy_ == Strategy::kCollected) external_.reset();
  if (external_ == nullptr || !external_->needs_whole_arrays) return;
  for (StreamInput& input : inputs_) {
    if (!input.is_control) (all_known ? input.is_spilled : input.may_spill) = true;
  }
}

// Refuses early what would fail for lack of memory later.
absl::Status ExecutePlan::CheckBudgets(const StreamOptions& streams) const {
  const JobMemory memory(streams.max_device_bytes, streams.max_host_bytes, nullptr, nullptr);
  double device_bytes = 0, host_bytes = 0;
  for (const StreamInput& input : inputs_) {
    double& bytes = input.waits_on_host() ? host_bytes : device_bytes;
    bytes += static_cast<double>(std::max<int64_t>(0, input.count)) * input.element_bytes;
    // A sort or merge may keep its runs in host memory, and one that returns the first rows keeps few others.
    const Limit on_host{streams.max_host_bytes, "max_stream_host_bytes"};
    const Limit on_device{streams.max_device_bytes, "max_device_bytes"};
    Limit limit = input.waits_on_host() ? on_host : on_device;
    if (!input.waits_on_host() && external_ != nullptr) {
      limit = std::max(Limit{memory.MostRowsInCore(1), on_device.flag}, on_host);
      if (external_->keeps_first_rows) limit.bytes = kMostPlausibleBytes;
    } else if (input.may_spill) {
      limit = std::max(on_device, on_host);
    }
    if (bytes <= static_cast<double>(limit.bytes)) continue;
    return TooLargeField(input.field + ".count",
                         absl::StrCat("the streamed arrays up to this one exceed the ", limit.bytes,
                                      " bytes that one request may have (", limit.flag, "); send less at a time"));
  }
  if (spill_) return CheckSpill(streams);
  const int64_t need = external_ == nullptr ? 0 : external_->host_bytes(parts(), streams.piece_bytes, memory);
  if (need <= streams.max_host_bytes) return absl::OkStatus();
  return TooLargeField(
      inputs_[0].field + ".count",
      absl::StrCat("the streamed arrays need ", need, " bytes of host memory in transit, but one request may have ",
                   streams.max_host_bytes, " (max_stream_host_bytes)"));
}

absl::Status ExecutePlan::CheckSpill(const StreamOptions& streams) const {
  int64_t need = spill_->bytes();
  for (const StreamInput& input : inputs_) {
    if (input.is_control) need += std::max<int64_t>(0, input.count) * input.element_bytes;
  }
  // The inputs alone, counts and offsets included, were checked before.
  if (need > streams.max_host_bytes) {
    return TooLargeField(PathOf(0) + spill_->result_field,
                         absl::StrCat("the result and the streamed arrays need ", need,
                                      " bytes of host memory, but one request may have ", streams.max_host_bytes,
                                      " (max_stream_host_bytes); they do not fit in the ", streams.max_device_bytes,
                                      " that it may have on the device (max_device_bytes)"));
  }
  // Work in pieces adapts to the available memory.
  const bool is_whole = !spill_->result_field.empty();
  if (!is_whole || known_device_bytes_ <= streams.max_device_bytes) return absl::OkStatus();
  return TooLargeField(PathOf(0) + "counts", absl::StrCat("counts, offsets and workspace need ", known_device_bytes_,
                                                          " bytes of device memory, but one request may have ",
                                                          streams.max_device_bytes, " (max_device_bytes)"));
}

absl::Status ExecutePlan::Named(int operation, const absl::Status& status) const {
  return UnderField(status, PathOf(operation));
}

const v1::RequestOptions& ExecutePlan::options() const {
  const auto& of_request = [](const auto& request) { return &request.options(); };
  return *WithRequest(message().operations(0), of_request);
}

Operator ExecutePlan::op() const { return OperatorOf(message().operations(0)); }

absl::StatusOr<PreparedOperation> ExecutePlan::Bind(int operation, const std::vector<Operand>& inputs,
                                                    std::shared_ptr<JobMemory> memory) {
  const ExecutePlaces::Arrived arrived{&inputs, std::move(memory), {pinned_, &rooms_[static_cast<size_t>(operation)]}};
  const bool spills = spill_ || AnySpilled(inputs);
  ExecutePlaces places(places_, caller_, payloads_.get(), inputs_, &arrays_, ShardsOf(operation), spills, &arrived);
  absl::StatusOr<std::unique_ptr<Operation>> made = Make(operation, places);
  if (!made.ok()) return Named(operation, made.status());
  (*made)->ReadsFrom(places.TakeSources());
  return PreparedOperation{*std::move(made), places.targets(), places.parts(), places.part_bytes()};
}

Plan PlanJob(const std::shared_ptr<ExecutePlan>& job, ExternalMeans means, std::vector<Outcome>* earlier) {
  Plan plan;
  plan.strategy = job->strategy();
  plan.devices = job->devices();
  plan.shard_devices = job->shard_devices();
  if (job->external() != nullptr && !job->external()->needs_whole_arrays) {
    plan.operation = job->external()->make(std::move(means));
  } else {
    plan.operation = std::make_unique<CollectedOperation>(
        CollectedOperation::Spec{means.pipe, means.memory, job, means.piece_bytes, earlier});
  }
  plan.work_bytes = plan.operation->work_bytes();
  plan.need = NeedOf(*plan.operation, plan.strategy, job->all_devices());
  return plan;
}

}  // namespace corank
