#include "tests/client/puppet_service.h"

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace corank::client {

grpc::Status StatusWithDetail(grpc::StatusCode code, const std::string& message,
                              const google::protobuf::Message& detail) {
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  details.add_details()->PackFrom(detail);
  return grpc::Status(code, message, details.SerializeAsString());
}

grpc::Status InvalidField(const std::string& field, const std::string& message) {
  google::rpc::BadRequest bad_request;
  google::rpc::BadRequest::FieldViolation* violation = bad_request.add_field_violations();
  violation->set_field(field);
  violation->set_description(message);
  return StatusWithDetail(grpc::StatusCode::INVALID_ARGUMENT, message, bad_request);
}

grpc::Status RetryLater(grpc::StatusCode code, const std::string& message, absl::Duration delay) {
  google::rpc::RetryInfo retry_info;
  retry_info.mutable_retry_delay()->set_seconds(absl::IDivDuration(delay, absl::Seconds(1), &delay));
  retry_info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));
  return StatusWithDetail(code, message, retry_info);
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
