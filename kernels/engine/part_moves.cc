#include "kernels/engine/part_moves.h"

#include <algorithm>

namespace corank {

PartMoves::PartMoves(EngineStream& stream, std::vector<Part> parts) : stream_(stream) {
  for (const Part& part : parts) cuts_.push_back({part});
}

int64_t PartMoves::WorkspaceBytes(const MoveArgs& args, int64_t parts, const Engine& engine) {
  MoveArgs move = args;
  const int64_t any = 0;
  move.source_offsets = move.destination_offsets = &any;
  move.check_overlap = false;
  return parts * engine.WorkspaceBytes(move);
}

absl::Status PartMoves::Begin(int64_t most_intervals) {
  most_intervals_ = most_intervals;
  const auto parts = static_cast<int64_t>(cuts_.size());
  const absl::StatusOr<void*> memory = stream_.AllocateHost(most_intervals * IntervalBytes(parts));
  if (!memory.ok()) return memory.status();
  for (int64_t i = 0; i < parts; ++i) {
    cuts_[static_cast<size_t>(i)].h_numbers = static_cast<int64_t*>(*memory) + i * kNumbers * most_intervals;
  }
  return absl::OkStatus();
}

void PartMoves::Add(int64_t from, int64_t to, int64_t count) {
  const auto ends_after = [](int64_t element, const Cut& cut) { return element < cut.part.end; };
  for (auto cut = std::upper_bound(cuts_.begin(), cuts_.end(), from, ends_after); count > 0; ++cut) {
    const int64_t taken = std::min(count, cut->part.end - from);
    int64_t* const numbers = cut->h_numbers + cut->intervals++;
    numbers[0] = from - cut->part.begin;
    numbers[most_intervals_] = to;
    numbers[2 * most_intervals_] = taken;
    cut->total += taken;
    from += taken;
    to += taken;
    count -= taken;
  }
}

absl::Status PartMoves::Copy() {
  for (Cut& cut : cuts_) {
    if (cut.intervals == 0) continue;
    const int64_t bytes = cut.intervals * static_cast<int64_t>(sizeof(int64_t));
    const absl::StatusOr<void*> memory = stream_.AllocateDevice(kNumbers * bytes);
    if (!memory.ok()) return memory.status();
    auto* const d_numbers = static_cast<int64_t*>(*memory);
    for (int64_t i = 0; i < kNumbers; ++i) {
      absl::Status copied =
          stream_.CopyToDevice(d_numbers + i * cut.intervals, cut.h_numbers + i * most_intervals_, bytes);
      if (!copied.ok()) return copied;
    }
    cut.d_numbers = d_numbers;
  }
  return absl::OkStatus();
}

absl::Status PartMoves::Run(MoveArgs args, OperatorReport* report) const {
  args.check_overlap = false;
  for (const Cut& cut : cuts_) {
    if (cut.intervals == 0) continue;
    args.source = cut.part.elements;
    args.source_offsets = cut.d_numbers;
    args.destination_offsets = cut.d_numbers + cut.intervals;
    args.counts = cut.d_numbers + 2 * cut.intervals;
    args.interval_count = cut.intervals;
    args.total = cut.total;
    absl::Status enqueued = stream_.Move(args, report);
    if (!enqueued.ok()) return enqueued;
  }
  return absl::OkStatus();
}

}  // namespace corank
