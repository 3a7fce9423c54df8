#include "server/memory/host_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace corank {
namespace {

constexpr int64_t kLeastBytes = 4096;
constexpr absl::Duration kRetry = absl::Milliseconds(50);

absl::Status Full() {
  return RetryLater(v1::ERROR_REASON_MEMORY_FULL,
                    "the server's host memory for requests is full; retry later or send smaller requests", kRetry);
}

}  // namespace

std::shared_ptr<HostPool> HostPool::Create(const DeviceSet* devices, const Options& options) {
  return std::shared_ptr<HostPool>(new HostPool(devices, options));
}

// The smallest of 1, 1.25, 1.5 and 1.75 times a power of two that holds `bytes`.
int64_t HostPool::BufferBytes(int64_t bytes) {
  int64_t power = kLeastBytes;
  while (power * 2 <= bytes) power *= 2;
  const int64_t step = power / 4;
  return bytes <= power ? power : (bytes + step - 1) / step * step;
}

HostPool::Reservation::~Reservation() {
  absl::MutexLock lock(&pool_->mutex_);
  pool_->promised_bytes_ -= bytes_;
}

absl::StatusOr<std::shared_ptr<HostPool::Reservation>> HostPool::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (bytes > options_.max_bytes - promised_bytes_) return Full();
  promised_bytes_ += bytes;
  return std::shared_ptr<Reservation>(new Reservation(shared_from_this(), bytes));
}

int64_t HostPool::Grow(Reservation& reservation, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const int64_t added = std::min(bytes, std::max<int64_t>(0, options_.max_bytes / 2 - promised_bytes_));
  reservation.bytes_ += added;
  promised_bytes_ += added;
  return added;
}

bool HostPool::Promise(int64_t bytes, std::shared_ptr<Reservation>& of) {
  if (of != nullptr && bytes <= of->bytes_ - of->used_) {
    of->used_ += bytes;
    return true;
  }
  of = nullptr;
  if (bytes > options_.max_bytes - promised_bytes_) return false;
  promised_bytes_ += bytes;
  return true;
}

void HostPool::Unpromise(int64_t bytes, const std::shared_ptr<Reservation>& of) {
  (of != nullptr ? of->used_ : promised_bytes_) -= bytes;
}

absl::StatusOr<std::shared_ptr<void>> HostPool::Take(int64_t bytes, std::shared_ptr<Reservation> of) {
  if (bytes > options_.max_bytes) return Full();
  const std::shared_ptr<Reservation> kept = of;  // must not be destroyed under the lock
  const int64_t size = std::min(BufferBytes(bytes), options_.max_bytes);
  Memory memory;
  std::vector<Memory> given_up;
  {
    absl::MutexLock lock(&mutex_);
    if (!Promise(size, of)) return Full();
    if (Shelf& same = kept_[size]; !same.memories.empty()) {
      memory = TakeFrom(size, same);
    } else {
      given_up = MakeRoom(size);
      ++allocations_;
    }
    bytes_in_use_ += size;
  }
  given_up.clear();
  if (memory == nullptr) {
    absl::StatusOr<Memory> allocated = devices_->host().AllocateHost(size);
    if (!allocated.ok()) {
      absl::MutexLock lock(&mutex_);
      Unpromise(size, of);
      bytes_in_use_ -= size;
      return absl::IsResourceExhausted(allocated.status()) ? Full() : allocated.status();
    }
    memory = *std::move(allocated);
  }
  EngineMemory* const raw = memory.release();
  return std::shared_ptr<void>(raw->data(), [pool = shared_from_this(), raw, of = std::move(of)](void*) mutable {
    pool->GiveBack(raw, of);
    of.reset();
  });
}

std::vector<HostPool::Memory> HostPool::MakeRoom(int64_t bytes) {
  std::vector<Memory> given_up;
  for (auto& [size, shelf] : kept_) {
    while (!shelf.memories.empty() && bytes_in_use_ + kept_bytes_ + bytes > options_.max_bytes) {
      given_up.push_back(TakeFrom(size, shelf));
    }
  }
  return given_up;
}

HostPool::Memory HostPool::TakeFrom(int64_t size, Shelf& shelf) {
  Memory memory = std::move(shelf.memories.back());
  shelf.memories.pop_back();
  shelf.least = std::min(shelf.least, shelf.memories.size());
  kept_bytes_ -= size;
  return memory;
}

void HostPool::Trim() {
  std::vector<Memory> given_up;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  for (auto& [size, shelf] : kept_) {
    const size_t wanted = shelf.memories.size() - (shelf.least + 1) / 2;
    while (shelf.memories.size() > wanted) given_up.push_back(TakeFrom(size, shelf));
    shelf.least = wanted;
  }
}

void HostPool::GiveBack(EngineMemory* raw, const std::shared_ptr<Reservation>& of) {
  Memory memory(raw);  // freed without the lock unless it is kept
  absl::MutexLock lock(&mutex_);
  Unpromise(raw->size_bytes(), of);
  bytes_in_use_ -= raw->size_bytes();
  if (kept_bytes_ + raw->size_bytes() > options_.max_kept_bytes) return;
  kept_bytes_ += raw->size_bytes();
  kept_[raw->size_bytes()].memories.push_back(std::move(memory));
}

int64_t HostPool::bytes_in_use() const {
  absl::MutexLock lock(&mutex_);
  return bytes_in_use_;
}

int64_t HostPool::promised_bytes() const {
  absl::MutexLock lock(&mutex_);
  return promised_bytes_;
}

int64_t HostPool::kept_bytes() const {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

int64_t HostPool::allocations() const {
  absl::MutexLock lock(&mutex_);
  return allocations_;
}

}  // namespace corank
