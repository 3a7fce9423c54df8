// A client of unary gRPC calls on nghttp2, so light that the server is the limit: gRPC's C++ client costs more CPU for
// a small call than the servers that the benchmarks measure.
//
// Each thread owns its connections and does nothing but send and receive. A call costs a few microseconds.
#ifndef CORANK_BENCH_SERVICE_LIGHT_CLIENT_H_
#define CORANK_BENCH_SERVICE_LIGHT_CLIENT_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace corank::bench {

/// A request to be sent repeatedly.
class LightRequest {
 public:
  LightRequest(std::string path, const grpc::ByteBuffer& message);

  const std::string& path() const { return path_; }
  /// The message behind its prefix of five bytes.
  const std::string& framed() const { return framed_; }

 private:
  std::string path_, framed_;
};

/// How a call ended.
struct LightAnswer {
  const LightRequest* request = nullptr;
  /// As the server sent it. DEADLINE_EXCEEDED if the call was given up on this side.
  grpc::Status status;
  bool is_of_server = false;
  /// Valid during the callback only.
  grpc::ByteBuffer* message = nullptr;
  absl::Time start;
  absl::Duration elapsed;
};

/// What a thread of the client does: it is asked for calls, and told how they ended. One thread calls it.
class LightCaller {
 public:
  virtual ~LightCaller() = default;

  /// A call to make.
  struct Call {
    const LightRequest* request = nullptr;
    absl::Duration deadline = absl::InfiniteDuration();
  };

  /// When the next call is due: InfiniteFuture() if only an answer can make one due, InfinitePast() if none will ever
  /// be. A time that has passed makes Next() follow.
  virtual absl::Time due() const = 0;
  virtual Call Next() = 0;
  virtual void OnAnswer(const LightAnswer& answer) = 0;
};

/// Connections to one server, shared among threads. One loop at a time.
class LightClient {
 public:
  /// UNAVAILABLE if the server does not take them. `address`: "127.0.0.1:50051".
  static absl::StatusOr<std::unique_ptr<LightClient>> Connect(const std::string& address, int connections, int threads);
  ~LightClient();

  int connections() const { return connections_; }
  int threads() const { return static_cast<int>(threads_.size()); }

  /// Runs one caller on each thread, as many as threads(), until each of them makes no more calls and every call has
  /// ended. Calls go to a thread's connections in turn.
  void Run(const std::vector<std::unique_ptr<LightCaller>>& callers);

 private:
  class Thread;
  class Connection;
  class SendQueue;
  struct Stream;

  LightClient() = default;

  int connections_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace corank::bench

#endif  // CORANK_BENCH_SERVICE_LIGHT_CLIENT_H_
