#include "server/kserve/infer_stream.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/errors.h"
#include "server/kserve/infer_call.h"
#include "server/rpc/credentials.h"
#include "server/rpc/request_id.h"
#include "server/rpc/small_message.h"

namespace corank {
namespace {

// The caller's wish, as metadata, that an error ends the stream with its status instead of being a message.
constexpr char kEndOnError[] = "triton_grpc_error";

class InferStream;

class StreamedInferBase : public CallBase {
 public:
  using CallBase::CallBase;

 private:
  // The id of a request is in its message. The trailing metadata belongs to the whole stream.
  void ShowId(const CallId&) override {}
};

class StreamedInfer final : public InferCall<StreamedInferBase> {
 public:
  StreamedInfer(const CallEnvironment* environment, grpc::CallbackServerContext* context,
                ModelStatisticsTable* statistics, grpc::ByteBuffer* response, InferStream* stream)
      : InferCall(environment, context, statistics, response), stream_(stream) {}

 private:
  grpc::ByteBuffer Respond(const Outcome& outcome) const override { return request().RespondInStream(outcome); }
  void Send(const grpc::Status& status) override;

  InferStream* const stream_;
};

class InferStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  InferStream(const CallEnvironment* environment, grpc::CallbackServerContext* context,
              ModelStatisticsTable* statistics)
      : environment_(*environment), context_(context), statistics_(statistics) {
    const auto wish = context->client_metadata().find(kEndOnError);
    ends_on_error_ = wish != context->client_metadata().end() && wish->second == "true";
    const CallId id = IdOf(*context);
    ReturnId(id, context);
    const absl::Status status = CallerOf(environment_.authenticator, *context).status();
    if (status.ok()) {
      StartRead(&request_);
      return;
    }
    CountIfForbidden(status, environment_.metrics);
    environment_.metrics->CountCall("model_stream_infer", status.code());
    Finish(ToGrpcStatus(status, id.request_id));
  }

  // The answer, or the error, of the current request.
  void Answer(const grpc::Status& status, const std::string& id) {
    if (!status.ok()) {
      if (ends_on_error_) return EndCall(&status);
      inference::ModelStreamInferResponse error;
      error.set_error_message(status.error_message());
      error.mutable_infer_response()->set_id(id);
      response_ = SmallBytes(error);
    }
    StartWrite(&response_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);  // the caller has sent its last request, or is gone
    StreamedInfer* call = new StreamedInfer(&environment_, context_, statistics_, &response_, this);
    {
      absl::MutexLock lock(&mutex_);
      call_ = call;
      if (cancelled_) call->Cancel();
    }
    call->Start(&request_);
  }

  void OnWriteDone(bool ok) override {
    const grpc::Status gone = grpc::Status::CANCELLED;
    EndCall(ok ? nullptr : &gone);
  }

  void OnCancel() override {
    StreamedInfer* call = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      cancelled_ = true;
      if (call_ == nullptr) return;
      call = call_;
      call->Hold();
    }
    call->Cancel();  // may answer the call at once, which takes the lock
    call->Release();
  }

  void OnDone() override { delete this; }
  // Not inlineable: a lane that answers a request must not read and start the next one on its own thread.

 private:
  // Ends the current request, then the stream with a status or, without one, reads on.
  void EndCall(const grpc::Status* status) {
    StreamedInfer* call = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      std::swap(call, call_);
    }
    response_.Clear();
    call->End();
    if (status != nullptr) return Finish(*status);
    StartRead(&request_);
  }

  const CallEnvironment& environment_;
  grpc::CallbackServerContext* const context_;
  ModelStatisticsTable* const statistics_;
  bool ends_on_error_ = false;
  grpc::ByteBuffer request_, response_;
  absl::Mutex mutex_;
  StreamedInfer* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the current request
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

void StreamedInfer::Send(const grpc::Status& status) { stream_->Answer(status, request().id()); }

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartInferStream(const CallEnvironment* environment,
                                                                              grpc::CallbackServerContext* context,
                                                                              ModelStatisticsTable* statistics) {
  return new InferStream(environment, context, statistics);
}

}  // namespace corank
