#include "server/plan/execute_places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/memory/names.h"

namespace corank {

// A result that later operations of the plan may read. It lies in memory of the job, on one device or in parts, or of
// `kept`, which publishes it once the job has succeeded.
class ExecutePlaces::PlanTarget final : public ResultTarget {
 public:
  PlanTarget(std::string name, std::string field, std::shared_ptr<ResultTarget> kept, std::shared_ptr<JobMemory> memory)
      : name_(std::move(name)), field_(std::move(field)), kept_(std::move(kept)), memory_(std::move(memory)) {}

  /// The result lies in parts: a temporary one in these.
  void LieInParts(uint64_t devices, std::unique_ptr<JobParts> parts) {
    place_.shard_devices = devices;
    place_.shards.resize(static_cast<size_t>(DeviceSet::Count(devices)));
    parts_ = std::move(parts);
  }
  /// The result lies on one device after all.
  void MakeWhole() {
    place_ = {};
    parts_.reset();
  }
  int64_t part_bytes() const { return parts_ == nullptr ? 0 : parts_->device_bytes(); }

  bool is_sharded() const override { return !place_.shards.empty(); }
  absl::StatusOr<int64_t> Divide(int64_t count) override {
    if (kept_ != nullptr) return kept_->Divide(count);
    parts_->SetCount(count);
    return parts_->size();
  }
  absl::StatusOr<void*> AllocateShard(size_t shard) override {
    CORANK_ASSIGN_OR_RETURN(void* const part, kept_ == nullptr ? parts_->Allocate(shard) : kept_->AllocateShard(shard));
    place_.shards[shard] = part;
    return part;
  }
  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    ResultBuffer buffer;
    if (kept_ != nullptr) {
      CORANK_ASSIGN_OR_RETURN(buffer, kept_->Allocate(stream, bytes));
    } else {
      CORANK_ASSIGN_OR_RETURN(block_, memory_->AllocateDevice(bytes, field_));
      buffer.device = block_->data();
    }
    place_ = {buffer.device, stream.device()};
    return buffer;
  }
  absl::Status Check() const override { return kept_ == nullptr ? absl::OkStatus() : kept_->Check(); }
  absl::Status Prepare() override { return kept_ == nullptr ? absl::OkStatus() : kept_->Prepare(); }
  absl::Status Commit(v1::Array* described) override {
    if (kept_ != nullptr) return kept_->Commit(described);
    described->mutable_stored()->set_name(name_);
    described->mutable_stored()->set_temporary(true);
    return absl::OkStatus();
  }
  const PlanArrays::Place* place() const { return &place_; }

 private:
  const std::string name_, field_;
  const std::shared_ptr<ResultTarget> kept_;  // null: a temporary
  const std::shared_ptr<JobMemory> memory_;
  std::shared_ptr<StreamBlock> block_;
  std::unique_ptr<JobParts> parts_;
  PlanArrays::Place place_;
};

const Operand* PlanArrays::Find(const v1::StoredPlace& place) const {
  const auto found = arrays_.find({place.temporary(), place.name()});
  return found == arrays_.end() ? nullptr : &found->second;
}

void PlanArrays::Expect(Name name, std::shared_ptr<ResultTarget> target, const Place* place) {
  expected_.push_back({std::move(name), std::move(target), place});
}

void PlanArrays::Store(const Outcome& outcome) {
  for (Expected& expected : expected_) {
    for (const ResultArray& result : outcome.results) {
      if (result.target != expected.target) continue;
      Operand& stored = arrays_[expected.name];
      stored.type = result.type;
      stored.element_bytes = result.element_bytes;
      stored.count = result.count;
      stored.bytes = expected.place->bytes;
      stored.shards = expected.place->shards;
      stored.shard_devices = expected.place->shard_devices;
      stored.on_device = true;
      stored.device = expected.place->device;
      stored.owner = std::move(expected.target);
      break;
    }
  }
  expected_.clear();
}

void PlanArrays::Clear() {
  expected_.clear();
  arrays_.clear();
}

absl::Status ExecutePlaces::FindStream(const v1::Array& array, Field field, ArrayUse use, Operand* operand) {
  const uint32_t id = array.stream().stream_id();
  const auto found = std::find_if(streams_.begin(), streams_.end(),
                                  [id](const StreamInput& stream) { return stream.stream_id == id; });
  if (found == streams_.end()) return absl::InternalError("a streamed input was not found when the plan was read");
  if ((use == ArrayUse::kInt64) != found->is_control) {
    return absl::InternalError(absl::StrCat(field.Path(), " was taken for another kind of array"));
  }
  if (received_ == nullptr) {
    operand->count = std::max<int64_t>(0, found->count);
    operand->is_pending = true;
    operand->stream_input = static_cast<int>(found - streams_.begin());
    operand->has_count = found->count >= 0;
    operand->is_spilled = found->is_spilled || found->may_spill;
    return absl::OkStatus();
  }
  *operand = (*received_)[static_cast<size_t>(found - streams_.begin())];
  return absl::OkStatus();
}

absl::Status ExecutePlaces::Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) {
  if (array.has_stream()) return FindStream(array, field, use, operand);
  if (!array.has_stored()) return RequestPlaces::Find(array, field, use, operand);
  const Operand* const stored = arrays_->Find(array.stored());
  const std::string path = field.Sub("stored");
  if (stored == nullptr) {
    if (!array.stored().temporary()) return RequestPlaces::Find(array, field, use, operand);
    CORANK_RETURN_IF_ERROR(CheckName(path + ".name", array.stored().name()));
    return FieldError(v1::ERROR_REASON_ARRAY_NOT_FOUND, path + ".name",
                      absl::StrCat("no earlier operation made a temporary array '", array.stored().name(), "'"));
  }
  CORANK_RETURN_IF_ERROR(
      CheckStored({stored->type, stored->element_bytes, stored->count}, array, operand->element_bytes, field));
  *operand = *stored;
  return use == ArrayUse::kInt64 ? Snapshot(operand, field) : absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ResultTarget>> ExecutePlaces::Target(const v1::Destination& destination, Field field,
                                                                    int64_t bytes, int32_t element_bytes) {
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<ResultTarget> target, FinalTarget(destination, field, bytes, element_bytes));
  const bool is_in_place = target == nullptr || target->is_response() || target->HostPlace() != nullptr;
  if (!shards_.is_shared || is_in_place || target->is_sharded()) return target;
  JobParts parts(shards_.devices, bytes / element_bytes, element_bytes, memory_, field.Path());
  return parts_.emplace_back(std::make_shared<PartsTarget>(std::move(target), std::move(parts)));
}

absl::StatusOr<std::shared_ptr<ResultTarget>> ExecutePlaces::FinalTarget(const v1::Destination& destination,
                                                                         Field field, int64_t bytes,
                                                                         int32_t element_bytes) {
  if (destination.has_stream()) {
    targets_.push_back(
        std::make_shared<StreamTarget>(destination.stream().stream_id(), field.Path(), memory_, spills_));
    return targets_.back();
  }
  if (!destination.has_stored()) return RequestPlaces::Target(destination, field, bytes, element_bytes);
  const v1::StoredPlace& place = destination.stored();
  CORANK_RETURN_IF_ERROR(CheckName(field.Sub("stored.name"), place.name()));
  std::shared_ptr<ResultTarget> kept;
  if (place.temporary()) {
    CORANK_RETURN_IF_ERROR(CheckNew(place, field));
  } else {
    CORANK_ASSIGN_OR_RETURN(kept, RequestPlaces::Target(destination, field, bytes, element_bytes));
  }
  auto target = std::make_shared<PlanTarget>(place.name(), field.Sub("stored"), std::move(kept), memory_);
  if (place.temporary() && shards_.is_shared) {
    target->LieInParts(shards_.devices, std::make_unique<JobParts>(shards_.devices, bytes / element_bytes,
                                                                   element_bytes, memory_, field.Sub("stored")));
    temporaries_.push_back({target, place.sharded()});
  } else if (place.sharded()) {
    target->LieInParts(shards_.devices, nullptr);
  }
  arrays_->Expect({place.temporary(), place.name()}, target, target->place());
  return target;
}

void ExecutePlaces::MakeWhole() {
  for (const std::shared_ptr<PartsTarget>& target : parts_) target->MakeWhole();
  for (const auto& [target, stays_sharded] : temporaries_) {
    if (!stays_sharded) target->MakeWhole();
  }
}

int64_t ExecutePlaces::part_bytes() const {
  int64_t bytes = 0;
  for (const std::shared_ptr<PartsTarget>& target : parts_) {
    if (target->is_sharded()) bytes += target->parts().device_bytes();
  }
  for (const auto& [target, stays_sharded] : temporaries_) bytes += target->part_bytes();
  return bytes;
}

}  // namespace corank
