// Which arrays of a plan wait in memory of the host, because they are too much for the device.
#ifndef CORANK_SERVER_RPC_SPILL_H_
#define CORANK_SERVER_RPC_SPILL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corank/v1/corank_service.pb.h"
#include "server/execute/stream_exchange.h"

namespace corank {

/// Streamed arrays of an interval operator that its kernels read, and a streamed result that they write, over the bus:
/// in pinned memory of the host. A result is here where intervals may be written anywhere in it until the last one.
struct Spill {
  int64_t input_bytes = 0;
  int64_t result_bytes = 0;
  std::string result_field;  // what says how long it is

  int64_t bytes() const { return input_bytes + result_bytes; }
};

/// None where the device may have them all, where the plan is anything else than one such operator, and where a length
/// is not known, or none that a request may claim. `inputs`: of the plan.
std::optional<Spill> FindSpill(const v1::Plan& plan, const std::vector<StreamInput>& inputs, int64_t max_device_bytes);

}  // namespace corank

#endif  // CORANK_SERVER_RPC_SPILL_H_
