#include "server/memory/array_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/respond/errors.h"

namespace corank {
namespace {

constexpr absl::Duration kFullRetry = absl::Seconds(5);
constexpr absl::Duration kLostRetry = absl::Milliseconds(100);

int64_t AllOf(int64_t bytes, int devices) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return bytes > kMost / devices ? kMost : bytes * devices;
}

absl::Status NoSuchArray(absl::string_view field, const std::string& name) {
  return FieldError(absl::StatusCode::kNotFound, field, absl::StrCat("no array is kept as '", name, "'"));
}

v1::StoredArray ToMessage(const std::string& name, const KeptArray& array, std::chrono::nanoseconds left) {
  v1::StoredArray message;
  message.set_name(name);
  message.set_type(array.type);
  message.set_count(array.count);
  if (array.type == v1::ELEMENT_TYPE_RECORD) message.set_record_bytes(static_cast<uint32_t>(array.element_bytes));
  message.set_expires_in_seconds(std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(left).count()));
  return message;
}

}  // namespace

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
  uint64_t devices = 0;
  for (int i = 0; i < devices_->size(); ++i) {
    const Budget& budget = *budgets_[static_cast<size_t>(i)];
    if (bytes <= budget.limit() - budget.used()) devices |= DeviceSet::Only(i);
  }
  return devices & devices_->live();
}

int ArrayStore::RoomiestDevice() const {
  int roomiest = -1;
  for (int i = 0; i < devices_->size(); ++i) {
    if (!devices_->is_live(i)) continue;
    if (roomiest < 0 || used_bytes(i) < used_bytes(roomiest)) roomiest = i;
  }
  return std::max(0, roomiest);
}

absl::StatusOr<std::shared_ptr<KeptArray>> ArrayStore::Make(absl::string_view owner, int device, int64_t bytes,
                                                            absl::string_view field) {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  auto array = std::make_shared<KeptArray>();
  array->device = device;
  {
    absl::MutexLock lock(&mutex_);
    expired = TakeExpired();
    Budget& quota = OwnerBudget(owner);
    array->of_owner = quota.Reserve(bytes);
    if (!array->of_owner) {
      return FieldError(absl::StatusCode::kResourceExhausted, field,
                        absl::StrCat("the array needs ", bytes, " bytes; the caller keeps ", quota.used(), " of the ",
                                     quota_bytes_, " that it may keep: delete others first"));
    }
  }
  expired.clear();
  array->of_store = budgets_[static_cast<size_t>(device)]->Reserve(bytes);
  if (!array->of_store) {
    return RetryLater(absl::StatusCode::kResourceExhausted, "the server's memory for kept arrays is full", kFullRetry);
  }
  if (bytes == 0) return array;
  absl::StatusOr<std::unique_ptr<EngineMemory>> memory = devices_->engine(device).AllocateDevice(bytes);
  if (!memory.ok()) return memory.status();
  array->memory = *std::move(memory);
  return array;
}

absl::Status ArrayStore::Keep(absl::string_view owner, const std::string& name, std::shared_ptr<const KeptArray> array,
                              std::chrono::seconds expiry) {
  if (expiry.count() < 0 || expiry > options_.max_expiry) {
    return InvalidField("expiry_seconds",
                        absl::StrCat("0 (the default) to ", options_.max_expiry.count(), ", not ", expiry.count()));
  }
  Entry entry{std::move(array), expiry.count() == 0 ? options_.default_expiry : expiry, clock_->Now()};
  absl::MutexLock lock(&mutex_);
  // Under the lock: what is kept before the device is lost is forgotten then.
  if (entry.array->memory != nullptr && !devices_->is_live(entry.array->device)) {
    lost_.push_back(std::move(entry.array));
    return RetryLater(absl::StatusCode::kUnavailable, "the server lost the device of the array", kLostRetry);
  }
  std::swap(arrays_[OwnedName(owner, name)], entry);  // the one before is given back after the lock
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const KeptArray>> ArrayStore::Find(absl::string_view owner, const std::string& name,
                                                                  absl::string_view field) {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  const auto entry = arrays_.find(OwnedName(owner, name));
  if (entry == arrays_.end()) return NoSuchArray(field, name);
  entry->second.last_used = clock_->Now();
  return entry->second.array;
}

absl::Status ArrayStore::Delete(absl::string_view owner, const std::string& name) {
  std::shared_ptr<const KeptArray> array;  // given back outside of the lock
  absl::MutexLock lock(&mutex_);
  const auto entry = arrays_.find(OwnedName(owner, name));
  if (entry == arrays_.end()) return NoSuchArray("name", name);
  if (entry->second.array.use_count() > 1) {
    return FieldError(absl::StatusCode::kFailedPrecondition, "name", "a request uses the array");
  }
  array = std::move(entry->second.array);
  arrays_.erase(entry);
  return absl::OkStatus();
}

v1::ListArraysResponse ArrayStore::List(absl::string_view owner) {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  absl::MutexLock lock(&mutex_);
  expired = TakeExpired();
  const Instant now = clock_->Now();
  v1::ListArraysResponse response;
  for (const auto& [key, entry] : arrays_) {
    if (key.first != owner) continue;
    *response.add_arrays() = ToMessage(key.second, *entry.array, entry.expiry - (now - entry.last_used));
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

void ArrayStore::ForgetDevice(int device) {
  absl::MutexLock lock(&mutex_);
  for (auto entry = arrays_.begin(); entry != arrays_.end();) {
    if (entry->second.array->memory != nullptr && entry->second.array->device == device) {
      lost_.push_back(std::move(entry->second.array));
      entry = arrays_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::vector<std::shared_ptr<const KeptArray>> ArrayStore::TakeExpired() {
  std::vector<std::shared_ptr<const KeptArray>> expired;
  const Instant now = clock_->Now();
  for (auto entry = arrays_.begin(); entry != arrays_.end();) {
    if (entry->second.array.use_count() == 1 && now - entry->second.last_used > entry->second.expiry) {
      expired.push_back(std::move(entry->second.array));
      entry = arrays_.erase(entry);
    } else {
      ++entry;
    }
  }
  return expired;
}

Budget& ArrayStore::OwnerBudget(absl::string_view owner) {
  std::shared_ptr<Budget>& budget = owners_[std::string(owner)];
  if (budget == nullptr) budget = Budget::Create(quota_bytes_);
  return *budget;
}

}  // namespace corank
