#include "kernels/engine/range_copier.h"

#include <cstring>

#include "kernels/engine/alignment.h"

namespace corank {
namespace {

MoveArgs MoveOf(int32_t element_bytes, int64_t ranges, int64_t total) {
  MoveArgs args;
  args.element_bytes = element_bytes;
  args.interval_count = ranges;
  args.total = total;
  args.check_overlap = false;
  return args;
}

}  // namespace

int64_t RangeCopier::RangesBytes(int64_t ranges) { return 3 * AlignUp(ranges * static_cast<int64_t>(sizeof(int64_t))); }

int64_t RangeCopier::DeviceBytes(int32_t element_bytes, int64_t ranges, int64_t room, const Engine& engine) {
  return AlignUp(room * element_bytes) + engine.WorkspaceBytes(MoveOf(element_bytes, ranges, room));
}

absl::Status RangeCopier::Upload(const std::vector<int64_t>& numbers, const int64_t** d_numbers) {
  const auto bytes = static_cast<int64_t>(numbers.size() * sizeof(int64_t));
  const absl::StatusOr<void*> h_numbers = stream_->AllocateHost(bytes);
  if (!h_numbers.ok()) return h_numbers.status();
  std::memcpy(*h_numbers, numbers.data(), static_cast<size_t>(bytes));
  const absl::StatusOr<const void*> uploaded = stream_->Upload(*h_numbers, bytes);
  if (uploaded.ok()) *d_numbers = static_cast<const int64_t*>(*uploaded);
  return uploaded.status();
}

absl::StatusOr<char*> RangeCopier::CopyToHost(const void* d_array, int32_t element_bytes, OperatorReport* report) {
  absl::Status status;
  if (move_.interval_count == 0) {
    move_ = MoveOf(element_bytes, ranges_.size(), ranges_.total());
    status = Upload(ranges_.from_, &move_.source_offsets);
    if (status.ok()) status = Upload(ranges_.to_, &move_.destination_offsets);
    if (status.ok()) status = Upload(ranges_.counts_, &move_.counts);
    if (!status.ok()) return status;
  }
  const int64_t bytes = ranges_.end() * element_bytes;
  const absl::StatusOr<void*> d_copies = stream_->AllocateDevice(bytes);
  if (!d_copies.ok()) return d_copies.status();
  MoveArgs args = move_;
  args.element_bytes = element_bytes;
  args.source = d_array;
  args.destination = *d_copies;
  status = stream_->Move(args, report);
  if (!status.ok()) return status;
  const absl::StatusOr<void*> h_copies = stream_->AllocateHost(bytes);
  if (!h_copies.ok()) return h_copies.status();
  status = stream_->CopyToHost(*h_copies, *d_copies, bytes);
  if (!status.ok()) return status;
  return static_cast<char*>(*h_copies);
}

}  // namespace corank
