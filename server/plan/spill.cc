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

// The streams of a plan's only Search that hold its haystack; none of another operator.
std::vector<uint32_t> HaystackStreams(const v1::SearchRequest& request) {
  std::vector<uint32_t> ids;
  const auto add = [&ids](const v1::Array& array) {
    if (array.has_stream()) ids.push_back(array.stream().stream_id());
  };
  add(request.haystack());
  for (const v1::KeyColumn& column : request.haystack_columns()) {
    add(column.data());
    add(column.offsets());
    add(column.validity());
  }
  return ids;
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
      room = on_device / 8;  // for a piece of a result that leaves in pieces
      break;
    default:
      return std::nullopt;
  }
  const std::vector<uint32_t> haystack = HaystackStreams(plan.operations(0).search());  // empty for other operators
  const auto is_sought_in = [&haystack](const StreamInput& input) {
    return std::find(haystack.begin(), haystack.end(), input.stream_id) != haystack.end();
  };
  int64_t bytes = room + spill.result_bytes, haystack_bytes = 0;
  bool all_known = true;
  for (const StreamInput& input : inputs) {
    // The offsets of strings in a haystack are copied to the device as a whole.
    if (input.is_control && !is_sought_in(input)) continue;
    if (input.count > kMostPlausibleElements) return std::nullopt;
    if (input.count < 0) all_known = false;
    const int64_t input_bytes = std::max<int64_t>(0, input.count) * input.element_bytes;
    bytes += input_bytes;
    if (is_sought_in(input)) haystack_bytes += input_bytes;
  }
  if (!all_known) {
    for (StreamInput& input : inputs) input.may_spill = !input.is_control;
    const int64_t left = LeftBySpilling(on_device, streams.max_host_bytes);
    return spill.result_bytes > (left == 0 ? on_device : left / 2) ? std::optional(spill) : std::nullopt;
  }
  if (bytes <= on_device) return std::nullopt;
  for (StreamInput& input : inputs) {
    // Each needle visits many places of the haystack, so half of the device is for the haystack if it fits.
    if (input.is_control || (is_sought_in(input) && haystack_bytes <= on_device / 2)) continue;
    input.is_spilled = true;
    spill.input_bytes += input.count * input.element_bytes;
  }
  return spill;
}

}  // namespace corank
