#include "server/memory/run_buffers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace corank {

std::shared_ptr<RunBuffers> RunBuffers::Create(const Options& options) {
  return std::shared_ptr<RunBuffers>(new RunBuffers(options));
}

absl::StatusOr<std::shared_ptr<void>> RunBuffers::Take(Engine& engine, int64_t bytes) {
  Memory memory = TakeKept(bytes);
  if (memory == nullptr) {
    MakeRoom(bytes).clear();
    absl::StatusOr<Memory> allocated = engine.AllocateHost(bytes);
    if (absl::IsResourceExhausted(allocated.status())) {
      // The system or a container may have less than the plan assumes.
      if (std::vector<Memory> freed = TakeAllKept(); !freed.empty()) {
        freed.clear();
        allocated = engine.AllocateHost(bytes);
      }
    }
    if (!allocated.ok()) {
      absl::MutexLock lock(&mutex_);
      bytes_in_use_ -= bytes;
      return allocated.status();
    }
    memory = *std::move(allocated);
  }
  EngineMemory* const raw = memory.release();
  return std::shared_ptr<void>(raw->data(),
                               [buffers = shared_from_this(), raw, bytes](void*) { buffers->GiveBack(raw, bytes); });
}

RunBuffers::Memory RunBuffers::TakeKept(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto [first, end] = kept_.equal_range(bytes);
  if (first == end) return nullptr;
  bytes_in_use_ += bytes;
  return TakeOut(std::prev(end));
}

std::vector<RunBuffers::Memory> RunBuffers::MakeRoom(int64_t bytes) {
  std::vector<Memory> freed;
  absl::MutexLock lock(&mutex_);
  ++allocations_;
  bytes_in_use_ += bytes;
  while (!kept_.empty() && kept_bytes_ > options_.max_bytes - bytes_in_use_) {
    freed.push_back(TakeOut(std::prev(kept_.end())));
  }
  return freed;
}

std::vector<RunBuffers::Memory> RunBuffers::TakeAllKept() {
  std::vector<Memory> taken;
  absl::MutexLock lock(&mutex_);
  while (!kept_.empty()) taken.push_back(TakeOut(kept_.begin()));
  return taken;
}

RunBuffers::Memory RunBuffers::TakeOut(std::multimap<int64_t, Kept>::iterator kept) {
  Memory memory = std::move(kept->second.memory);
  kept_bytes_ -= kept->first;
  kept_.erase(kept);
  return memory;
}

void RunBuffers::GiveBack(EngineMemory* raw, int64_t bytes) {
  Memory memory(raw);  // freed without the lock unless it is kept
  absl::MutexLock lock(&mutex_);
  bytes_in_use_ -= bytes;
  if (bytes > std::min(options_.max_kept_bytes, options_.max_bytes - bytes_in_use_) - kept_bytes_) return;
  kept_bytes_ += bytes;
  kept_.emplace(bytes, Kept{std::move(memory), trims_});
}

void RunBuffers::Trim() {
  std::vector<Memory> freed;  // freed without the lock
  absl::MutexLock lock(&mutex_);
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const auto next = std::next(kept);
    if (kept->second.since < trims_) freed.push_back(TakeOut(kept));
    kept = next;
  }
  ++trims_;
}

int64_t RunBuffers::bytes_in_use() const {
  absl::MutexLock lock(&mutex_);
  return bytes_in_use_;
}

int64_t RunBuffers::kept_bytes() const {
  absl::MutexLock lock(&mutex_);
  return kept_bytes_;
}

int64_t RunBuffers::allocations() const {
  absl::MutexLock lock(&mutex_);
  return allocations_;
}

}  // namespace corank
