#include "server/memory/copier.h"

namespace corank {

absl::StatusOr<std::unique_ptr<Copier>> Copier::Create(Engine* engine) {
  absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine->CreateStream();
  if (!stream.ok()) return stream.status();
  return std::unique_ptr<Copier>(new Copier(*std::move(stream)));
}

absl::Status Copier::ToDevice(void* d_to, const void* h_from, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = stream_->Begin(); !status.ok()) return status;
  const absl::Status copied = stream_->CopyToDevice(d_to, h_from, bytes);
  const absl::Status finished = stream_->Finish().status();
  return copied.ok() ? finished : copied;
}

absl::Status Copier::ToHost(void* h_to, const void* d_from, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = stream_->Begin(); !status.ok()) return status;
  const absl::Status copied = stream_->CopyToHost(h_to, d_from, bytes);
  const absl::Status finished = stream_->Finish().status();
  return copied.ok() ? finished : copied;
}

}  // namespace corank
