#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
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
constexpr KeyType UnsignedType() {
  return sizeof(Bits) == 1   ? KeyType::kUint8
         : sizeof(Bits) == 2 ? KeyType::kUint16
         : sizeof(Bits) == 4 ? KeyType::kUint32
                             : KeyType::kUint64;
}

template <typename Bits>
std::vector<Bits> MakeKeys(Distribution distribution, int64_t count) {
  InputSpec spec;
  spec.distribution = distribution;
  spec.count = count;
  std::vector<Bits> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[static_cast<size_t>(i)] = InputKey<Bits>(spec, i);
  return keys;
}

template <typename Fn>
double SecondsOf(Fn&& fn) {
  const absl::Time start = absl::Now();
  fn();
  return absl::ToDoubleSeconds(absl::Now() - start);
}

template <typename Bits>
struct KeyData {
  std::vector<Bits> input, ours, reference, vqsort;
};

/// Our sort of keys beside std::sort and, if Highway has this width, VQSort.
template <typename Bits>
absl::StatusOr<Contest> PrepareKeys(Row row, Distribution distribution, EngineStream* stream) {
  auto data = std::make_shared<KeyData<Bits>>();
  data->input = MakeKeys<Bits>(distribution, row.n);
  data->ours.resize(data->input.size());

  Contest contest;
  contest.contestants.push_back({"corank", [data, stream] {
                                   SortArgs args;
                                   args.key_type = UnsignedType<Bits>();
                                   args.count = static_cast<int64_t>(data->input.size());
                                   args.keys_in = data->input.data();
                                   args.keys_out = data->ours.data();
                                   return TimeOnStream(stream, [args](EngineStream* on, OperatorReport* report) {
                                     return on->Sort(args, report);
                                   });
                                 }});
  contest.contestants.push_back({"std::sort", [data]() -> absl::StatusOr<double> {
                                   data->reference = data->input;
                                   return SecondsOf([&] { std::sort(data->reference.begin(), data->reference.end()); });
                                 }});
  if constexpr (sizeof(Bits) > 1) {
    contest.contestants.push_back(
        {"VQSort", [data]() -> absl::StatusOr<double> {
           static const auto* const sorter = new hwy::Sorter;
           data->vqsort = data->input;
           return SecondsOf([&] { (*sorter)(data->vqsort.data(), data->vqsort.size(), hwy::SortAscending()); });
         }});
  }
  contest.check = [data] {
    return data->ours == data->reference ? absl::OkStatus() : absl::InternalError("the answer is not std::sort's");
  };
  const bool has_goal = distribution == Distribution::kUniform;
  contest.rows = [row, has_goal](const std::vector<Summary>& seconds) {
    const double work = static_cast<double>(row.n);
    std::vector<Row> rows;
    for (size_t i = 1; i < seconds.size(); ++i) {
      Row line = row;
      line.reference_name = i == 1 ? "std::sort, 1 thread" : "VQSort (Highway 1.0.3), 1 thread";
      line.ours = GigaPerSecond(seconds[0], work);
      line.reference = GigaPerSecond(seconds[i], work);
      if (has_goal) line.RequireRatio(i == 1 ? 8.0 : 1.5);
      rows.push_back(std::move(line));
    }
    return rows;
  };
  return contest;
}

template <typename Bits>
void AddKeys(Distribution distribution, const EngineBenchOptions& options, EngineStream* stream,
             std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort keys";
  row.type = absl::StrCat("u", 8 * sizeof(Bits));
  row.n = int64_t{1} << options.log2_count;
  row.distribution = DistributionName(distribution);
  row.unit = "Gkeys/s";
  entry.name = absl::StrCat("sort/", row.type, "/", row.distribution);
  entry.repetitions = options.repetitions;
  entry.prepare = [row, distribution, stream] { return PrepareKeys<Bits>(row, distribution, stream); };
  cases->push_back(std::move(entry));
}

template <typename Bits>
struct Pair {
  Bits key;
  uint32_t value;
};

template <typename Bits>
struct PairData {
  std::vector<Bits> keys, keys_out;
  std::vector<uint32_t> values, values_out;
  std::vector<Pair<Bits>> input, reference;
};

/// Our sort of keys and values in two arrays beside std::stable_sort of structs.
template <typename Bits>
absl::StatusOr<Contest> PreparePairs(Row row, EngineStream* stream) {
  auto data = std::make_shared<PairData<Bits>>();
  data->keys = MakeKeys<Bits>(Distribution::kUniform, row.n);
  data->keys_out.resize(data->keys.size());
  data->values_out.resize(data->keys.size());
  for (size_t i = 0; i < data->keys.size(); ++i) {
    data->values.push_back(static_cast<uint32_t>(i));
    data->input.push_back({data->keys[i], static_cast<uint32_t>(i)});
  }

  Contest contest;
  contest.contestants.push_back({"corank", [data, stream] {
                                   SortArgs args;
                                   args.key_type = UnsignedType<Bits>();
                                   args.count = static_cast<int64_t>(data->keys.size());
                                   args.keys_in = data->keys.data();
                                   args.keys_out = data->keys_out.data();
                                   args.values_in = data->values.data();
                                   args.values_out = data->values_out.data();
                                   args.value_bytes = sizeof(uint32_t);
                                   return TimeOnStream(stream, [args](EngineStream* on, OperatorReport* report) {
                                     return on->Sort(args, report);
                                   });
                                 }});
  contest.contestants.push_back({"std::stable_sort", [data]() -> absl::StatusOr<double> {
                                   data->reference = data->input;
                                   return SecondsOf([&] {
                                     std::stable_sort(
                                         data->reference.begin(), data->reference.end(),
                                         [](const Pair<Bits>& a, const Pair<Bits>& b) { return a.key < b.key; });
                                   });
                                 }});
  contest.check = [data] {
    for (size_t i = 0; i < data->reference.size(); ++i) {
      if (data->keys_out[i] != data->reference[i].key || data->values_out[i] != data->reference[i].value) {
        return absl::InternalError(absl::StrCat("the answer is not std::stable_sort's at ", i));
      }
    }
    return absl::OkStatus();
  };
  contest.rows = [row](const std::vector<Summary>& seconds) {
    Row line = row;
    line.reference_name = "std::stable_sort of structs, 1 thread";
    line.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    line.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
    line.RequireRatio(4.0);
    return std::vector<Row>{line};
  };
  return contest;
}

template <typename Bits>
void AddPairs(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "sort pairs";
  row.type = absl::StrCat("u", 8 * sizeof(Bits), "+u32");
  row.n = int64_t{1} << options.log2_count;
  row.distribution = DistributionName(Distribution::kUniform);
  row.unit = "Gpairs/s";
  entry.name = absl::StrCat("sort/", row.type, "/uniform");
  entry.repetitions = options.repetitions;
  entry.prepare = [row, stream] { return PreparePairs<Bits>(row, stream); };
  cases->push_back(std::move(entry));
}

}  // namespace

absl::StatusOr<double> TimeOnStream(EngineStream* stream,
                                    const std::function<absl::Status(EngineStream*, OperatorReport*)>& work) {
  OperatorReport report;
  absl::Status status;
  const absl::Time start = absl::Now();
  status.Update(stream->Begin());
  status.Update(stream->EndCopyIn());
  status.Update(work(stream, &report));
  status.Update(stream->EndKernels());
  const auto times = stream->Finish();
  const absl::Duration elapsed = absl::Now() - start;
  status.Update(times.status());
  if (!status.ok()) return status;
  if (report.fault != OperatorReport::Fault::kNone) return absl::InternalError("the engine reports a faulty input");
  return absl::ToDoubleSeconds(elapsed);
}

void AddSortCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  AddKeys<uint8_t>(Distribution::kUniform, options, stream, cases);
  AddKeys<uint16_t>(Distribution::kUniform, options, stream, cases);
  for (const Distribution distribution : kAllDistributions) {
    if (distribution == Distribution::kMergeAdversary) continue;  // there are no banks on a CPU
    AddKeys<uint32_t>(distribution, options, stream, cases);
  }
  AddKeys<uint64_t>(Distribution::kUniform, options, stream, cases);
  AddKeys<uint64_t>(Distribution::kSixteenBits, options, stream, cases);
  AddPairs<uint32_t>(options, stream, cases);
  AddPairs<uint64_t>(options, stream, cases);
}

}  // namespace corank::bench
