#include "server/rpc/health.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// A watch keeps its name for as long as the caller wants.
constexpr size_t kMaxNameBytes = 200;
constexpr absl::Duration kWatchRetry = absl::Seconds(5);

}  // namespace

// One Watch call. It owns itself. The board's lock guards it, except in gRPC's completions.
class HealthWatch final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  HealthWatch(HealthBoard* board, const grpc::ByteBuffer& bytes) : board_(board) {
    HealthCheckRequest request;
    const absl::Status parsed = ParseSmall(bytes, &request);
    service_ = request.service();
    absl::MutexLock lock(&board_->mutex_);
    place_ = board_->watches_.insert(board_->watches_.end(), this);
    if (board_->watches_.size() > static_cast<size_t>(HealthBoard::kMaxWatches)) {
      End(ToGrpcStatus(RetryLater(v1::ERROR_REASON_TOO_MANY_OPEN, "too many health watches are open", kWatchRetry),
                       ""));
    } else if (!parsed.ok()) {
      End(ToGrpcStatus(parsed, ""));
    } else if (service_.size() > kMaxNameBytes) {
      End(ToGrpcStatus(InvalidField("service", absl::StrCat("a name has at most ", kMaxNameBytes, " bytes")), ""));
    } else {
      Tell();
    }
  }

  // Sends the status if the caller does not have it yet. A change during a write is sent after it.
  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_->mutex_) {
    if (finished_ || writing_) return;
    const HealthBoard::Status status = board_->Find(service_);
    if (told_ != status) {
      told_ = status;
      HealthCheckResponse response;
      response.set_status(status);
      message_ = SmallBytes(response);
      writing_ = true;
      StartWrite(&message_);
    } else if (board_->ended_) {
      End(ToGrpcStatus(RetryLater(v1::ERROR_REASON_DRAINING, "the server is stopping", kWatchRetry), ""));
    }
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&board_->mutex_);
    writing_ = false;
    if (ok) {
      Tell();
    } else {
      End(ToGrpcStatus(CallerCancelled(), ""));
    }
  }
  void OnCancel() override {
    absl::MutexLock lock(&board_->mutex_);
    End(ToGrpcStatus(CallerCancelled(), ""));
  }
  void OnDone() override {
    {
      absl::MutexLock lock(&board_->mutex_);
      board_->watches_.erase(place_);
    }
    delete this;
  }

 private:
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_->mutex_) {
    if (!finished_) Finish(status);
    finished_ = true;
  }

  HealthBoard* const board_;
  std::string service_;  // constant once the watch exists
  std::list<HealthWatch*>::iterator place_ ABSL_GUARDED_BY(board_->mutex_);
  std::optional<HealthBoard::Status> told_ ABSL_GUARDED_BY(board_->mutex_);
  grpc::ByteBuffer message_ ABSL_GUARDED_BY(board_->mutex_);
  bool writing_ ABSL_GUARDED_BY(board_->mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(board_->mutex_) = false;
};

void HealthBoard::Set(absl::string_view service, bool serving) {
  absl::MutexLock lock(&mutex_);
  services_[std::string(service)] = serving;
  for (HealthWatch* watch : watches_) {
    watch->Tell();
  }
}

HealthBoard::Status HealthBoard::Find(absl::string_view service) const {
  const auto found = services_.find(service);
  if (found == services_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
  return found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

HealthBoard::Status HealthBoard::Get(absl::string_view service) const {
  absl::MutexLock lock(&mutex_);
  return Find(service);
}

void HealthBoard::EndWatches() {
  absl::MutexLock lock(&mutex_);
  ended_ = true;
  for (HealthWatch* watch : watches_) {
    watch->Tell();
  }
}

int HealthBoard::watches() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(watches_.size());
}

grpc::ServerUnaryReactor* HealthServiceImpl::Check(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  HealthCheckRequest message;
  if (const absl::Status parsed = ParseSmall(*request, &message); !parsed.ok()) {
    reactor->Finish(ToGrpcStatus(parsed, ""));
    return reactor;
  }
  HealthCheckResponse answer;
  answer.set_status(board_->Get(message.service()));
  *response = SmallBytes(answer);
  reactor->Finish(
      answer.status() == HealthCheckResponse::SERVICE_UNKNOWN
          ? ToGrpcStatus(Error(v1::ERROR_REASON_SERVICE_NOT_FOUND, "the server has no service of this name"), "")
          : grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* HealthServiceImpl::Watch(grpc::CallbackServerContext*,
                                                                     const grpc::ByteBuffer* request) {
  return new HealthWatch(board_, *request);
}

}  // namespace corank
