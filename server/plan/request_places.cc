#include "server/plan/request_places.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"
#include "server/plan/parse/arrays.h"
#include "server/security/permissions.h"

namespace corank {
namespace {

// What a loop may copy from shared memory: some microseconds.
constexpr int64_t kBriefCopyBytes = 64 << 10;

// Kernels and copies need elements at their natural alignment.
int64_t Alignment(int32_t element_bytes) { return std::min(element_bytes & -element_bytes, 16); }

absl::Status NoTemporary(const std::string& stored) {
  return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED, stored + ".temporary",
                    "temporary arrays work only in plans of CorankService.Execute");
}

// A result for the response, in pinned memory that lasts until it is sent.
class ResponseTarget final : public ResultTarget {
 public:
  explicit ResponseTarget(std::shared_ptr<void> buffer) : buffer_(std::move(buffer)) {}

  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    return stream.AllocateResultAt(buffer_.get(), bytes);
  }
  char* HostPlace() const override { return static_cast<char*>(buffer_.get()); }
  bool is_response() const override { return true; }
  absl::Status Commit(v1::Array*) override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<void> buffer_;
};

// A result in a part of a registered region.
class RegionTarget final : public ResultTarget {
 public:
  RegionTarget(std::shared_ptr<const MemoryRegion> region, void* bytes, std::string field)
      : region_(std::move(region)), bytes_(bytes), field_(std::move(field)) {}

  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    const bool on_device = region_->kind() == v1::REGION_KIND_CUDA_IPC;
    if (on_device && region_->device() == stream.device()) return ResultBuffer{bytes_, nullptr};
    // Not written in place: the caller may write there meanwhile, and operators read their own output.
    CORANK_ASSIGN_OR_RETURN(void* device, stream.AllocateDevice(bytes));
    return ResultBuffer{device, bytes_, on_device};
  }

  char* HostPlace() const override {
    return region_->kind() == v1::REGION_KIND_SHARED_MEMORY ? static_cast<char*>(bytes_) : nullptr;
  }

  absl::Status Check() const override {
    if (region_->intact()) return absl::OkStatus();
    return MadeSmaller(field_);
  }

  absl::Status Commit(v1::Array* described) override {
    v1::RegionPlace& place = region_->kind() == v1::REGION_KIND_CUDA_IPC ? *described->mutable_cuda_ipc()
                                                                         : *described->mutable_shared_memory();
    place.set_region(region_->name());
    place.set_offset_bytes(static_cast<const char*>(bytes_) - static_cast<const char*>(region_->data()));
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<const MemoryRegion> region_;
  void* const bytes_;
  const std::string field_;  // that names the region
};

}  // namespace

// A result that is stored under a name once the request has succeeded.
class RequestPlaces::StoredTarget : public ResultTarget {
 public:
  StoredTarget(ArrayStore* store, std::string owner, std::string name, std::string field, int32_t element_bytes)
      : store_(store),
        owner_(std::move(owner)),
        name_(std::move(name)),
        field_(std::move(field)),
        element_bytes_(element_bytes) {}

  absl::Status Commit(v1::Array* described) override {
    array_->type = described->type();
    described->mutable_stored()->set_name(name_);
    return store_->Keep(owner_, name_, array_);
  }

 protected:
  ArrayStore* const store_;
  const std::string owner_, name_, field_;
  const int32_t element_bytes_;
  KeptRoom room_;
  std::shared_ptr<KeptArray> array_;  // a retry reuses it
};

class RequestPlaces::KeptTarget final : public StoredTarget {
 public:
  using StoredTarget::StoredTarget;

  KeptRoom& room() { return room_; }

  absl::StatusOr<ResultBuffer> Allocate(EngineStream& stream, int64_t bytes) override {
    if (array_ == nullptr) {
      // Reserved this late only if the size was unknown before.
      if (room_.bytes() < bytes || room_.device() != stream.device()) {
        CORANK_ASSIGN_OR_RETURN(room_, store_->Reserve(owner_, stream.device(), bytes, field_));
      }
      CORANK_ASSIGN_OR_RETURN(array_, store_->Make(room_, bytes));
    }
    return ResultBuffer{array_->parts.front().data(), nullptr};
  }

  absl::Status Prepare() override {
    if (array_ != nullptr) return absl::OkStatus();
    if (room_.bytes() == 0) {  // an empty result
      CORANK_ASSIGN_OR_RETURN(room_, store_->Reserve(owner_, room_.device(), /*bytes=*/0, field_));
    }
    CORANK_ASSIGN_OR_RETURN(array_, store_->Make(room_, /*count=*/0));
    return absl::OkStatus();
  }

  absl::Status Commit(v1::Array* described) override {
    array_->element_bytes = element_bytes_;
    array_->count = described->count();
    return StoredTarget::Commit(described);
  }
};

class RequestPlaces::ShardedTarget final : public StoredTarget {
 public:
  ShardedTarget(ArrayStore* store, std::string owner, std::string name, std::string field, int64_t count,
                int32_t element_bytes)
      : StoredTarget(store, std::move(owner), std::move(name), std::move(field), element_bytes), count_(count) {}

  const std::string& field() const { return field_; }
  KeptRoom& room() { return room_; }
  void SetDevices(uint64_t devices) { devices_ = devices; }
  absl::Status Reserve() {
    if (room_.Holds(count_, element_bytes_)) return absl::OkStatus();
    room_ = {};
    CORANK_ASSIGN_OR_RETURN(room_, store_->ReserveSharded(owner_, devices_, count_, element_bytes_, field_));
    return absl::OkStatus();
  }

  bool is_sharded() const override { return true; }
  absl::StatusOr<int64_t> Divide(int64_t count) override {
    count_ = count;
    return DeviceSet::Count(devices_);
  }
  absl::StatusOr<ResultBuffer> Allocate(EngineStream&, int64_t) override {
    return absl::InternalError("a sharded result lies on several devices");
  }
  absl::StatusOr<void*> AllocateShard(size_t shard) override {
    CORANK_RETURN_IF_ERROR(Prepare());
    return array_->parts[shard].data();
  }
  absl::Status Prepare() override {
    if (array_ != nullptr) return absl::OkStatus();
    CORANK_RETURN_IF_ERROR(Reserve());  // reserves this late only if the size was unknown before
    CORANK_ASSIGN_OR_RETURN(array_, store_->Make(room_, count_, element_bytes_));
    return absl::OkStatus();
  }
  absl::Status Commit(v1::Array* described) override {
    described->mutable_stored()->set_sharded(true);
    return StoredTarget::Commit(described);
  }

 private:
  int64_t count_;
  uint64_t devices_ = 0;
};

absl::Status RequestPlaces::Find(const v1::Array& array, Field field, ArrayUse use, Operand* operand) {
  if (array.has_inline_data()) {
    operand->is_pinned = true;
    return SetBytes(array, field, payloads_->Find(array), operand);
  }
  CORANK_ASSIGN_OR_RETURN(const std::optional<NamedRegion> region, RegionOf(array, field));
  if (region) return FindInRegion(*region, array, field, use, operand);
  if (array.has_stored()) {
    CORANK_RETURN_IF_ERROR(AtField(CheckStoredArrays(*caller_), field.Sub("stored")));
    if (shared_.arrays->is_on()) return FindKept(array, field, use, operand);
  }
  return PlaceUnavailable(array, field);
}

template <typename Message>
absl::StatusOr<std::optional<RequestPlaces::NamedRegion>> RequestPlaces::RegionOf(const Message& message,
                                                                                  Field field) const {
  std::optional<NamedRegion> named;
  if (message.has_shared_memory()) {
    CORANK_RETURN_IF_ERROR(AtField(CheckSharedMemory(*caller_), field.Sub("shared_memory")));
    if (shared_.regions->options().shared_memory_prefixes.empty()) return named;
    named.emplace(NamedRegion{v1::REGION_KIND_SHARED_MEMORY, message.shared_memory()});
  } else if (message.has_cuda_ipc()) {
    CORANK_RETURN_IF_ERROR(AtField(CheckCudaIpc(*caller_), field.Sub("cuda_ipc")));
    if (!shared_.regions->options().cuda_ipc) return named;
    named.emplace(NamedRegion{v1::REGION_KIND_CUDA_IPC, message.cuda_ipc()});
  }
  return named;
}

absl::Status RequestPlaces::FindInRegion(const NamedRegion& named, const v1::Array& array, Field field, ArrayUse use,
                                         Operand* operand) {
  if (!array.has_count() || array.count() < 0) {
    return InvalidField(field.Sub("count"), "required, 0 or more, for an array that is not inline");
  }
  if (array.count() > std::numeric_limits<int64_t>::max() / operand->element_bytes) {
    return TooLargeField(field.Sub("count"), absl::StrCat(array.count(), " elements are more than a region can hold"));
  }
  operand->count = array.count();
  CORANK_ASSIGN_OR_RETURN(Span span, FindSpan(named, operand->size_bytes(), operand->element_bytes, field));
  operand->bytes = reinterpret_cast<const void*>(span.begin);
  operand->on_device = !named.is_on_host();
  operand->device = span.region->device();
  operand->is_shared = named.is_on_host();
  operand->owner = span.region;
  all_inline_ = false;
  placed_bytes_ += operand->size_bytes();
  if (use == ArrayUse::kInt64) {
    CORANK_RETURN_IF_ERROR(Snapshot(operand, field));
    return span.region->intact() ? absl::OkStatus() : MadeSmaller(field.Sub("shared_memory.region"));
  }
  NoteInput(*operand);
  if (named.is_on_host()) sources_.push_back({span.region, field.Sub("shared_memory.region")});
  inputs_.push_back(std::move(span));
  return absl::OkStatus();
}

absl::StatusOr<RequestPlaces::Span> RequestPlaces::FindSpan(const NamedRegion& named, int64_t bytes,
                                                            int32_t element_bytes, Field field) const {
  const std::string path = named.path(field);
  const std::string& name = named.place.region();
  const int64_t offset = named.place.offset_bytes();
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const MemoryRegion> region,
                          shared_.regions->Find(owner(), name, named.kind, path + ".region"));
  if (offset < 0 || offset > region->size_bytes() || bytes > region->size_bytes() - offset) {
    return InvalidField(path + ".offset_bytes", absl::StrCat(bytes, " bytes at offset ", offset, " do not fit in the ",
                                                             region->size_bytes(), " bytes of region '", name, "'"));
  }
  // The address decides, because GPU memory may have been registered from any offset.
  const uintptr_t begin = reinterpret_cast<uintptr_t>(region->data()) + static_cast<uintptr_t>(offset);
  const auto alignment = static_cast<uintptr_t>(Alignment(element_bytes));
  if (begin % alignment != 0) {
    return InvalidField(path + ".offset_bytes",
                        absl::StrCat("this offset plus the one at which region '", name,
                                     "' was registered must be a multiple of ", alignment, "; this one is ", offset));
  }
  return Span{std::move(region), begin, begin + static_cast<uintptr_t>(bytes)};
}

absl::Status RequestPlaces::CountPinned(int64_t bytes, Field field) {
  const int64_t most = shared_.host_pool->max_bytes();
  const int64_t others = payloads_->pinned_bytes() + pinned_bytes_;
  if (bytes > most || HostPool::BufferBytes(bytes) > most - others) {
    return TooLargeField(field.Path(), absl::StrCat(bytes, " bytes here bring the request over the server's ",
                                                    "host memory for requests, host_pool_bytes ", most,
                                                    "; send less at a time, or use a stream (Execute)"));
  }
  pinned_bytes_ += HostPool::BufferBytes(bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<void>> RequestPlaces::TakePinned(int64_t bytes) {
  return shared_.host_pool->Take(bytes, promised_.pinned);
}

absl::Status RequestPlaces::Snapshot(Operand* operand, Field field) {
  if (operand->size_bytes() == 0) return absl::OkStatus();
  if (!may_wait_ && (operand->on_device || operand->size_bytes() > kBriefCopyBytes)) {
    would_wait_ = true;
    return absl::UnavailableError("its counts have to be copied first");
  }
  CORANK_RETURN_IF_ERROR(CountPinned(operand->size_bytes(), field));
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<void> copy, TakePinned(operand->size_bytes()));
  const auto bring = [&](int device, const void* d_from, int64_t bytes, int64_t before) {
    std::shared_ptr<char> to(copy, static_cast<char*>(copy.get()) + before);
    return shared_.devices->copier(device).ToHost(std::move(to), {operand->owner, d_from}, bytes);
  };
  if (IsSharded(*operand)) {
    const std::vector<int> devices = DeviceSet::List(operand->shard_devices);
    const auto bring_part = [&](size_t part, int64_t, int64_t count, int64_t before) {
      return bring(devices[part], operand->shards[part], count * operand->element_bytes,
                   before * operand->element_bytes);
    };
    const auto parts = static_cast<int64_t>(devices.size());
    CORANK_RETURN_IF_ERROR(ForEachPart(operand->count, parts, 0, operand->count, bring_part));
  } else if (operand->on_device) {
    CORANK_RETURN_IF_ERROR(bring(operand->device, operand->bytes, operand->size_bytes(), 0));
  } else {
    std::memcpy(copy.get(), operand->bytes, static_cast<size_t>(operand->size_bytes()));
  }
  operand->bytes = copy.get();
  operand->shards.clear();
  operand->on_device = false;
  operand->is_shared = false;
  operand->is_snapshot = true;
  operand->owner = std::move(copy);
  return absl::OkStatus();
}

absl::Status RequestPlaces::CheckStored(const Elements& stored, const v1::Array& array, int32_t element_bytes,
                                        Field field) {
  const std::string& name = array.stored().name();
  if (stored.type != array.type() || stored.element_bytes != element_bytes) {
    return InvalidField(field.Sub("type"),
                        absl::StrCat("the stored array '", name, "' has another type or record size"));
  }
  if (array.has_count() && array.count() != stored.count) {
    return InvalidField(field.Sub("count"), absl::StrCat("the count is ", array.count(), ", but the stored array '",
                                                         name, "' has ", stored.count, " elements"));
  }
  return absl::OkStatus();
}

absl::Status RequestPlaces::FindKept(const v1::Array& array, Field field, ArrayUse use, Operand* operand) {
  const std::string path = field.Sub("stored");
  if (array.stored().temporary()) return NoTemporary(path);
  CORANK_ASSIGN_OR_RETURN(std::shared_ptr<const KeptArray> kept,
                          shared_.arrays->Find(owner(), array.stored().name(), path + ".name"));
  CORANK_RETURN_IF_ERROR(
      CheckStored({kept->type, kept->element_bytes, kept->count}, array, operand->element_bytes, field));
  operand->count = kept->count;
  if (kept->is_sharded) return FindSharded(std::move(kept), field, use, operand);
  operand->bytes = kept->parts.front().data();
  operand->on_device = true;
  operand->device = kept->parts.front().device;
  operand->owner = std::move(kept);
  all_inline_ = false;
  placed_bytes_ += operand->size_bytes();
  if (use == ArrayUse::kInt64) return Snapshot(operand, field);
  NoteInput(*operand);
  return absl::OkStatus();
}

absl::Status RequestPlaces::FindSharded(std::shared_ptr<const KeptArray> kept, Field field, ArrayUse use,
                                        Operand* operand) {
  const std::string path = field.Sub("stored");
  if (!takes_sharded_ && use != ArrayUse::kInt64) {
    return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED, path,
                      "the array was replaced by a sharded one while the request waited; send the request again");
  }
  for (const KeptPart& part : kept->parts) operand->shards.push_back(part.data());
  operand->shard_devices = kept->devices();
  operand->on_device = true;
  operand->owner = std::move(kept);
  all_inline_ = false;
  placed_bytes_ += operand->size_bytes();
  if (use == ArrayUse::kInt64) return Snapshot(operand, field);
  if (shard_devices_ != 0 && shard_devices_ != operand->shard_devices) {
    return FieldError(v1::ERROR_REASON_PLACE_NOT_SUPPORTED, path,
                      "the sharded arrays of this request lie on different devices; fetch one and store it again");
  }
  shard_devices_ = operand->shard_devices;
  return absl::OkStatus();
}

void RequestPlaces::NoteInput(const Operand& operand) {
  if (!operand.on_device || operand.size_bytes() == 0) return;
  const auto known = std::find_if(input_bytes_.begin(), input_bytes_.end(),
                                  [&operand](const auto& one) { return one.first == operand.device; });
  if (known == input_bytes_.end()) {
    input_bytes_.emplace_back(operand.device, operand.size_bytes());
  } else {
    known->second += operand.size_bytes();
  }
}

uint64_t RequestPlaces::devices() const {
  if (kept_devices_ != 0) return kept_devices_;
  if (shard_devices_ != 0) return shard_devices_;
  if (result_devices_ != 0) return result_devices_ & -result_devices_;  // the first
  if (input_bytes_.empty()) return ~uint64_t{0};
  const auto most = std::max_element(input_bytes_.begin(), input_bytes_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return DeviceSet::Only(most->first);
}

absl::Status RequestPlaces::CheckNew(const v1::StoredPlace& place, Field field) {
  if (stored_.insert({place.temporary(), place.name()}).second) return absl::OkStatus();
  return InvalidField(field.Sub("stored.name"), "another result of this operation has the same name");
}

absl::StatusOr<std::shared_ptr<ResultTarget>> RequestPlaces::KeepResult(const v1::StoredPlace& place, Field field,
                                                                        int64_t bytes, int32_t element_bytes) {
  const std::string path = field.Sub("stored");
  if (place.temporary()) return NoTemporary(path);
  CORANK_RETURN_IF_ERROR(CheckName(path + ".name", place.name()));
  CORANK_RETURN_IF_ERROR(CheckNew(place, field));
  all_inline_ = false;
  placed_bytes_ += bytes;
  if (place.sharded()) {
    if (!takes_sharded_) return absl::InternalError("a sharded result was not found when the plan was read");
    sharded_.push_back(std::make_shared<ShardedTarget>(shared_.arrays, owner(), place.name(), path,
                                                       bytes / element_bytes, element_bytes));
    sharded_.back()->SetDevices(shard_devices_);
    sharded_.back()->room() = TakePromised(path);
    return sharded_.back();
  }
  auto target = std::make_shared<KeptTarget>(shared_.arrays, owner(), place.name(), path, element_bytes);
  target->room() = TakePromised(path);
  kept_.push_back({target, path, bytes});
  return target;
}

KeptRoom RequestPlaces::TakePromised(const std::string& field) const {
  if (promised_.rooms == nullptr) return {};
  const auto room = promised_.rooms->find(field);
  return room == promised_.rooms->end() ? KeptRoom() : std::move(room->second);
}

absl::Status RequestPlaces::ReserveKept(uint64_t allowed) {
  if (!sharded_.empty() && shard_devices_ == 0) shard_devices_ = shared_.arrays->ShardDevices();
  for (const std::shared_ptr<ShardedTarget>& target : sharded_) {
    target->SetDevices(shard_devices_);
    CORANK_RETURN_IF_ERROR(target->Reserve());
  }
  if (shard_devices_ != 0) allowed &= shard_devices_;
  int64_t total = 0;
  for (const KeptResult& result : kept_) {
    const int64_t most = std::numeric_limits<int64_t>::max() - total;
    if (result.bytes > 0) total += std::min(ArrayStore::Charge(result.bytes), most);
  }
  if (total == 0) return absl::OkStatus();
  // The device where the request should run anyway. Otherwise, since inputs are copied, one with room. If none has
  // room, the store's error says what is missing.
  const uint64_t roomy = allowed & shared_.arrays->DevicesWithRoom(total);
  uint64_t wanted = devices() & roomy;
  if (wanted == 0 && result_devices_ == 0) wanted = roomy;
  if (wanted == 0) wanted = devices() & allowed;
  if ((wanted & shared_.devices->good()) != 0) wanted &= shared_.devices->good();
  const int device = shared_.arrays->RoomiestDevice(wanted);
  for (const KeptResult& result : kept_) {
    CORANK_ASSIGN_OR_RETURN(result.target->room(),
                            shared_.arrays->Reserve(owner(), device, result.bytes, result.field));
  }
  kept_devices_ = DeviceSet::Only(device);
  return absl::OkStatus();
}

KeptRooms RequestPlaces::TakeRooms() {
  KeptRooms rooms;
  for (const KeptResult& result : kept_) rooms[result.field] = std::move(result.target->room());
  for (const std::shared_ptr<ShardedTarget>& target : sharded_) rooms[target->field()] = std::move(target->room());
  return rooms;
}

absl::Status RequestPlaces::CheckDisjoint(const Span& span, bool in_place, Field field) const {
  const auto overlaps = [&span](const Span& other) { return span.begin < other.end && other.begin < span.end; };
  if (std::any_of(results_.begin(), results_.end(), overlaps)) {
    return InvalidField(field.Path(), "overlaps another result");
  }
  if (in_place && std::any_of(inputs_.begin(), inputs_.end(), overlaps)) {
    return InvalidField(field.Path(), "overlaps an input: kernels write GPU memory while they read inputs");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ResultTarget>> RequestPlaces::Target(const v1::Destination& destination, Field field,
                                                                    int64_t bytes, int32_t element_bytes) {
  if (IsInline(destination)) {
    if (bytes <= kCopiedResultBytes) return nullptr;
    CORANK_RETURN_IF_ERROR(CountPinned(bytes, field));
    std::shared_ptr<void> buffer;
    if (!is_announced_) {
      CORANK_ASSIGN_OR_RETURN(buffer, TakePinned(bytes));
    }
    return std::make_shared<ResponseTarget>(std::move(buffer));
  }
  if (destination.has_stored()) {
    CORANK_RETURN_IF_ERROR(AtField(CheckStoredArrays(*caller_), field.Sub("stored")));
    if (shared_.arrays->is_on()) return KeepResult(destination.stored(), field, bytes, element_bytes);
  }
  CORANK_ASSIGN_OR_RETURN(const std::optional<NamedRegion> named, RegionOf(destination, field));
  if (!named) return PlaceUnavailable(destination, field);
  CORANK_ASSIGN_OR_RETURN(Span span, FindSpan(*named, bytes, element_bytes, field));
  CORANK_RETURN_IF_ERROR(CheckDisjoint(span, !named->is_on_host(), field));
  if (!named->is_on_host()) result_devices_ |= DeviceSet::Only(span.region->device());
  auto target =
      std::make_shared<RegionTarget>(span.region, reinterpret_cast<void*>(span.begin), named->path(field) + ".region");
  results_.push_back(std::move(span));
  all_inline_ = false;
  placed_bytes_ += bytes;
  return target;
}

}  // namespace corank
