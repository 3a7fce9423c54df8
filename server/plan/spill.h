// Chooses the arrays of a plan that stay in host memory because they do not fit on the device.
#ifndef CORANK_SERVER_PLAN_SPILL_H_
#define CORANK_SERVER_PLAN_SPILL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "corank/v1/corank_service.pb.h"
#include "server/run/chunk_pipe.h"
#include "server/run/stream_options.h"

namespace corank {

/// The spilled arrays of an operator: streamed inputs that its kernels read, and a streamed result that they write,
/// over the bus in pinned host memory. Only operators whose intervals may write anywhere in the result have such a
/// result.
struct Spill {
  int64_t input_bytes = 0;
  int64_t result_bytes = 0;
  std::string result_field;  // the field that determines its length

  int64_t bytes() const { return input_bytes + result_bytes; }
};

/// The number of elements of an array of the request; nullopt if it is not known yet.
using CountOf = absl::FunctionRef<std::optional<int64_t>(const v1::Array& array)>;

/// Marks the plan's inputs that are spilled, and returns the spilled arrays. If the length of an input is unknown,
/// marks the inputs that may spill instead, and the returned Spill has the result only. nullopt if nothing is known to
/// spill, if the plan is not a single interval operator or Search, or if a length is larger than a request may claim.
std::optional<Spill> FindSpill(const v1::Plan& plan, const StreamOptions& streams, CountOf count_of,
                               std::vector<StreamInput>& inputs);

}  // namespace corank

#endif  // CORANK_SERVER_PLAN_SPILL_H_
