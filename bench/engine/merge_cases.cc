#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/engine/cases.h"
#include "bench/harness/inputs.h"

namespace corank::bench {
namespace {

template <typename Bits>
struct MergeData {
  std::vector<Bits> a, b, ours, reference;
};

template <typename Bits>
absl::StatusOr<Contest> PrepareMerge(Row row, EngineStream* stream) {
  auto data = std::make_shared<MergeData<Bits>>();
  InputSpec spec;
  spec.distribution = Distribution::kSorted;
  spec.count = row.n / 2;
  for (int64_t i = 0; i < spec.count; ++i) data->a.push_back(InputKey<Bits>(spec, i));
  spec.seed = 2;
  for (int64_t i = 0; i < spec.count; ++i) data->b.push_back(InputKey<Bits>(spec, i));
  data->ours.resize(data->a.size() + data->b.size());
  data->reference.resize(data->ours.size());

  Contest contest;
  contest.contestants.push_back(
      {"corank", [data, stream] {
         const MergeInput inputs[] = {{data->a.data(), nullptr, static_cast<int64_t>(data->a.size())},
                                      {data->b.data(), nullptr, static_cast<int64_t>(data->b.size())}};
         MergeArgs args;
         args.key_type = sizeof(Bits) == 4 ? KeyType::kUint32 : KeyType::kUint64;
         args.inputs = inputs;
         args.input_count = 2;
         args.keys_out = data->ours.data();
         return TimeOnStream(stream,
                             [&args](EngineStream* on, OperatorReport* report) { return on->Merge(args, report); });
       }});
  contest.contestants.push_back({"std::merge", [data]() -> absl::StatusOr<double> {
                                   const absl::Time start = absl::Now();
                                   std::merge(data->a.begin(), data->a.end(), data->b.begin(), data->b.end(),
                                              data->reference.begin());
                                   return absl::ToDoubleSeconds(absl::Now() - start);
                                 }});
  contest.check = [data] {
    return data->ours == data->reference ? absl::OkStatus() : absl::InternalError("the answer is not std::merge's");
  };
  contest.rows = [row](const std::vector<Summary>& seconds) {
    Row line = row;
    line.reference_name = "std::merge, 1 thread";
    line.note = "ours checks that the inputs are sorted";
    line.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    line.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
    line.RequireRatio(3.0);
    return std::vector<Row>{line};
  };
  return contest;
}

template <typename Bits>
void AddMerge(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "merge";
  row.type = absl::StrCat("u", 8 * sizeof(Bits));
  row.n = int64_t{1} << options.log2_count;
  row.distribution = "uniform halves";
  row.unit = "Gkeys/s";
  entry.name = absl::StrCat("merge/", row.type);
  entry.repetitions = options.repetitions;
  entry.prepare = [row, stream] { return PrepareMerge<Bits>(row, stream); };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddMergeCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  AddMerge<uint32_t>(options, stream, cases);
  AddMerge<uint64_t>(options, stream, cases);
}

}  // namespace corank::bench
