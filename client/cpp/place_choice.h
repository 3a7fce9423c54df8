// Which way the arrays of a call go. Pure: no I/O.
#ifndef CORANK_CLIENT_CPP_PLACE_CHOICE_H_
#define CORANK_CLIENT_CPP_PLACE_CHOICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "corank/client_options.h"
#include "corank/operators.h"

namespace corank::client {

/// From this many bytes on, streams use several connections by themselves: one gRPC connection is bound by the one core
/// that serves it, and the second at which a job of this size takes is worth the set-up of some more.
inline constexpr int64_t kSeveralConnectionsBytes = int64_t{256} << 20;
inline constexpr int kSeveralConnections = 4;
/// Below this, a call goes in one message without a look at what the server is.
inline constexpr int64_t kAskServerBytes = int64_t{64} << 10;
/// To a server on this host, calls that send or receive more than this go through shared memory: two copies at the
/// speed of memory. Measured beside an H200, where a message of 1 MiB takes twice as long, and the first call, which
/// makes the region, is no slower either.
inline constexpr int64_t kSharedMemoryBytes = int64_t{512} << 10;

/// Results that are larger than this many times the inputs, because the request says so, are not set aside as a region
/// before the server has seen the request. A stream takes memory for them when they come.
inline constexpr int64_t kMostGrowth = 64;

/// What is known when a place is chosen.
struct PlaceQuestion {
  int64_t input_bytes = 0;    // that would travel
  int64_t result_bytes = 0;   // at most, that would travel
  int64_t read_bytes = 0;     // of all inputs, wherever they lie
  int64_t claimed_bytes = 0;  // of result_bytes, those whose number is the request's own: it may be wrong
  bool only_stream = false;   // a chain of several operators
  bool may_share = false;     // this host, and nothing has shown yet that the server cannot map this process's memory
};

/// The place that is asked for; kAuto where none is.
inline Place AskedPlace(const CallOptions& call, const ClientOptions& options) {
  return call.place != Place::kAuto ? call.place : options.place;
}

struct PlaceChoice {
  Place place = Place::kInline;
  int connections = 1;
};

/// Whether the choice needs to know the server.
bool NeedsServerInfo(const PlaceQuestion& question, const CallOptions& call, const ClientOptions& options);

/// INVALID_ARGUMENT if an option is out of range, UNIMPLEMENTED if the server does not take what the call asks for.
/// `info` is null where it was not needed, or where the server does not say.
absl::StatusOr<PlaceChoice> ChoosePlace(const PlaceQuestion& question, const CallOptions& call,
                                        const ClientOptions& options, const ServerInfo* info);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_PLACE_CHOICE_H_
