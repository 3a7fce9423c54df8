#include "server/memory/array_store.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/engine/sharded_merge.h"
#include "proto/durations.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/model/parts.h"

namespace corank {
namespace {

constexpr absl::Duration kStoreFullRetry = absl::Seconds(5);
constexpr absl::Duration kLostArrayRetry = absl::Milliseconds(100);

int64_t AllOf(int64_t bytes, int devices) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > kMost / devices ? kMost : bytes * devices;
}

absl::Status StoreFull() {
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL, "the server's memory for stored arrays is full", kStoreFullRetry);
}

absl::Status NoSuchArray(absl::string_view field, const std::string& name) {
  return FieldError(v1::ERROR_REASON_ARRAY_NOT_FOUND, field, absl::StrCat("there is no stored array '", name, "'"));
}

v1::StoredArray ToMessage(const std::string& name, const KeptArray& array, std::chrono::nanoseconds left) {
  v1::StoredArray message;
  message.set_name(name);
  message.set_type(array.type);
  message.set_count(array.count);
  message.set_shards(array.is_sharded ? static_cast<uint32_t>(array.parts.size()) : 0);
  if (array.type == v1::ELEMENT_TYPE_RECORD) message.set_record_bytes(static_cast<uint32_t>(array.element_bytes));
  *message.mutable_expires_in() = DurationToProto(std::max(absl::ZeroDuration(), absl::FromChrono(left)));
  return message;
}

}  // namespace

uint64_t KeptArray::devices() const {
  uint64_t devices = 0;
  for (const KeptPart& part : parts) {
    if (is_sharded || part.memory != nullptr) devices |= DeviceSet::Only(part.device);
  }
  return devices;
}

KeptArray::Span KeptArray::From(int64_t first) const {
  const auto all = static_cast<int64_t>(parts.size());
  int64_t i = 0;
  while (i + 1 < all && PartBegin(count, all, i + 1) <= first) ++i;
  const KeptPart& part = parts[static_cast<size_t>(i)];
  const int64_t before = (first - PartBegin(count, all, i)) * element_bytes;
  return {part.device, part.memory == nullptr ? nullptr : part.data() + before, PartBegin(count, all, i + 1) - first};
}

bool KeptRoom::Holds(int64_t count, int32_t element_bytes) const {
  const auto all = static_cast<int64_t>(parts.size());
  for (int64_t i = 0; i < all; ++i) {
    const Budget::Reservation& room = parts[static_cast<size_t>(i)].of_store;
    if (room.bytes() < PartCount(count, all, i) * element_bytes) return false;
  }
  return all > 0;
}

ArrayStore::ArrayStore(const Options& options, const DeviceSet* devices, const Clock* clock)
    : options_(options),
      devices_(devices),
      clock_(clock),
      quota_bytes_(options.quota_bytes > 0 ? options.quota_bytes : AllOf(options.max_bytes, devices->size())) {
  for (int i = 0; i < devices->size(); ++i) budgets_.push_back(Budget::Create(options.max_bytes));
}

int64_t ArrayStore::used_bytes() const {
  int64_t used = 0;
  for (const std::shared_ptr<Budget>& budget : budgets_) used += budget->used();
  return used;
}

uint64_t ArrayStore::DevicesWithRoom(int64_t bytes) const {
  const int64_t charge = Charge(bytes);
  uint64_t devices = 0;
  for (int i = 0; i < devices_->size(); ++i) {
    const Budget& budget = *budgets_[static_cast<size_t>(i)];
    if (charge <= budget.limit() - budget.used()) devices |= DeviceSet::Only(i);
  }
  return devices & devices_->live();
}

int ArrayStore::RoomiestDevice(uint64_t devices) const {
  int roomiest = -1;
  for (int i = 0; i < devices_->size(); ++i) {
    if ((devices & devices_->live() & DeviceSet::Only(i)) == 0) continue;
    if (roomiest < 0 || used_bytes(i) < used_bytes(roomiest)) roomiest = i;
  }
  return std::max(0, roomiest);
}

absl::StatusOr<KeptRoom> ArrayStore::Reserve(absl::string_view owner, int device, int64_t bytes,
                                             absl::string_view field) {
  const int64_t charge = Charge(bytes);
  if (charge > options_.max_bytes) {
    const char* const advice = devices_->size() > 1 ? "; store it sharded over several devices" : "";
    return TooLargeField(field, absl::StrCat("the array needs ", charge, " bytes, but the server stores at most ",
                                             options_.max_bytes, " on a device (--kept-bytes)", advice));
  }
  return ReserveParts(owner, {{device, charge}}, field);
}

absl::StatusOr<KeptRoom> ArrayStore::ReserveParts(absl::string_view owner,
                                                  const std::vector<std::pair<int, int64_t>>& charges,
                                                  absl::string_view field) {
  GiveBackExpired();  // first, because they count in the budgets
  int64_t sum = 0;
  for (const auto& [device, charge] : charges) sum += charge;
  if (sum > quota_bytes_) {
    return TooLargeField(field, absl::StrCat("the array needs ", sum, " bytes, but one caller may store at most ",
                                             quota_bytes_, " (--kept-quota-bytes)"));
  }
  KeptRoom room;
  {
    absl::MutexLock lock(&mutex_);
    Budget& quota = OwnerBudget(owner);
    room.of_owner = quota.Reserve(sum);
    if (!room.of_owner) {
      return FieldError(v1::ERROR_REASON_QUOTA_EXCEEDED, field,
                        absl::StrCat("the array needs ", sum, " bytes; the caller already stores ", quota.used(),
                                     " of the ", quota_bytes_, " that it may store; delete other arrays first"));
    }
  }
  for (const auto& [device, charge] : charges) {
    KeptPart& part = room.parts.emplace_back();
    part.device = device;
    part.of_store = budgets_[static_cast<size_t>(device)]->Reserve(charge);
    if (!part.of_store) return StoreFull();
  }
  return room;
}

uint64_t ArrayStore::ShardDevices() const {
  const uint64_t good = devices_->good(), from = good != 0 ? good : devices_->live();
  const int most = options_.most_shards == 0 ? devices_->size() : options_.most_shards;
  const uint64_t devices = devices_->topology().Choose(from, std::min(most, ShardedMerge::kMaxShards));
  return devices != 0 ? devices : DeviceSet::Only(0);  // if all are lost, the array cannot be published
}

absl::StatusOr<KeptRoom> ArrayStore::ReserveSharded(absl::string_view owner, uint64_t devices, int64_t count,
                                                    int32_t element_bytes, absl::string_view field) {
  const int64_t parts = DeviceSet::Count(devices);
  std::vector<std::pair<int, int64_t>> charges;
  for (int i = 0; i < devices_->size(); ++i) {
    if ((devices & DeviceSet::Only(i)) == 0) continue;
    charges.emplace_back(i, Charge(PartCount(count, parts, static_cast<int64_t>(charges.size())) * element_bytes));
  }
  if (const int64_t most = charges.front().second; most > options_.max_bytes) {
    return TooLargeField(field, absl::StrCat("each of ", parts, " devices needs ", most, " bytes, but the server ",
                                             "stores at most ", options_.max_bytes, " on a device (--kept-bytes)"));
  }
  CORANK_ASSIGN_OR_RETURN(KeptRoom room, ReserveParts(owner, charges, field));
  room.is_sharded = true;
  return room;
}

absl::StatusOr<std::shared_ptr<EngineMemory>> ArrayStore::Allocate(int device, int64_t bytes) const {
  if (bytes == 0) return nullptr;
  absl::StatusOr<std::unique_ptr<EngineMemory>> memory = devices_->engine(device).AllocateDevice(bytes);
  if (absl::IsResourceExhausted(memory.status())) {
    return RetryLater(v1::ERROR_REASON_MEMORY_FULL, "the device has no memory for another stored array now",
                      kStoreFullRetry);
  }
  if (!memory.ok()) return memory.status();
  return std::shared_ptr<EngineMemory>(*std::move(memory));
}

absl::StatusOr<std::shared_ptr<KeptArray>> ArrayStore::Make(KeptRoom& room, int64_t count, int32_t element_bytes) {
  const auto parts = static_cast<int64_t>(room.parts.size());
  std::vector<std::shared_ptr<EngineMemory>> memory;
  for (const KeptPart& part : room.parts) {
    const int64_t bytes = PartCount(count, parts, static_cast<int64_t>(memory.size())) * element_bytes;
    CORANK_ASSIGN_OR_RETURN(memory.emplace_back(), Allocate(part.device, bytes));
  }
  auto array = std::make_shared<KeptArray>();
  array->element_bytes = element_bytes;
  array->count = count;
  array->of_owner = std::move(room.of_owner);
  array->is_sharded = room.is_sharded;
  array->parts = std::move(room.parts);
  for (size_t part = 0; part < memory.size(); ++part) array->parts[part].memory = std::move(memory[part]);
  return array;
}

absl::StatusOr<std::chrono::seconds> ArrayStore::ReadExpiry(absl::string_view field,
                                                            const google::protobuf::Duration& expiry) const {
  const std::optional<absl::Duration> asked = DurationFromProto(expiry);
  if (!asked.has_value()) return InvalidField(field, "must be a valid google.protobuf.Duration");
  const absl::Duration most = absl::FromChrono(options_.max_expiry);
  if (*asked < absl::ZeroDuration() || *asked > most) {
    return InvalidField(field, absl::StrCat("must be 0 (the default) to ", absl::FormatDuration(most), ", not ",
                                            absl::FormatDuration(*asked)));
  }
  return absl::ToChronoSeconds(absl::Ceil(*asked, absl::Seconds(1)));
}

absl::Status ArrayStore::Keep(absl::string_view owner, const std::string& name, std::shared_ptr<const KeptArray> array,
                              std::chrono::seconds expiry) {
  absl::MutexLock lock(&mutex_);
  // Under the lock, so that an array published before its device is lost is forgotten then.
  if ((array->devices() & ~devices_->live()) != 0) {
    KeepLost(*array, ~devices_->live());
    return RetryLater(v1::ERROR_REASON_DEVICE_LOST, "the server lost the device of the array", kLostArrayRetry);
  }
  const auto entry = arrays_.try_emplace(OwnedName(owner, name)).first;
  entry->second.array.swap(array);  // the previous array is freed after the lock
  entry->second.expiry = expiry.count() == 0 ? options_.default_expiry : expiry;
  Use(entry);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const KeptArray>> ArrayStore::Find(absl::string_view owner, const std::string& name,
                                                                  absl::string_view field) {
  CORANK_RETURN_IF_ERROR(CheckName(field, name));
  std::vector<std::shared_ptr<const KeptArray>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  const auto entry = arrays_.find(OwnedName(owner, name));
  if (entry == arrays_.end()) return NoSuchArray(field, name);
  Use(entry);
  return entry->second.array;
}

absl::Status ArrayStore::Delete(absl::string_view owner, const std::string& name) {
  CORANK_RETURN_IF_ERROR(CheckName("name", name));
  std::shared_ptr<const KeptArray> array;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  const auto entry = arrays_.find(OwnedName(owner, name));
  if (entry == arrays_.end()) return NoSuchArray("name", name);
  if (entry->second.array.use_count() > 1) {
    return FieldError(v1::ERROR_REASON_IN_USE, "name", "a request is using the array");
  }
  array = std::move(entry->second.array);
  Erase(entry);
  return absl::OkStatus();
}

v1::ListArraysResponse ArrayStore::List(absl::string_view owner, const Page& page) {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  const Instant now = clock_->Now();
  v1::ListArraysResponse response;
  for (auto entry = arrays_.upper_bound(OwnedName(owner, page.after));
       entry != arrays_.end() && entry->first.first == owner; ++entry) {
    if (response.arrays_size() == page.size) {
      response.set_next_page_token(PageToken(kListName, response.arrays().rbegin()->name()));
      break;
    }
    *response.add_arrays() = ToMessage(entry->first.second, *entry->second.array, entry->second.expires - now);
  }
  response.set_used_bytes(OwnerBudget(owner).used());
  response.set_quota_bytes(quota_bytes_);
  return response;
}

v1::StoredArray ArrayStore::Describe(absl::string_view owner, const std::string& name, const KeptArray& array) {
  absl::MutexLock lock(&mutex_);
  const auto entry = arrays_.find(OwnedName(owner, name));
  return ToMessage(name, array, entry == arrays_.end() ? options_.default_expiry : entry->second.expiry);
}

void ArrayStore::KeepLost(const KeptArray& array, uint64_t lost) {
  for (const KeptPart& part : array.parts) {
    if (part.memory != nullptr && (lost & DeviceSet::Only(part.device)) != 0) lost_.push_back(part.memory);
  }
}

void ArrayStore::ForgetDevice(int device) {
  std::vector<std::shared_ptr<const KeptArray>> forgotten;  // what other devices have of them is freed without the lock
  absl::MutexLock lock(&mutex_);
  for (auto entry = arrays_.begin(); entry != arrays_.end();) {
    if ((entry->second.array->devices() & DeviceSet::Only(device)) != 0) {
      KeepLost(*entry->second.array, DeviceSet::Only(device));
      forgotten.push_back(std::move(entry->second.array));
      entry = Erase(entry);
    } else {
      ++entry;
    }
  }
}

std::vector<std::shared_ptr<const KeptArray>> ArrayStore::TakeExpired() {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  const Instant now = clock_->Now();
  while (!expiries_.empty() && expiries_.begin()->first < now) {
    const auto entry = arrays_.find(*expiries_.begin()->second);
    if (entry->second.array.use_count() > 1) {
      Use(entry);
    } else {
      expired.push_back(std::move(entry->second.array));
      Erase(entry);
    }
  }
  return expired;
}

void ArrayStore::GiveBackExpired() {
  std::vector<std::shared_ptr<const KeptArray>> expired;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
}

void ArrayStore::Use(Arrays::iterator entry) {
  expiries_.erase({entry->second.expires, &entry->first});
  entry->second.expires = clock_->Now() + entry->second.expiry;
  expiries_.emplace(entry->second.expires, &entry->first);
}

ArrayStore::Arrays::iterator ArrayStore::Erase(Arrays::iterator entry) {
  expiries_.erase({entry->second.expires, &entry->first});
  return arrays_.erase(entry);
}

Budget& ArrayStore::OwnerBudget(absl::string_view owner) {
  std::shared_ptr<Budget>& budget = owners_[std::string(owner)];
  if (budget == nullptr) budget = Budget::Create(quota_bytes_);
  return *budget;
}

}  // namespace corank
