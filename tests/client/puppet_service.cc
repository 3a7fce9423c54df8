#include "tests/client/puppet_service.h"

#include "absl/strings/str_cat.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "proto/error_details.h"

namespace corank::client {
namespace {

void Add(const char* type_url, const google::protobuf::Message& detail, wire::v1::RpcStatus* details) {
  google::protobuf::Any* any = details->add_details();
  any->set_type_url(type_url);
  any->set_value(detail.SerializeAsString());
}

// A status as corankd makes it; `detail` may be null.
grpc::Status StatusWithDetail(grpc::StatusCode code, const std::string& message, const wire::v1::ErrorInfo& info,
                              const char* type_url, const google::protobuf::Message* detail) {
  wire::v1::RpcStatus details;
  details.set_code(code);
  details.set_message(message);
  Add(kErrorInfoUrl, info, &details);
  if (detail != nullptr) Add(type_url, *detail, &details);
  return grpc::Status(code, message, details.SerializeAsString());
}

wire::v1::ErrorInfo Info(const std::string& reason) {
  wire::v1::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kErrorDomain);
  return info;
}

}  // namespace

grpc::Status InvalidField(const std::string& field, const std::string& message) {
  wire::v1::BadRequest bad_request;
  wire::v1::BadRequest::FieldViolation* violation = bad_request.add_field_violations();
  violation->set_field(field);
  violation->set_description(message);
  return StatusWithDetail(grpc::StatusCode::INVALID_ARGUMENT, message, Info("FIELD_INVALID"), kBadRequestUrl,
                          &bad_request);
}

grpc::Status RetryLater(grpc::StatusCode code, const std::string& message, absl::Duration delay) {
  wire::v1::RetryInfo retry_info;
  retry_info.mutable_retry_delay()->set_seconds(absl::IDivDuration(delay, absl::Seconds(1), &delay));
  retry_info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));
  const char* const reason = code == grpc::StatusCode::UNAVAILABLE ? "DRAINING" : "QUEUE_FULL";
  return StatusWithDetail(code, message, Info(reason), kRetryInfoUrl, &retry_info);
}

grpc::Status PartLost(const std::string& cause) {
  wire::v1::ErrorInfo info = Info("JOB_PART_LOST");
  (*info.mutable_metadata())["part"] = "1";
  (*info.mutable_metadata())["cause"] = cause;
  return StatusWithDetail(grpc::StatusCode::ABORTED, "part 1 of the job ended early", info, nullptr, nullptr);
}

PuppetServer::PuppetServer(PuppetService* service, PuppetMemory* memory,
                           const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  service->memory = memory;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  if (memory != nullptr) builder.RegisterService(memory);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

PuppetServer::~PuppetServer() { server_->Shutdown(std::chrono::system_clock::now()); }

}  // namespace corank::client
