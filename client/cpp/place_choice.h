// Chooses how the arrays of a call travel. Pure functions, no I/O.
#ifndef CORANK_CLIENT_CPP_PLACE_CHOICE_H_
#define CORANK_CLIENT_CPP_PLACE_CHOICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "corank/client_options.h"
#include "corank/operators.h"

namespace corank::client {

/// Streams of more use several connections by default. One core bounds a gRPC connection, and a job of this size takes
/// long enough to pay for the set-up of more.
inline constexpr int64_t kSeveralConnectionsBytes = int64_t{128} << 20;
inline constexpr int kSeveralConnections = 4;
/// Smaller calls go in one message, without asking what the server is.
inline constexpr int64_t kAskServerBytes = int64_t{64} << 10;
/// Calls to a server on this host that send or receive more than this use shared memory: two copies at the speed of
/// memory. On the host of an H200 a message of 1 MiB took twice as long, and the first call, which makes the region,
/// was no slower.
inline constexpr int64_t kSharedMemoryBytes = int64_t{512} << 10;

/// If the request claims results of more than this many times its inputs, the client makes no region for them before
/// the server has checked the request. A stream allocates memory when the results arrive.
inline constexpr int64_t kMostGrowth = 64;

/// The facts that decide the place.
struct PlaceQuestion {
  int64_t input_bytes = 0;    // of inputs that would travel
  int64_t result_bytes = 0;   // the most, of results that would travel
  int64_t read_bytes = 0;     // of all inputs in this process, wherever they lie
  int64_t claimed_bytes = 0;  // the part of result_bytes that numbers in the request claim; they may be wrong
  bool only_stream = false;   // a chain of several operators
  bool may_share = false;     // same host, and no sign yet that the server cannot map this process's memory
};

/// The place that the caller asked for; kAuto by default.
inline Place AskedPlace(const CallOptions& call, const ClientOptions& options) {
  return call.place != Place::kAuto ? call.place : options.place;
}

struct PlaceChoice {
  Place place = Place::kInline;
  int connections = 1;
};

/// Whether the choice depends on the server.
bool NeedsServerInfo(const PlaceQuestion& question, const CallOptions& call, const ClientOptions& options);

/// INVALID_ARGUMENT if an option is out of range, UNIMPLEMENTED if the server does not support the place that the
/// caller asked for. `info` is null if it was not needed or the server does not say.
absl::StatusOr<PlaceChoice> ChoosePlace(const PlaceQuestion& question, const CallOptions& call,
                                        const ClientOptions& options, const ServerInfo* info);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PLACE_CHOICE_H_
