#include "tests/server/secured_server.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "tests/server/messages.h"

namespace corank::testing {

std::string TokenLine(absl::string_view tenant, absl::string_view token, absl::string_view permissions) {
  return absl::StrCat(tenant, " ", HashOf(token), " ", permissions, "\n");
}

Server::Options SecuredOptions() {
  Server::Options options = TestOptions();
  options.regions.shared_memory_prefixes = {SharedObject::kPrefix};
  options.arrays.max_bytes = options.arrays.quota_bytes = 1 << 20;
  return options;
}

double RefusedSoFar(const Server& server, absl::string_view reason) {
  return MetricOf(server, "corank_refused_total", reason);
}

TestCaller::TestCaller(const std::shared_ptr<grpc::Channel>& channel, std::string token)
    : channel_(channel),
      token_(std::move(token)),
      stub_(v1::CorankService::NewStub(channel)),
      memory_(channel, [this] { return Context(); }) {}

std::unique_ptr<grpc::ClientContext> TestCaller::Context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token_.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", token_));
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  return context;
}

grpc::Status TestCaller::Run(const std::function<grpc::Status(grpc::ClientContext*)>& call) const {
  return call(Context().get());
}

grpc::Status TestCaller::Sort() const {
  v1::SortRequest request;
  *request.mutable_keys() = Int32s({3, 1, 2});
  v1::SortResponse response;
  return stub_->Sort(Context().get(), request, &response);
}

grpc::Status TestCaller::Info() const {
  v1::GetServerInfoResponse response;
  return stub_->GetServerInfo(Context().get(), {}, &response);
}

grpc::Status TestCaller::Store(const std::string& name, int32_t value) const {
  return memory_.Store(name, Int32s({value}));
}

grpc::Status TestCaller::Fetch(const std::string& name, int32_t* value) const {
  std::vector<int32_t> values;
  const grpc::Status status = memory_.Fetch(name, &values);
  if (values.size() == 1) *value = values[0];
  return status;
}

std::shared_ptr<grpc::ChannelCredentials> TlsClient(const TestAuthority& authority, const TestCertificate& own) {
  return grpc::SslCredentials({authority.certificate(), own.key, own.certificate});
}

std::shared_ptr<grpc::Channel> ConnectWith(const std::string& address,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           const std::string& host) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!host.empty()) arguments.SetSslTargetNameOverride(host);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace corank::testing
