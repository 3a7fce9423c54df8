// One streaming call whose messages are raw bytes, both ways at the same time.
#ifndef CORANK_CLIENT_CPP_RAW_STREAM_H_
#define CORANK_CLIENT_CPP_RAW_STREAM_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/connection.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// What a stream sends, and what becomes of what it receives. gRPC's threads call these: Next and Take each one at a
/// time, but at the same time as each other; Done once, last. Next and Take may run out of memory: that ends the call.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  /// The next message; none at the end. Called once the one before has left for the connection: a server that does not
  /// read holds the caller back.
  virtual std::optional<grpc::ByteBuffer> Next() = 0;
  /// An error ends the call and is its outcome.
  virtual absl::Status Take(grpc::ByteBuffer* message) = 0;
  /// Another thread may destroy the stream meanwhile: that waits for this to return.
  virtual void Done(const Attempt& attempt) = 0;
};

/// The call begins with Start, and is given up when this goes.
class RawStream final {
 public:
  /// `method`: "/package.Service/Method", of any kind of streaming. `events` outlives this, or GiveUp.
  RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events);
  ~RawStream();
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  /// To be made ready (Connection::Prepare) and given to a CancellationScope before Start.
  grpc::ClientContext* context();
  void Start();
  /// Thread-safe; does nothing before Start and after Done.
  void Cancel();
  /// Cancels the call, if it is not done, and leaves it to gRPC, which may be long in ending it: see Patience. Once
  /// this has returned, the events hear nothing more. Not to be called by them.
  void GiveUp();

 private:
  class Call;

  const std::shared_ptr<Call> call_;  // its own, too, from Start to its end
};

/// Runs a call to its end, on the first channel: `events` need not do anything in Done.
Attempt RunStream(Connection* connection, const char* method, absl::Time deadline, const CallOptions& call,
                  StreamEvents* events);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RAW_STREAM_H_
