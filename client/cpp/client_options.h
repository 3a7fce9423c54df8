// How a Client is made.
#ifndef CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_
#define CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/time/time.h"
#include "client/cpp/operators.h"
#include "client/cpp/retry.h"

namespace corank::client {

struct ClientOptions {
  /// host:port, or any other gRPC target such as unix:/run/corank.sock.
  std::string address = "127.0.0.1:50051";
  /// Time that a call may take, retries included, where CallOptions does not say.
  absl::Duration deadline = absl::Minutes(5);
  /// Largest request and response, 1 byte to 2 GiB - 1 (the most that gRPC carries in one message).
  int64_t max_message_bytes = std::numeric_limits<int32_t>::max();
  /// How arrays travel where CallOptions::place is kAuto.
  Place place = Place::kAuto;
  /// With kAuto here too, arrays of one call that have more bytes together than this do not travel in one message.
  int64_t stream_bytes = int64_t{64} << 20;
  /// Connections for streamed arrays, 1 to 64. 0: 4 from 256 MiB on, else 1. Never more than the server takes.
  int connections = 0;
  /// What is done about refused calls.
  RetryOptions retry;
};

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_CLIENT_OPTIONS_H_
