#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/engine/cases.h"
#include "bench/harness/inputs.h"
#include "bench/harness/intervals.h"

namespace corank::bench {
namespace {

struct MoveData {
  IntervalSet intervals;
  std::vector<uint32_t> source, ours, reference;
};

absl::StatusOr<Contest> PrepareMove(Row row, int64_t mean, EngineStream* stream) {
  auto data = std::make_shared<MoveData>();
  data->intervals = MakeShuffledIntervals(row.n, mean);
  for (int64_t i = 0; i < row.n; ++i) data->source.push_back(static_cast<uint32_t>(Scramble(static_cast<uint64_t>(i))));
  data->ours.resize(data->source.size());
  data->reference.resize(data->source.size());

  Contest contest;
  contest.contestants.push_back({"corank", [data, stream] {
                                   MoveArgs args;
                                   args.source = data->source.data();
                                   args.destination = data->ours.data();
                                   args.element_bytes = sizeof(uint32_t);
                                   args.source_offsets = data->intervals.source_offsets.data();
                                   args.destination_offsets = data->intervals.destination_offsets.data();
                                   args.counts = data->intervals.counts.data();
                                   args.interval_count = static_cast<int64_t>(data->intervals.counts.size());
                                   args.total = static_cast<int64_t>(data->source.size());
                                   args.check_overlap = false;
                                   return TimeOnStream(stream, [args](EngineStream* on, OperatorReport* report) {
                                     return on->Move(args, report);
                                   });
                                 }});
  contest.contestants.push_back({"memcpy", [data]() -> absl::StatusOr<double> {
                                   const IntervalSet& set = data->intervals;
                                   const absl::Time start = absl::Now();
                                   for (size_t i = 0; i < set.counts.size(); ++i) {
                                     std::memcpy(data->reference.data() + set.destination_offsets[i],
                                                 data->source.data() + set.source_offsets[i],
                                                 static_cast<size_t>(set.counts[i]) * sizeof(uint32_t));
                                   }
                                   return absl::ToDoubleSeconds(absl::Now() - start);
                                 }});
  contest.check = [data] {
    return data->ours == data->reference ? absl::OkStatus() : absl::InternalError("the answer is not memcpy's");
  };
  contest.rows = [row, mean](const std::vector<Summary>& seconds) {
    const double bytes = 2.0 * sizeof(uint32_t) * static_cast<double>(row.n);
    Row line = row;
    line.reference_name = "memcpy in a loop, 1 thread";
    line.note = "read + write, without the intervals; overlap check off";
    line.ours = GigaPerSecond(seconds[0], bytes);
    line.reference = GigaPerSecond(seconds[1], bytes);
    if (mean == 16) line.RequireRatio(1.5);
    return std::vector<Row>{line};
  };
  return contest;
}

}  // namespace

void AddIntervalCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  for (const int64_t mean : {int64_t{1}, int64_t{16}, int64_t{1024}}) {
    Case entry;
    Row& row = entry.failure_row;
    row.row = "move intervals";
    row.type = "u32";
    row.n = int64_t{1} << options.log2_count;
    row.distribution = absl::StrCat("mean ", mean);
    row.unit = "GB/s";
    entry.name = absl::StrCat("move/mean", mean);
    entry.repetitions = options.repetitions;
    entry.prepare = [row, mean, stream] { return PrepareMove(row, mean, stream); };
    cases->push_back(std::move(entry));
  }
}

}  // namespace corank::bench
