#include "server/memory/copier.h"

#include <algorithm>

#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/base/steady_wait.h"

namespace corank {

absl::StatusOr<std::unique_ptr<Copier>> Copier::Create(Engine* engine, absl::Duration patience) {
  CORANK_ASSIGN_OR_RETURN(std::unique_ptr<EngineStream> stream, engine->CreateStream());
  return std::unique_ptr<Copier>(new Copier(std::move(stream), patience));
}

Copier::Copier(std::unique_ptr<EngineStream> stream, absl::Duration patience)
    : stream_(std::move(stream)), patience_(patience), thread_([this] { Run(); }) {}

Copier::~Copier() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

absl::Status Copier::ToDevice(std::shared_ptr<void> d_to, std::shared_ptr<const void> h_from, int64_t bytes) {
  return Wait({/*to_device=*/true, std::move(d_to), std::move(h_from), bytes});
}

absl::Status Copier::ToHost(std::shared_ptr<void> h_to, std::shared_ptr<const void> d_from, int64_t bytes) {
  return Wait({/*to_device=*/false, std::move(h_to), std::move(d_from), bytes});
}

absl::Status Copier::Wait(Copy copy) {
  const auto shared = std::make_shared<Copy>(std::move(copy));
  absl::MutexLock lock(&mutex_);
  if (!is_late_) {
    waiting_.push_back(shared);
    if (AwaitSteadily(&mutex_, absl::Condition(&shared->is_done), patience_)) return shared->status;
    is_late_ = true;
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), shared), waiting_.end());
  }
  return RetryLater(v1::ERROR_REASON_DEVICE_LOST, "the device does not respond; retry later or use another server",
                    patience_);
}

void Copier::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ends_ || !waiting_.empty(); };
  for (;;) {
    std::shared_ptr<Copy> copy;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&has_work));
      if (waiting_.empty()) return;
      copy = std::move(waiting_.front());
      waiting_.pop_front();
    }
    absl::Status status = Do(*copy);
    // Release what the copy owns before the caller can continue.
    copy->to.reset();
    copy->from.reset();
    absl::MutexLock lock(&mutex_);
    is_late_ = false;
    copy->status = std::move(status);
    copy->is_done = true;
  }
}

absl::Status Copier::Do(const Copy& copy) {
  CORANK_RETURN_IF_ERROR(stream_->Begin());
  const absl::Status copied = copy.to_device ? stream_->CopyToDevice(copy.to.get(), copy.from.get(), copy.bytes)
                                             : stream_->CopyToHost(copy.to.get(), copy.from.get(), copy.bytes);
  const absl::Status finished = stream_->Finish().status();
  return copied.ok() ? finished : copied;
}

}  // namespace corank
