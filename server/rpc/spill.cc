#include "server/rpc/spill.h"

#include "server/execute/stream_options.h"
#include "server/validate/arrays.h"

namespace corank {
namespace {

bool IsPlausible(int64_t count) { return count >= 0 && count <= kMostPlausibleElements; }

template <typename Request>
void AddResult(const Request& request, Spill* spill) {
  if (!request.result_destination().has_stream()) return;
  const int64_t count = request.has_destination() ? request.destination().count() : request.destination_count();
  if (!IsPlausible(count)) return;
  spill->result_bytes = count * ElementBytes(request.source());
  spill->result_field = request.has_destination() ? "destination.count" : "destination_count";
}

}  // namespace

std::optional<Spill> FindSpill(const v1::Plan& plan, const std::vector<StreamInput>& inputs, int64_t max_device_bytes) {
  if (plan.operations_size() != 1) return std::nullopt;
  Spill spill;
  switch (plan.operations(0).operation_case()) {
    case v1::Operation::kMoveIntervals:
      AddResult(plan.operations(0).move_intervals(), &spill);
      break;
    case v1::Operation::kScatterIntervals:
      AddResult(plan.operations(0).scatter_intervals(), &spill);
      break;
    case v1::Operation::kExpandIntervals:
    case v1::Operation::kGatherIntervals:
      break;
    default:
      return std::nullopt;
  }
  for (const StreamInput& input : inputs) {
    if (input.is_control) continue;
    if (!IsPlausible(input.count)) return std::nullopt;
    spill.input_bytes += input.count * input.element_bytes;
  }
  if (spill.bytes() <= max_device_bytes) return std::nullopt;
  return spill;
}

}  // namespace corank
