// One inference, as a call of its own or as a part of a stream.
#ifndef CORANK_SERVER_KSERVE_INFER_CALL_H_
#define CORANK_SERVER_KSERVE_INFER_CALL_H_

#include <memory>
#include <utility>

#include "server/base/status_macros.h"
#include "server/kserve/infer_request.h"
#include "server/kserve/model_statistics.h"
#include "server/rpc/call.h"

namespace corank {

/// `Base`: UnaryCall, or a class of its kind, which `arguments` make.
template <typename Base>
class InferCall : public Base {
 public:
  template <typename... Arguments>
  explicit InferCall(ModelStatisticsTable* statistics, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), statistics_(statistics) {}

 protected:
  const InferRequest& request() const { return request_; }

  absl::Status Parse(const ReceivedMessage& bytes, InlinePayloads* payloads) override {
    CORANK_RETURN_IF_ERROR(request_.Read(bytes));
    CORANK_RETURN_IF_ERROR(this->SetOperator(request_.model().family->op));
    const SharedPlaces& places = this->places();
    CORANK_RETURN_IF_ERROR(request_.Translate(places.regions, this->caller().tenant));
    if (request_.timeout()) this->LimitTime(*request_.timeout());
    return payloads->Take(bytes, request_.payloads(), request_.typed_payloads(), places.host_pool);
  }
  const v1::RequestOptions& options() const override { return request_.options(); }
  absl::StatusOr<std::unique_ptr<Operation>> ValidateRequest(const Limits& limits, Places& places) const override {
    return request_.Validate(limits, places);
  }
  Bytes Respond(const Outcome& outcome) const override { return request_.Respond(outcome); }
  void Observe(const RequestRecord& record) override {
    if (request_.has_model()) statistics_->Count(request_.model(), record);
  }

 private:
  ModelStatisticsTable* const statistics_;
  InferRequest request_;
};

}  // namespace corank

#endif  // CORANK_SERVER_KSERVE_INFER_CALL_H_
