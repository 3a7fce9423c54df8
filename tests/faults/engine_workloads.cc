#include "tests/faults/engine_workloads.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "server/execute/status_macros.h"
#include "tests/support/distributions.h"
#include "tests/support/oracles.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

using WorkloadRun = std::function<absl::Status(EngineStream& stream, std::vector<Bytes>* outputs)>;

Bytes AsBytes(const std::vector<int64_t>& numbers) {
  const auto* begin = reinterpret_cast<const uint8_t*>(numbers.data());
  return Bytes(begin, begin + numbers.size() * sizeof(int64_t));
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// One request. Inputs are copied to pinned memory first, as payloads are.
class Request {
 public:
  explicit Request(EngineStream* stream) : stream_(stream) {}

  absl::StatusOr<const void*> Input(const Bytes& bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    CORANK_ASSIGN_OR_RETURN(void* const h_bytes, stream_->AllocateHost(size));
    std::memcpy(h_bytes, bytes.data(), bytes.size());
    return stream_->Upload(h_bytes, size);
  }
  absl::StatusOr<const int64_t*> Numbers(const std::vector<int64_t>& numbers) {
    CORANK_ASSIGN_OR_RETURN(const void* const d_bytes, Input(AsBytes(numbers)));
    return static_cast<const int64_t*>(d_bytes);
  }
  absl::StatusOr<void*> Output(int64_t bytes) {
    CORANK_ASSIGN_OR_RETURN(const ResultBuffer result, stream_->AllocateResult(bytes));
    outputs_.emplace_back(result, bytes);
    return result.device;
  }

  template <typename Args>
  absl::Status Run(absl::Status (EngineStream::*run)(const Args&, OperatorReport*), const Args& args) {
    CORANK_RETURN_IF_ERROR(stream_->EndCopyIn());
    CORANK_RETURN_IF_ERROR((stream_->*run)(args, &report_));
    CORANK_RETURN_IF_ERROR(stream_->EndKernels());
    for (const auto& [result, bytes] : outputs_) CORANK_RETURN_IF_ERROR(stream_->Download(result, bytes));
    return absl::OkStatus();
  }
  void Collect(std::vector<Bytes>* outputs) const {
    outputs->clear();
    for (const auto& [result, bytes] : outputs_) {
      const auto* begin = static_cast<const uint8_t*>(result.host);
      outputs->emplace_back(begin, begin + bytes);
    }
  }
  const OperatorReport& report() const { return report_; }
  EngineStream& stream() { return *stream_; }

 private:
  EngineStream* const stream_;
  std::vector<std::pair<ResultBuffer, int64_t>> outputs_;
  OperatorReport report_;
};

// `enqueue` does all between Begin and Finish.
WorkloadRun Whole(std::function<absl::Status(Request&)> enqueue, Pace pace = Pace::kPhases) {
  return [enqueue = std::move(enqueue), pace](EngineStream& stream, std::vector<Bytes>* outputs) -> absl::Status {
    CORANK_RETURN_IF_ERROR(stream.Begin(pace));
    Request request(&stream);
    const absl::Status enqueued = enqueue(request);
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    if (request.report().fault != OperatorReport::Fault::kNone) return absl::DataLossError("a fault is reported");
    request.Collect(outputs);
    return absl::OkStatus();
  };
}

struct SortOf {
  KeyType type = KeyType::kUint32;
  SortAlgorithm algorithm = SortAlgorithm::kAuto;
  int64_t count = 3000;
  Distribution distribution = Distribution::kUniform;
  int value_bytes = 0;
  bool indices = false;
  std::vector<int64_t> segment_offsets;
  int64_t limit = -1;
  Pace pace = Pace::kPhases;
};

WorkloadRun Sort(const SortOf& of) {
  const Bytes keys = MakeKeys(of.type, of.distribution, of.count, 1);
  const Bytes values = MakeBytes(of.count * of.value_bytes, 2);
  return Whole(
      [of, keys, values](Request& request) -> absl::Status {
        SortArgs args;
        args.key_type = of.type;
        args.algorithm = of.algorithm;
        args.count = of.count;
        args.limit = of.limit;
        const int64_t results = args.ResultCount();
        CORANK_ASSIGN_OR_RETURN(args.keys_in, request.Input(keys));
        CORANK_ASSIGN_OR_RETURN(args.keys_out, request.Output(results * KeyBytes(of.type)));
        if (of.value_bytes > 0) {
          args.value_bytes = of.value_bytes;
          CORANK_ASSIGN_OR_RETURN(args.values_in, request.Input(values));
          CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(results * of.value_bytes));
        }
        if (of.indices) {
          CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(results * IndexBytes(of.count - 1)));
        }
        if (!of.segment_offsets.empty()) {
          CORANK_ASSIGN_OR_RETURN(args.segment_offsets, request.Numbers(of.segment_offsets));
          args.segment_count = static_cast<int64_t>(of.segment_offsets.size()) - 1;
        }
        return request.Run(&EngineStream::Sort, args);
      },
      of.pace);
}

WorkloadRun SortEach() {
  constexpr int64_t kCount = 1000;
  const Bytes keys = MakeKeys(KeyType::kFloat64, Distribution::kUniform, kCount, 1);
  return Whole(
      [keys](Request& request) -> absl::Status {
        std::vector<SortArgs> sorts(3);
        std::vector<OperatorReport> reports(sorts.size());
        for (SortArgs& args : sorts) {
          args.key_type = KeyType::kFloat64;
          args.count = kCount;
          CORANK_ASSIGN_OR_RETURN(args.keys_in, request.Input(keys));
          CORANK_ASSIGN_OR_RETURN(args.keys_out, request.Output(kCount * KeyBytes(args.key_type)));
        }
        return request.stream().SortEach(sorts, reports.data());
      },
      Pace::kBrief);
}

WorkloadRun SortColumns() {
  constexpr int64_t kRows = 20000;
  std::vector<std::string> strings;
  for (int64_t i = 0; i < kRows; ++i) strings.push_back("row " + std::to_string(i * 7919 % 97) + " of many");
  const TestColumn columns[] = {
      StringColumn(Order::kDescending, strings),
      NumberColumn(KeyType::kInt16, Order::kAscending, MakeKeys(KeyType::kInt16, Distribution::kZipf, kRows, 3))};
  return Whole([text = columns[0], numbers = columns[1]](Request& request) -> absl::Status {
    KeyColumn keys[2];
    keys[0].kind = ColumnKind::kStrings;
    keys[0].order = text.order;
    CORANK_ASSIGN_OR_RETURN(keys[0].data, request.Input(text.data));
    CORANK_ASSIGN_OR_RETURN(keys[0].offsets, request.Numbers(text.offsets));
    keys[0].data_bytes = static_cast<int64_t>(text.data.size());
    CORANK_ASSIGN_OR_RETURN(keys[0].data_out, request.Output(keys[0].data_bytes));
    CORANK_ASSIGN_OR_RETURN(void* const offsets_out, request.Output((kRows + 1) * int64_t{sizeof(int64_t)}));
    keys[0].offsets_out = static_cast<int64_t*>(offsets_out);
    keys[1].kind = ColumnKind::kNumbers;
    keys[1].type = numbers.type;
    keys[1].row_bytes = numbers.row_bytes;
    CORANK_ASSIGN_OR_RETURN(keys[1].data, request.Input(numbers.data));
    CORANK_ASSIGN_OR_RETURN(keys[1].data_out, request.Output(static_cast<int64_t>(numbers.data.size())));
    ColumnSortArgs args;
    args.columns = keys;
    args.column_count = 2;
    args.count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(kRows * IndexBytes(kRows - 1)));
    return request.Run(&EngineStream::SortColumns, args);
  });
}

WorkloadRun Merge(KeyType type, MergeAlgorithm algorithm, int inputs, int value_bytes) {
  constexpr int64_t kCount = 9000;
  std::vector<Bytes> keys, values;
  for (int i = 0; i < inputs; ++i) {
    keys.push_back(MakeKeys(type, Distribution::kSorted, kCount, static_cast<uint64_t>(i)));
    values.push_back(MakeBytes(kCount * value_bytes, static_cast<uint64_t>(i)));
  }
  return Whole([=](Request& request) -> absl::Status {
    std::vector<MergeInput> merged(static_cast<size_t>(inputs));
    for (size_t i = 0; i < merged.size(); ++i) {
      merged[i].count = kCount;
      CORANK_ASSIGN_OR_RETURN(merged[i].keys, request.Input(keys[i]));
      if (value_bytes > 0) {
        CORANK_ASSIGN_OR_RETURN(merged[i].values, request.Input(values[i]));
      }
    }
    MergeArgs args;
    args.key_type = type;
    args.algorithm = algorithm;
    args.inputs = merged.data();
    args.input_count = inputs;
    args.value_bytes = value_bytes;
    CORANK_ASSIGN_OR_RETURN(args.keys_out, request.Output(args.TotalCount() * KeyBytes(type)));
    if (value_bytes > 0) {
      CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(args.TotalCount() * value_bytes));
    }
    return request.Run(&EngineStream::Merge, args);
  });
}

WorkloadRun SplitRuns() {
  constexpr int64_t kCount = 5000;
  return [](EngineStream& stream, std::vector<Bytes>* outputs) -> absl::Status {
    const std::vector<int64_t> positions = {0, 1, 777, 4096, 3 * kCount};
    std::vector<int64_t> splits(positions.size() * 3, -1);
    CORANK_RETURN_IF_ERROR(stream.Begin());
    Request request(&stream);
    const absl::Status enqueued = [&]() -> absl::Status {
      MergeInput inputs[3];
      for (uint64_t i = 0; i < 3; ++i) {
        inputs[i].count = kCount;
        CORANK_ASSIGN_OR_RETURN(inputs[i].keys,
                                request.Input(MakeKeys(KeyType::kUint32, Distribution::kSorted, kCount, i)));
      }
      SplitArgs args;
      args.inputs = inputs;
      args.input_count = 3;
      args.positions = positions.data();
      args.position_count = static_cast<int64_t>(positions.size());
      args.splits = splits.data();
      return stream.SplitRuns(args);
    }();
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    *outputs = {AsBytes(splits)};
    return absl::OkStatus();
  };
}

std::vector<int64_t> Counts() {
  Random random(1);
  std::vector<int64_t> counts(3000);
  for (int64_t& count : counts) count = random.OneIn(3) ? 0 : random.Below(40);
  return counts;
}

WorkloadRun Expand() {
  const std::vector<int64_t> counts = Counts();
  const Bytes values = MakeBytes(static_cast<int64_t>(counts.size()) * 3, 1);
  return Whole([counts, values](Request& request) -> absl::Status {
    ExpandArgs args;
    args.element_bytes = 3;
    args.interval_count = static_cast<int64_t>(counts.size());
    args.total = Sum(counts);
    CORANK_ASSIGN_OR_RETURN(args.values, request.Input(values));
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN(args.out, request.Output(args.total * args.element_bytes));
    return request.Run(&EngineStream::Expand, args);
  });
}

// To every destination in reverse, so that none is dense.
WorkloadRun Move(int64_t interval_count, int64_t interval_length) {
  const std::vector<int64_t> counts(static_cast<size_t>(interval_count), interval_length);
  std::vector<int64_t> to(counts.size());
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<int64_t>(to.size() - 1 - i) * interval_length;
  const int64_t total = interval_count * interval_length;
  const Bytes source = MakeBytes(total * 4, 1);
  return Whole([=](Request& request) -> absl::Status {
    MoveArgs args;
    args.interval_count = interval_count;
    args.total = args.destination_count = total;
    CORANK_ASSIGN_OR_RETURN(args.source, request.Input(source));
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN(args.destination_offsets, request.Numbers(to));
    CORANK_ASSIGN_OR_RETURN(args.destination, request.Output(total * 4));
    CORANK_RETURN_IF_ERROR(request.stream().Zero(args.destination, total * 4));
    return request.Run(&EngineStream::Move, args);
  });
}

WorkloadRun LoadBalance() {
  const std::vector<int64_t> counts = Counts();
  return Whole([counts](Request& request) -> absl::Status {
    LoadBalanceArgs args;
    args.object_count = static_cast<int64_t>(counts.size());
    args.total = Sum(counts);
    CORANK_ASSIGN_OR_RETURN(args.counts, request.Numbers(counts));
    CORANK_ASSIGN_OR_RETURN(args.objects_out, request.Output(args.total * args.IndexWidth()));
    CORANK_ASSIGN_OR_RETURN(args.ranks_out, request.Output(args.total * args.IndexWidth()));
    return request.Run(&EngineStream::LoadBalance, args);
  });
}

WorkloadRun Search() {
  constexpr int64_t kCount = 20000;
  const Bytes haystack = MakeKeys(KeyType::kFloat64, Distribution::kSorted, kCount, 1);
  const Bytes needles = MakeKeys(KeyType::kFloat64, Distribution::kUniform, kCount, 2);
  return Whole([=](Request& request) -> absl::Status {
    SearchArgs args;
    args.key_type = KeyType::kFloat64;
    args.haystack_count = args.needle_count = kCount;
    CORANK_ASSIGN_OR_RETURN(args.haystack, request.Input(haystack));
    CORANK_ASSIGN_OR_RETURN(args.needles, request.Input(needles));
    CORANK_ASSIGN_OR_RETURN(args.positions_out, request.Output(kCount * IndexBytes(kCount)));
    return request.Run(&EngineStream::Search, args);
  });
}

// Copies alone, in both directions and between two places of the device.
WorkloadRun Copies() {
  const Bytes bytes = MakeBytes(100'000, 1);
  return [bytes](EngineStream& stream, std::vector<Bytes>* outputs) -> absl::Status {
    const auto size = static_cast<int64_t>(bytes.size());
    Bytes back(bytes.size());
    CORANK_RETURN_IF_ERROR(stream.Begin());
    const absl::Status enqueued = [&]() -> absl::Status {
      CORANK_ASSIGN_OR_RETURN(void* const d_one, stream.AllocateDevice(size));
      CORANK_ASSIGN_OR_RETURN(void* const d_other, stream.AllocateDevice(size));
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(d_one, bytes.data(), size));
      CORANK_RETURN_IF_ERROR(stream.Copy(d_other, d_one, size));
      CORANK_RETURN_IF_ERROR(stream.Iota(d_other, /*element_bytes=*/8, /*first=*/5, /*count=*/100));
      return stream.CopyToHost(back.data(), d_other, size);
    }();
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    *outputs = {back};
    return absl::OkStatus();
  };
}

}  // namespace

std::vector<Workload> EngineWorkloads() {
  constexpr int64_t kMany = 1 << 21;  // beyond the small sorts
  const auto sort = [](auto change) {
    SortOf of;
    change(of);
    return Sort(of);
  };
  return {
      {"brief sort", sort([](SortOf& of) { of.count = 1000, of.pace = Pace::kBrief; })},
      {"sort of each", SortEach()},
      {"small sort", sort([](SortOf&) {})},
      {"cluster sort", sort([](SortOf& of) { of.count = 100'000; })},
      {"sort by digits", sort([](SortOf& of) { of.count = kMany, of.algorithm = SortAlgorithm::kRadix; })},
      {"mergesort", sort([](SortOf& of) { of.count = kMany, of.algorithm = SortAlgorithm::kMergesort; })},
      {"odd-even mergesort", sort([](SortOf& of) { of.algorithm = SortAlgorithm::kOddEvenMergesort; })},
      {"sort of uniform keys", sort([](SortOf& of) { of.count = kMany; })},
      {"sort of sorted keys", sort([](SortOf& of) { of.count = kMany, of.distribution = Distribution::kSorted; })},
      {"sort of reversed keys", sort([](SortOf& of) { of.count = kMany, of.distribution = Distribution::kReversed; })},
      {"sort of runs", sort([](SortOf& of) { of.count = kMany, of.distribution = Distribution::kRuns; })},
      {"sort of few keys",
       sort([](SortOf& of) { of.count = kMany, of.distribution = Distribution::kSixteenDistinct; })},
      {"sort of 16 live bits",
       sort([](SortOf& of) { of.count = kMany, of.distribution = Distribution::kSixteenBits; })},
      {"sort of floats", sort([](SortOf& of) { of.count = kMany, of.type = KeyType::kFloat32; })},
      {"sort of bytes", sort([](SortOf& of) { of.count = kMany, of.type = KeyType::kInt8; })},
      {"sort with values", sort([](SortOf& of) { of.count = kMany, of.value_bytes = 4; })},
      {"sort with records", sort([](SortOf& of) { of.count = kMany / 8, of.value_bytes = 24; })},
      {"argsort", sort([](SortOf& of) { of.count = kMany, of.indices = true, of.type = KeyType::kUint64; })},
      {"first keys", sort([](SortOf& of) { of.count = kMany, of.limit = 10; })},
      {"sort of segments", sort([](SortOf& of) {
         of.count = 1'000'000, of.segment_offsets = {0, 10, 10, 5000, 300'000, 900'000, 1'000'000};
       })},
      {"sort by columns", SortColumns()},
      {"merge of two", Merge(KeyType::kUint32, MergeAlgorithm::kAuto, 2, 0)},
      {"merge of floats", Merge(KeyType::kFloat32, MergeAlgorithm::kAuto, 2, 0)},
      {"basic merge", Merge(KeyType::kInt64, MergeAlgorithm::kBasic, 2, 4)},
      {"tiled merge", Merge(KeyType::kInt64, MergeAlgorithm::kTiled, 2, 4)},
      {"circular merge", Merge(KeyType::kInt64, MergeAlgorithm::kCircularBuffer, 3, 16)},
      {"merge of forty", Merge(KeyType::kUint16, MergeAlgorithm::kAuto, 40, 8)},
      {"cut of runs", SplitRuns()},
      {"expand", Expand()},
      {"move of short intervals", Move(200'000, 3)},
      {"move of long intervals", Move(5, 50'000)},
      {"load balance", LoadBalance()},
      {"search", Search()},
      {"copies", Copies()},
  };
}

}  // namespace corank::testing
