#include "server/rpc/health.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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

// One Watch call.
class HealthWatch final : public SmallCall {
 public:
  HealthWatch(HealthBoard* board, std::shared_ptr<wire::Call> call) : SmallCall(std::move(call)), board_(board) {}
  void Start() {
    call()->LimitTime(board_->most_watch_time_);
    Begin(absl::OkStatus());
  }

  // Sends the status if the caller does not have it yet. A change during a write is sent after it.
  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_->mutex_) {
    if (finished_ || writing_) return;
    const HealthBoard::Status status = board_->Find(service_);
    if (told_ != status) {
      told_ = status;
      HealthCheckResponse response;
      response.set_status(status);
      writing_ = true;
      call()->Write(SmallBytes(response));
    } else if (board_->ended_) {
      End(RetryLater(v1::ERROR_REASON_DRAINING, "the server is stopping", kWatchRetry));
    }
  }

  void OnWritten() override {
    absl::MutexLock lock(&board_->mutex_);
    writing_ = false;
    Tell();
  }
  void OnDone() override {
    absl::MutexLock lock(&board_->mutex_);
    if (is_listed_) board_->watches_.erase(place_);
  }

 private:
  void Take(absl::StatusOr<std::string> message) override {
    HealthCheckRequest request;
    const absl::Status parsed = message.ok() ? ParseSmall(*message, &request) : message.status();
    service_ = request.service();
    absl::MutexLock lock(&board_->mutex_);
    if (board_->watches_.size() >= static_cast<size_t>(HealthBoard::kMaxWatches)) {
      return End(RetryLater(v1::ERROR_REASON_TOO_MANY_OPEN, "too many health watches are open", kWatchRetry));
    }
    if (!parsed.ok()) return End(parsed);
    if (service_.size() > kMaxNameBytes) {
      return End(InvalidField("service", absl::StrCat("a name has at most ", kMaxNameBytes, " bytes")));
    }
    place_ = board_->watches_.insert(board_->watches_.end(), this);
    is_listed_ = true;
    Tell();
  }
  void Cancelled(const absl::Status& cause) override {
    const wire::CallHead& head = call()->head();
    const bool is_old = absl::IsDeadlineExceeded(cause) && head.deadline == head.arrival + board_->most_watch_time_;
    absl::MutexLock lock(&board_->mutex_);
    End(is_old ? Error(v1::ERROR_REASON_DEADLINE_PASSED,
                       absl::StrCat("a health watch ends after ",
                                    absl::FormatDuration(absl::FromChrono(board_->most_watch_time_)),
                                    "; open another one"))
               : cause);
  }

  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(board_->mutex_) {
    if (!finished_) call()->Finish(ToCallStatus(status, ""));
    finished_ = true;
  }

  HealthBoard* const board_;
  std::string service_;  // constant once the watch is listed
  std::list<HealthWatch*>::iterator place_ ABSL_GUARDED_BY(board_->mutex_);
  bool is_listed_ ABSL_GUARDED_BY(board_->mutex_) = false;
  std::optional<HealthBoard::Status> told_ ABSL_GUARDED_BY(board_->mutex_);
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

namespace {

void AnswerCheck(const HealthBoard& board, wire::Call* call, const absl::StatusOr<std::string>& message) {
  HealthCheckRequest request;
  absl::Status status = message.ok() ? ParseSmall(*message, &request) : message.status();
  HealthCheckResponse answer;
  if (status.ok()) {
    answer.set_status(board.Get(request.service()));
    if (answer.status() == HealthCheckResponse::SERVICE_UNKNOWN) {
      status = Error(v1::ERROR_REASON_SERVICE_NOT_FOUND, "the server has no service of this name");
    }
  }
  std::optional<Bytes> response;
  if (status.ok()) response = SmallBytes(answer);
  call->Finish(ToCallStatus(status, ""), {}, std::move(response));
}

}  // namespace

void AddHealth(HealthBoard* board, Methods* methods) {
  constexpr char kService[] = "grpc.health.v1.Health";
  methods->Add(kService, "Check", [board](const std::shared_ptr<wire::Call>& call) {
    return AnswerSmall(call, absl::OkStatus(), [board, call](const absl::StatusOr<std::string>& message) {
      AnswerCheck(*board, call.get(), message);
    });
  });
  methods->Add(kService, "Watch", [board](const std::shared_ptr<wire::Call>& call) {
    auto watch = std::make_shared<HealthWatch>(board, call);
    watch->Start();
    return watch;
  });
}

}  // namespace corank
