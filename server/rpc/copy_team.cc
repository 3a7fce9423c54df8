#include "server/rpc/copy_team.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/synchronization/notification.h"
#include "proto/payloads.h"

namespace corank {

struct CopyTeam::Job {
  const std::vector<grpc::Slice>& slices;
  const int64_t offset, bytes;
  char* const to;
  const int64_t pieces;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> left{pieces};
  absl::Notification copied{};

  // Copies pieces until none is left that nobody has taken.
  void Work() {
    for (int64_t piece = next.fetch_add(1); piece < pieces; piece = next.fetch_add(1)) {
      const int64_t begin = piece * kPieceBytes;
      corank::CopyRange(slices, offset + begin, std::min(kPieceBytes, bytes - begin), to + begin);
      if (left.fetch_sub(1) == 1) copied.Notify();
    }
  }
};

CopyTeam::CopyTeam(int helpers) {
  for (int i = 0; i < helpers; ++i) helpers_.emplace_back([this] { Help(); });
}

CopyTeam::~CopyTeam() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    wanted_.SignalAll();
  }
  for (std::thread& helper : helpers_) helper.join();
}

int CopyTeam::HelpersFor(int cores) { return cores < 4 ? 0 : std::min(cores / 2, 8); }

void CopyTeam::CopyRange(const std::vector<grpc::Slice>& slices, int64_t offset, int64_t bytes, void* to) {
  if (helpers_.empty() || bytes < kLeastBytes) return corank::CopyRange(slices, offset, bytes, to);
  const int64_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  const std::shared_ptr<Job> job(new Job{slices, offset, bytes, static_cast<char*>(to), pieces});
  {
    absl::MutexLock lock(&mutex_);
    jobs_.push_back(job);
    const int64_t wanted = std::min(pieces - 1, static_cast<int64_t>(helpers_.size()));
    for (int64_t i = 0; i < wanted; ++i) wanted_.Signal();
  }
  job->Work();
  {
    absl::MutexLock lock(&mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
  }
  job->copied.WaitForNotification();
}

void CopyTeam::Help() {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    while (jobs_.empty() && !stopping_) wanted_.Wait(&mutex_);
    if (stopping_) return;
    const std::shared_ptr<Job> job = jobs_.front();
    mutex_.Unlock();
    job->Work();
    mutex_.Lock();
    // Its pieces are all taken: nobody else needs to look.
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
  }
}

}  // namespace corank
