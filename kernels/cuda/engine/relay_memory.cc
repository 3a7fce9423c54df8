#include "kernels/cuda/engine/relay_memory.h"

namespace corank::cuda {

RelayMemory::~RelayMemory() {
  for (char* const h_block : idle_) source_.Free(h_block);
}

absl::Status RelayMemory::Prepare() {
  std::vector<char*> taken;
  absl::Status status;
  while (status.ok() && taken.size() < kMostKept) {
    const absl::StatusOr<char*> h_block = Take();
    status = h_block.status();
    if (h_block.ok()) taken.push_back(*h_block);
  }
  for (char* const h_block : taken) GiveBack(h_block);
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

absl::StatusOr<char*> RelayMemory::Take() {
  {
    const absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      char* const h_block = idle_.back();
      idle_.pop_back();
      return h_block;
    }
    ++blocks_;
  }
  const absl::StatusOr<void*> h_block = source_.Allocate(kRelayBytes);
  if (h_block.ok()) return static_cast<char*>(*h_block);
  const absl::MutexLock lock(&mutex_);
  --blocks_;
  return h_block.status();
}

void RelayMemory::GiveBack(char* h_block) {
  {
    const absl::MutexLock lock(&mutex_);
    if (blocks_ <= kMostKept) return idle_.push_back(h_block);
    --blocks_;
  }
  source_.Free(h_block);
}

}  // namespace corank::cuda
