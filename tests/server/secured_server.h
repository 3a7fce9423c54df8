// A server that requires credentials, and clients that have them.
#ifndef CORANK_TESTS_SERVER_SECURED_SERVER_H_
#define CORANK_TESTS_SERVER_SECURED_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/security/credentials.h"
#include "server/server.h"
#include "tests/server/memory_calls.h"
#include "tests/server/running_server.h"
#include "tests/server/shared_object.h"
#include "tests/server/test_certificates.h"

namespace corank::testing {

/// A line of a tokens file.
std::string TokenLine(absl::string_view tenant, absl::string_view token, absl::string_view permissions);

/// With shared memory and kept arrays enabled.
Server::Options SecuredOptions();

/// A value of a counter among the server's metrics; 0 if it does not exist.
double RefusedSoFar(const Server& server, absl::string_view reason);

/// The calls of one caller, each with its own context and a deadline of a minute.
class TestCaller {
 public:
  /// `token`: empty for none.
  TestCaller(const std::shared_ptr<grpc::Channel>& channel, std::string token);

  grpc::Status Sort() const;
  grpc::Status Info() const;
  grpc::Status Run(const std::function<grpc::Status(grpc::ClientContext*)>& call) const;
  std::unique_ptr<grpc::ClientContext> Context() const;

  v1::CorankService::Stub& stub() const { return *stub_; }
  const MemoryCalls& memory() const { return memory_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  grpc::Status Store(const std::string& name, int32_t value) const;
  /// The first element of a kept array.
  grpc::Status Fetch(const std::string& name, int32_t* value) const;

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::string token_;
  const std::unique_ptr<v1::CorankService::Stub> stub_;
  const MemoryCalls memory_;
};

/// Credentials of a client that trusts `authority`, with its own certificate if given.
std::shared_ptr<grpc::ChannelCredentials> TlsClient(const TestAuthority& authority, const TestCertificate& own = {});

/// A connection of its own. `host` replaces the name in the check of the server's certificate; empty: the address.
std::shared_ptr<grpc::Channel> ConnectWith(const std::string& address,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           const std::string& host = "");

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_SECURED_SERVER_H_
