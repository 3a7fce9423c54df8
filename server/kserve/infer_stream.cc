#include "server/kserve/infer_stream.h"

#include <string>
#include <utility>

#include "server/base/errors.h"
#include "server/kserve/infer_call.h"
#include "server/rpc/credentials.h"
#include "server/rpc/request_id.h"
#include "server/rpc/request_log.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

// The caller's wish, as metadata, that an error ends the stream with its status instead of being a message.
constexpr char kEndOnError[] = "triton_grpc_error";

class InferStream;

class StreamedInfer final : public InferCall<CallBase> {
 public:
  StreamedInfer(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, ModelStatisticsTable* statistics,
                std::shared_ptr<InferStream> stream)
      : InferCall(statistics, environment, std::move(call), std::nullopt), stream_(std::move(stream)) {}

  const std::string& id() const { return request().id(); }

 private:
  Bytes Respond(const Outcome& outcome) const override { return request().Respond(outcome, /*in_stream=*/true); }
  // The id of a request is in its message. The trailing metadata belongs to the whole stream.
  void Send(const CallStatus& status, const CallId& id, Bytes response) override;

  const std::shared_ptr<InferStream> stream_;
};

// Everything but Answer runs on the loop of the call.
class InferStream final : public wire::Handler, public std::enable_shared_from_this<InferStream> {
 public:
  InferStream(const CallEnvironment* environment, std::shared_ptr<wire::Call> call, ModelStatisticsTable* statistics)
      : environment_(*environment),
        call_(std::move(call)),
        statistics_(statistics),
        id_(IdOf(call_->head())),
        ends_on_error_(call_->head().metadata.Get(kEndOnError) == "true"),
        receiver_(
            inference::ModelInferRequest::descriptor(), inference::ModelInferRequest::kRawInputContentsFieldNumber,
            environment->buffered,
            [this](size_t bytes) { return InlinePayloads::Place(bytes, environment_.places.host_pool); },
            [this](const absl::Status& status) { Fail(status); }),
        ahead_(environment->buffered) {}

  void Begin() {
    const absl::Status status = CallerOf(environment_.authenticator, call_->head()).status();
    if (status.ok()) return call_->ReadWhenever();
    CountIfForbidden(status, environment_.metrics);
    environment_.metrics->CountCall("model_stream_infer", status.code());
    Finish(ToCallStatus(status, id_.request_id));
  }

  // The answer, or the error, of the current request, on any thread.
  void Answer(CallStatus status, Bytes response) {
    call_->Post([self = shared_from_this(), status = std::move(status), response = std::move(response)]() mutable {
      self->SendAnswer(status, std::move(response));
    });
  }

  wire::Sink* OnMessageBegin(size_t size) override {
    absl::Status status = ValidateMessageBytes(static_cast<int64_t>(size), environment_.limits);
    if (status.ok()) status = receiver_.Begin(size);
    if (status.ok()) status = ahead_.Allow(size, call_.get());
    if (!status.ok()) {
      Fail(status);
      return nullptr;
    }
    return &receiver_;
  }
  void OnMessage() override {
    request_ = std::make_shared<StreamedInfer>(&environment_, call_, statistics_, shared_from_this());
    request_->Own(request_);
    const std::shared_ptr<StreamedInfer> request = request_;
    const absl::Status admitted = request->Admit();
    if (admitted.ok()) {
      request->Start(receiver_.Take());
    } else {
      request->Refuse(admitted);
    }
  }
  void OnHalfClose() override { Finish({}); }  // the caller has sent its last request
  void OnWritten() override {
    is_writing_ = false;
    EndRequest();
    if (!is_finished_) call_->ReadWhenever();
  }
  void OnCancel(const CallStatus& status) override {
    is_cancelled_ = true;
    if (request_ == nullptr || is_writing_) {
      EndRequest();
      return Finish(status);
    }
    const std::shared_ptr<StreamedInfer> request = request_;
    request->Cancel();  // whose answer ends the stream
  }
  void OnDone() override {}

 private:
  void SendAnswer(const CallStatus& status, Bytes response) {
    const bool ends = is_cancelled_ || (!status.ok() && ends_on_error_);
    if (ends) {
      EndRequest();
      return Finish(status);
    }
    if (!status.ok()) {
      inference::ModelStreamInferResponse error;
      error.set_error_message(status.message);
      error.mutable_infer_response()->set_id(request_->id());
      response = SmallBytes(error);
    }
    is_writing_ = true;
    call_->Write(std::move(response));
  }

  void EndRequest() {
    if (request_ == nullptr) return;
    const std::shared_ptr<StreamedInfer> request = std::move(request_);
    request->End();
  }

  void Fail(const absl::Status& status) {
    environment_.metrics->CountCall("model_stream_infer", status.code());
    CountIfShort(status, environment_.metrics);
    Finish(ToCallStatus(status, id_.request_id));
  }

  void Finish(const CallStatus& status) {
    is_finished_ = true;
    call_->Finish(status, TrailersOf(id_));
  }

  const CallEnvironment& environment_;
  const std::shared_ptr<wire::Call> call_;
  ModelStatisticsTable* const statistics_;
  const CallId id_;
  const bool ends_on_error_;
  MessageReceiver receiver_;
  SendAhead ahead_;
  std::shared_ptr<StreamedInfer> request_;  // the current one
  bool is_writing_ = false, is_cancelled_ = false, is_finished_ = false;
};

void StreamedInfer::Send(const CallStatus& status, const CallId&, Bytes response) {
  stream_->Answer(status, std::move(response));
}

}  // namespace

std::shared_ptr<wire::Handler> StartInferStream(const CallEnvironment* environment, std::shared_ptr<wire::Call> call,
                                                ModelStatisticsTable* statistics) {
  auto stream = std::make_shared<InferStream>(environment, std::move(call), statistics);
  stream->Begin();
  return stream;
}

}  // namespace corank
