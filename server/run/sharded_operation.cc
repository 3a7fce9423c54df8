#include "server/run/sharded_operation.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "server/base/errors.h"
#include "server/base/status_macros.h"
#include "server/memory/device_set.h"
#include "server/model/parts.h"

namespace corank {
namespace {

// Of each device, for its part of a result.
constexpr int kStreams = 3;

// Waits for all streams. The first error counts, and of the times, which overlap, the longest.
absl::Status FinishAll(const std::vector<EngineStream*>& streams, absl::Status status, v1::RequestStats* stats) {
  std::vector<v1::RequestStats> times(streams.size());
  std::vector<const v1::RequestStats*> all;
  for (size_t i = 0; i < streams.size(); ++i) {
    status.Update(FinishStream(*streams[i], absl::OkStatus(), &times[i]));
    all.push_back(&times[i]);
  }
  if (status.ok()) AddLongest(all, stats);
  return status;
}

}  // namespace

bool CanShare(const KernelOperation& whole) {
  const auto& results = whole.results();
  const bool any = AnySharded(whole);
  return !whole.AnyInput([any](const Operand& input) { return !CanShare(input, any); }) &&
         std::all_of(results.begin(), results.end(), [](const auto& result) { return CanShare(result.target); });
}

bool AnySharded(const KernelOperation& whole) {
  const auto& results = whole.results();
  return whole.AnyInput([](const Operand& input) { return IsSharded(input); }) ||
         std::any_of(results.begin(), results.end(), [](const auto& result) { return IsSharded(result.target); });
}

absl::StatusOr<const void*> TakePart(EngineStream& stream, const Operand& array, int64_t parts, int64_t part) {
  if (IsSharded(array)) return array.shards[static_cast<size_t>(part)];
  const int64_t count = PartCount(array.count, parts, part);
  if (count == 0) return nullptr;
  CORANK_ASSIGN_OR_RETURN(void* const d_part, stream.AllocateDevice(count * array.element_bytes));
  CORANK_RETURN_IF_ERROR(CopyElements(stream, array, PartBegin(array.count, parts, part), count, d_part));
  return d_part;
}

std::vector<PartMoves::Part> PartsOf(const Operand& array) {
  std::vector<PartMoves::Part> parts;
  const auto count = static_cast<int64_t>(array.shards.size());
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(
        {PartBegin(array.count, count, i), PartBegin(array.count, count, i + 1), array.shards[static_cast<size_t>(i)]});
  }
  return parts;
}

absl::Status RetryForThreads(const absl::Status& status) {
  // The streams' errors have reasons. Memory is not short.
  if (!absl::IsResourceExhausted(status) || ReasonOf(status) != v1::ERROR_REASON_UNSPECIFIED) return status;
  return RetryLater(v1::ERROR_REASON_QUEUE_FULL, status.message(), absl::Seconds(1));
}

std::vector<int> SharingDevices(uint64_t devices) {
  std::vector<int> sharing = DeviceSet::List(devices);
  sharing.resize(std::min(sharing.size(), size_t{ShardedMerge::kMaxShards}));
  return sharing;
}

ShardedOperation::ShardedOperation(std::unique_ptr<PhasedOperation> whole, uint64_t devices)
    : whole_(std::move(whole)), devices_(SharingDevices(devices)) {}

int64_t ShardedOperation::FirstOf(size_t shard, int64_t rows) const {
  return PartBegin(rows, static_cast<int64_t>(devices_.size()), static_cast<int64_t>(shard));
}

absl::StatusOr<EngineStream*> ShardedOperation::SpareStream(Lane& lane, int shard) const {
  return lane.StreamOn(devices_[static_cast<size_t>(shard)], kStreams);
}

absl::Status ShardedOperation::Begin(Lane& lane, const std::vector<RowResult>& rows, std::vector<EngineStream*>& begun,
                                     std::vector<ShardResult>& results) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    EngineStream* streams[kStreams];
    for (int number = 0; number < kStreams; ++number) {
      CORANK_ASSIGN_OR_RETURN(streams[number], lane.StreamOn(devices_[i], number));
      CORANK_RETURN_IF_ERROR(streams[number]->Begin());
      begun.push_back(streams[number]);
    }
    const int64_t first = FirstOf(i, result_count());
    ShardResult result;
    result.stream = streams[0];
    result.copier = streams[1];
    result.sender = streams[2];
    result.count = FirstOf(i + 1, result_count()) - first;
    for (size_t j = 0; j < rows.size(); ++j) {
      const PendingResult& array = whole_->results()[j];
      const bool is_keys = array.role == ResultRole::kKeys;
      if (IsSharded(array.target)) {
        CORANK_ASSIGN_OR_RETURN((is_keys ? result.keys : result.values), array.target->AllocateShard(i));
        continue;
      }
      char*& place = is_keys ? result.h_keys : result.h_values;
      place = rows[j].column().place + first * array.element_bytes;
    }
    results.push_back(result);
  }
  return absl::OkStatus();
}

absl::Status ShardedOperation::Execute(Lane& lane, Outcome& outcome) {
  CORANK_ASSIGN_OR_RETURN(const std::vector<RowResult> rows, RowResult::Make(whole_->results()));
  std::vector<EngineStream*> begun;
  std::vector<ShardResult> results;
  absl::Status status = Begin(lane, rows, begun, results);
  if (status.ok()) status = Enqueue(lane, std::move(results));
  CORANK_RETURN_IF_ERROR(FinishAll(begun, RetryForThreads(status), &outcome.stats));
  outcome.SetDevices(op(), shards());
  CORANK_ASSIGN_OR_RETURN(const bool is_done, Conclude(outcome));
  if (!is_done) {
    outcome.stats.set_devices(1);
    return whole_->Execute(lane, outcome);
  }
  for (const RowResult& row : rows) outcome.results.push_back(row.Collect());
  return absl::OkStatus();
}

}  // namespace corank
