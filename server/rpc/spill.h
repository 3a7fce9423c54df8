// Which arrays of a plan wait in memory of the host, because they are too much for the device.
#ifndef CORANK_SERVER_RPC_SPILL_H_
#define CORANK_SERVER_RPC_SPILL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corank/v1/corank_service.pb.h"
#include "server/execute/stream_exchange.h"
#include "server/execute/stream_options.h"

namespace corank {

/// Streamed arrays of an operator that its kernels read, and a streamed result that they write, over the bus: in pinned
/// memory of the host. A result is here where intervals may be written anywhere in it until the last one.
struct Spill {
  int64_t input_bytes = 0;
  int64_t result_bytes = 0;
  std::string result_field;  // what says how long it is

  int64_t bytes() const { return input_bytes + result_bytes; }
};

/// Marks the plan's inputs that are spilled, or, where the length of one of them is not known, that may be: then only
/// the result is in what this returns. None where the device may have them all, where the plan is anything else than
/// one interval operator or Search, and where a length is none that a request may claim.
std::optional<Spill> FindSpill(const v1::Plan& plan, const StreamOptions& streams, std::vector<StreamInput>& inputs);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_SPILL_H_
