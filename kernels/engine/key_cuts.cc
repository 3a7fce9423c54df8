#include "kernels/engine/key_cuts.h"

#include <algorithm>
#include <utility>

#include "kernels/common/co_ranks.h"
#include "kernels/common/key_order.h"
#include "kernels/engine/alignment.h"
#include "kernels/engine/range_copier.h"

namespace corank {
namespace {

constexpr int64_t kWhole = 1;

std::vector<int64_t> RowsOf(const std::vector<MergeInput>& runs) {
  std::vector<int64_t> rows;
  for (const MergeInput& run : runs) rows.push_back(run.count);
  return rows;
}

// Of a run. The fewer rows all runs have, the closer are their samples.
int64_t MostSamples(int64_t rows, int64_t runs, int64_t positions) {
  return CutRanges::MostSamples(rows, std::max<int64_t>(0, runs * (rows - 1)), runs, positions, kWhole);
}

}  // namespace

KeyCuts::KeyCuts(KeyType key_type, Order order, std::vector<MergeInput> runs, const std::vector<int64_t>& positions)
    : key_type_(key_type),
      order_(order),
      runs_(std::move(runs)),
      positions_(positions.size()),
      ranges_(RowsOf(runs_), positions, kWhole),
      samples_(runs_.size()),
      copied_(runs_.size()) {}

int64_t KeyCuts::DeviceBytes(KeyType key_type, int64_t rows, int64_t runs, int64_t positions, const Engine& engine) {
  const auto bytes = [&](int64_t ranges, int64_t keys) {
    return RangeCopier::RangesBytes(ranges) + RangeCopier::DeviceBytes(KeyBytes(key_type), ranges, keys, engine);
  };
  const int64_t samples = MostSamples(rows, runs, positions);
  return std::max(bytes(samples, samples),
                  bytes(positions, CutRanges::MostRows(rows, runs * rows, runs, positions, kWhole)));
}

int64_t KeyCuts::HostBytes(KeyType key_type, int64_t rows, int64_t runs, int64_t positions) {
  const auto bytes = [&](int64_t ranges, int64_t keys) {
    const int64_t blocks = 4 * runs;  // each begins aligned
    return RangeCopier::RangesBytes(ranges) + keys * KeyBytes(key_type) + blocks * kArrayAlignment;
  };
  const int64_t samples = runs * MostSamples(rows, runs, positions);
  return std::max(bytes(samples, samples),
                  bytes(runs * positions, CutRanges::MostRowsOfAll(runs * rows, runs, positions, kWhole)));
}

absl::Status KeyCuts::CopyToHost(size_t run, const Ranges& rows, EngineStream& stream,
                                 std::vector<MergeInput>& copies) {
  copies[run].count = rows.end();
  if (rows.total() == 0) return absl::OkStatus();
  RangeCopier copier(&stream, rows);
  const absl::StatusOr<char*> keys = copier.CopyToHost(runs_[run].keys, KeyBytes(key_type_), &reports_.emplace_back());
  if (keys.ok()) copies[run].keys = *keys;
  return keys.status();
}

CutRanges::Search KeyCuts::SearchOf(const std::vector<MergeInput>& keys) const {
  return [this, &keys](const std::vector<int64_t>& begin, int64_t steps) {
    std::vector<int64_t> low(keys.size()), high(keys.size()), end(keys.size());
    WithKeyOrder(key_type_, order_, [&](const auto& order) {
      using Bits = decltype(order.Encode(0));
      CoRanks<Bits>(keys.data(), static_cast<int32_t>(keys.size()), order, begin.data(), steps, low.data(), high.data(),
                    end.data());
    });
    return end;
  };
}

absl::Status KeyCuts::CopySamples(size_t run, EngineStream& stream) {
  Ranges rows;
  const int64_t samples = ranges_.Samples(run);
  for (int64_t sample = 0; sample < samples; ++sample) rows.Add(sample * ranges_.space(), 1, 1);
  return CopyToHost(run, rows, stream, samples_);
}

absl::Status KeyCuts::CopyRanges(size_t run, EngineStream& stream) {
  Ranges rows;
  for (const std::vector<CutRanges::Range>& ranges : ranges_.ranges()) {
    const int64_t count = ranges[run].end - ranges[run].begin;
    if (count > 0) rows.Add(ranges[run].begin, count, count);
  }
  return CopyToHost(run, rows, stream, copied_);
}

void KeyCuts::Find(int64_t* cuts) const {
  std::vector<MergeInput> keys = copied_;
  const CutRanges::Search search = SearchOf(keys);
  for (size_t position = 0; position < positions_; ++position) {
    const std::vector<CutRanges::Range>& ranges = ranges_.ranges()[position];
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i].count = ranges[i].fetched_to + ranges[i].end - ranges[i].begin;
    }
    const std::vector<int64_t> cut = ranges_.At(position, search);
    cuts = std::copy(cut.begin(), cut.end(), cuts);
  }
}

}  // namespace corank
