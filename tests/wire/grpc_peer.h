// Calls by gRPC's C++ library, of any method, with messages as bytes.
#ifndef CORANK_TESTS_WIRE_GRPC_PEER_H_
#define CORANK_TESTS_WIRE_GRPC_PEER_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/status.h"

namespace corank::wire::testing {

/// A channel with a connection of its own.
std::shared_ptr<grpc::Channel> Connect(
    int port, const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials());

struct Answer {
  grpc::Status status;
  std::vector<std::string> messages;
};

/// Sends the messages one after the other, and then reads all answers. Waits for the end of the call.
Answer Stream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              const std::vector<std::string>& messages, grpc::ClientContext* context);
/// The same with one message and a context of its own.
Answer Ask(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& message);

}  // namespace corank::wire::testing

#endif  // CORANK_TESTS_WIRE_GRPC_PEER_H_
