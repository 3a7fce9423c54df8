// A call of any method by name, with messages as bytes: for services whose stubs this project does not build, and for
// malformed messages.
#ifndef CORANK_TESTS_SERVER_RAW_STREAM_H_
#define CORANK_TESTS_SERVER_RAW_STREAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"

namespace corank::testing {

/// grpc.health.v1.HealthCheckRequest of a service, and the HealthCheckResponses.
inline std::string HealthRequest(const std::string& service) {
  return service.empty() ? "" : "\x0a" + std::string(1, static_cast<char>(service.size())) + service;
}
inline const std::string kServing = "\x08\x01";
inline const std::string kNotServing = "\x08\x02";

class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& request);
  /// Cancels the call.
  ~RawStream();

  /// The next message; none after the call ends.
  std::optional<std::string> Read();

 private:
  bool Await();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

/// Sends one message to a unary method and returns the call's status.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const std::string& request);
/// The same, without a copy of the request or the response in this process.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const grpc::ByteBuffer& request, grpc::ByteBuffer* response);
/// The same for a method that takes a stream and responds at its end.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     grpc::ClientContext* context, const std::vector<grpc::ByteBuffer>& requests,
                     std::vector<grpc::ByteBuffer>* responses);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_RAW_STREAM_H_
