#include "server/rpc/helpers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "proto/payloads.h"

namespace corank {
namespace {

struct Copy {
  const std::vector<grpc::Slice>& slices;
  const int64_t offset, bytes;
  char* const to;
  const int64_t pieces;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> left{pieces};
  absl::Notification done{};

  // Copies pieces until all are taken. A helper that arrives late finds none and touches nothing else.
  void Work() {
    for (int64_t piece = next.fetch_add(1); piece < pieces; piece = next.fetch_add(1)) {
      const int64_t begin = piece * Helpers::kPieceBytes;
      CopyRange(slices, offset + begin, std::min(Helpers::kPieceBytes, bytes - begin), to + begin);
      if (left.fetch_sub(1) == 1) done.Notify();
    }
  }
};

}  // namespace

Helpers::Helpers(int count) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Help(); });
}

Helpers::~Helpers() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    wanted_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

int Helpers::CountFor(int cores) { return cores < 4 ? 0 : std::min(cores / 2, 8); }

void Helpers::Run(std::function<void()> task) {
  if (threads_.empty()) return task();
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  wanted_.Signal();
}

void Helpers::CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to) {
  if (threads_.empty() || bytes < kLeastBytes) return corank::CopyRange(slices, offset, bytes, to);
  const int64_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  const std::shared_ptr<Copy> copy(new Copy{slices, offset, bytes, static_cast<char*>(to), pieces});
  const int64_t wanted = std::min(pieces - 1, static_cast<int64_t>(threads_.size()));
  for (int64_t i = 0; i < wanted; ++i) Run([copy] { copy->Work(); });
  copy->Work();
  copy->done.WaitForNotification();
}

void Helpers::Help() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    while (tasks_.empty() && !stopping_) wanted_.Wait(&mutex_);
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    mutex_.Unlock();
    task();
    task = nullptr;  // destroys its contents without the lock
    mutex_.Lock();
  }
}

}  // namespace corank
