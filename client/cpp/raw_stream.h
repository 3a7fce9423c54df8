// One streaming call of raw messages, in both directions at once.
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

/// Supplies the messages of a stream and receives its answers. gRPC's threads call these methods. Calls to Next do not
/// overlap, nor do calls to Take, but a Next may overlap a Take. Done comes once, last. Next and Take may run out of
/// memory, which ends the call.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  /// The next message; none at the end. gRPC asks for it once the connection has taken the one before, so a server that
  /// does not read slows the caller down.
  virtual std::optional<grpc::ByteBuffer> Next() = 0;
  /// Receives a message. An error ends the call and becomes its status.
  virtual absl::Status Take(grpc::ByteBuffer* message) = 0;
  /// The end of the call. Destroying the stream waits for this to return.
  virtual void Done(const Attempt& attempt) = 0;
};

/// Start begins the call; the destructor gives it up.
class RawStream final {
 public:
  /// `method` is "/package.Service/Method", of any kind of streaming. `events` outlives this object or a GiveUp.
  RawStream(std::shared_ptr<grpc::Channel> channel, const char* method, StreamEvents* events);
  ~RawStream();
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  /// Pass it to Connection::Prepare and to a CancellationScope before Start.
  grpc::ClientContext* context();
  void Start();
  /// Thread-safe. Does nothing before Start and after Done.
  void Cancel();
  /// Cancels the call, unless it is done, and leaves its end to gRPC, which may take long: see Patience. After this
  /// returns, gRPC calls no more events. Events must not call it.
  void GiveUp();

 private:
  class Call;

  const std::shared_ptr<Call> call_;  // the call owns itself too, from Start to its end
};

/// Runs a call to its end on the first channel. `events` may ignore Done.
Attempt RunStream(Connection* connection, const char* method, absl::Time deadline, const CallOptions& call,
                  StreamEvents* events);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_RAW_STREAM_H_
