// One streaming call whose messages are raw bytes, both ways at the same time.
#ifndef CORANK_CLIENT_CPP_RAW_STREAM_H_
#define CORANK_CLIENT_CPP_RAW_STREAM_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// What a stream sends, and what becomes of what it receives. gRPC's threads call these: Next and Take each one at a
/// time, but at the same time as each other; Done once, last.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  /// The next message; none at the end. Called once the one before has left for the connection: a server that does not
  /// read holds the caller back.
  virtual std::optional<grpc::ByteBuffer> Next() = 0;
  /// An error ends the call and is its outcome.
  virtual absl::Status Take(grpc::ByteBuffer* message) = 0;
  /// The stream may be destroyed in it.
  virtual void Done(const Attempt& attempt) = 0;
};

/// The call begins with Start. Lives until Done.
class RawStream final : private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  /// `method`: "/package.Service/Method", of any kind of streaming. `events` outlives the call.
  RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events);

  /// To be made ready (Connection::Prepare) and given to a CancellationScope before Start.
  grpc::ClientContext* context() { return &context_; }
  void Start();
  /// Thread-safe; does nothing before Start and after Done.
  void Cancel() { context_.TryCancel(); }

 private:
  void Write();
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const char* const method_;
  StreamEvents* const events_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer in_, out_;
  absl::Status taken_;  // the first error of Take
};

/// Runs a call to its end, on the first channel: `events` need not do anything in Done.
Attempt RunStream(Connection* connection, const char* method, absl::Time deadline, const CallOptions& call,
                  StreamEvents* events);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RAW_STREAM_H_
