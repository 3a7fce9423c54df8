#include "server/plan/spill.h"

#include <algorithm>

#include "server/plan/parse/arrays.h"
#include "server/run/job_memory.h"

namespace corank {
namespace {

bool IsPlausible(int64_t count) { return count >= 0 && count <= kMostPlausibleElements; }

template <typename Request>
void AddResult(const Request& request, CountOf count_of, Spill* spill) {
  if (!request.result_destination().has_stream()) return;
  const int64_t count =
      request.has_destination() ? count_of(request.destination()).value_or(0) : request.destination_count();
  if (!IsPlausible(count)) return;
  spill->result_bytes = count * ElementBytes(request.source());
  spill->result_field = request.has_destination() ? "destination.count" : "destination_count";
}

}  // namespace

std::optional<Spill> FindSpill(const v1::Plan& plan, const StreamOptions& streams, CountOf count_of,
                               std::vector<StreamInput>& inputs) {
  if (plan.operations_size() != 1) return std::nullopt;
  const int64_t on_device = streams.max_device_bytes;
  Spill spill;
  int64_t room = 0;
  switch (plan.operations(0).operation_case()) {
    case v1::Operation::kMoveIntervals:
      AddResult(plan.operations(0).move_intervals(), count_of, &spill);
      break;
    case v1::Operation::kScatterIntervals:
      AddResult(plan.operations(0).scatter_intervals(), count_of, &spill);
      break;
    case v1::Operation::kExpandIntervals:
    case v1::Operation::kGatherIntervals:
    case v1::Operation::kSearch:
      if (plan.operations(0).search().haystack_columns_size() > 0) return std::nullopt;
      room = on_device / 8;  // for a piece of a result that leaves in pieces
      break;
    default:
      return std::nullopt;
  }
  int64_t bytes = room + spill.result_bytes;
  bool all_known = true;
  for (const StreamInput& input : inputs) {
    if (input.is_control) continue;
    if (input.count > kMostPlausibleElements) return std::nullopt;
    if (input.count < 0) all_known = false;
    bytes += std::max<int64_t>(0, input.count) * input.element_bytes;
  }
  if (!all_known) {
    for (StreamInput& input : inputs) input.may_spill = !input.is_control;
    const int64_t left = LeftBySpilling(on_device, streams.max_host_bytes);
    return spill.result_bytes > (left == 0 ? on_device : left / 2) ? std::optional(spill) : std::nullopt;
  }
  if (bytes <= on_device) return std::nullopt;
  for (StreamInput& input : inputs) {
    const int64_t input_bytes = input.count * input.element_bytes;
    // Each needle visits many places of the haystack, so half of the device is for the haystack if it fits.
    const v1::Array& haystack = plan.operations(0).search().haystack();  // empty for other operators
    const bool is_sought_in = haystack.has_stream() && input.stream_id == haystack.stream().stream_id();
    if (input.is_control || (is_sought_in && input_bytes <= on_device / 2)) continue;
    input.is_spilled = true;
    spill.input_bytes += input_bytes;
  }
  return spill;
}

}  // namespace corank
