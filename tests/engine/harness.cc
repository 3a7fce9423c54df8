#include "tests/engine/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/support/guard_zone.h"
#include "tests/support/oracles.h"

namespace corank::testing {
namespace {

Bytes AsBytes(const std::vector<int64_t>& numbers) {
  const auto* begin = reinterpret_cast<const uint8_t*>(numbers.data());
  return Bytes(begin, begin + numbers.size() * sizeof(int64_t));
}

// What an operator must overwrite in its report.
int32_t& Mark(OperatorReport& report) { return report.input; }
int64_t& Mark(GroupReport& report) { return report.groups; }
int64_t& Mark(SelectReport& report) { return report.selected; }
int64_t& Mark(SetReport& report) { return report.count; }
int64_t& Mark(JoinReport& report) { return report.rows; }

template <typename Case>
int64_t ExpectedResults(int64_t count, const Case& test) {
  const std::vector<int64_t> rows(static_cast<size_t>(count));
  return static_cast<int64_t>(FirstOfOrder(rows, test.limit, test.segment_offsets, test.offset).size());
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

}  // namespace

// One request: prepares inputs and guarded outputs, runs, checks.
class Harness::Request {
 public:
  Request(Engine* engine, EngineStream* stream) : engine_(engine), stream_(stream) {
    EXPECT_TRUE(stream_->Begin().ok());
  }

  const void* Input(const Bytes& bytes) {
    if (bytes.empty()) return nullptr;
    inputs_.push_back({&bytes, bytes});
    return Upload(bytes);
  }
  const uint8_t* Owned(Bytes bytes) {
    owned_.push_back(std::make_unique<Bytes>(std::move(bytes)));
    return static_cast<const uint8_t*>(Input(*owned_.back()));
  }
  const int64_t* Numbers(const std::vector<int64_t>& numbers) {
    return reinterpret_cast<const int64_t*>(Owned(AsBytes(numbers)));
  }

  /// A column without outputs.
  KeyColumn Column(const TestColumn& from) {
    KeyColumn column;
    column.kind = from.kind;
    column.type = from.type;
    column.order = from.order;
    column.row_bytes = from.row_bytes;
    column.data = Input(from.data);
    if (from.kind == ColumnKind::kStrings) {
      column.offsets = Numbers(from.offsets);
      column.data_bytes = static_cast<int64_t>(from.data.size());
    }
    column.nulls = from.nulls;
    column.nans = from.nans;
    if (!from.valid.empty()) column.validity = Owned(Bitmap(from.valid, true));
    return column;
  }

  /// Device memory for an output between two guards. `initial`: its previous contents.
  void* Output(int64_t bytes, const Bytes* initial = nullptr) {
    owned_.push_back(std::make_unique<Bytes>(GuardedImage(bytes)));
    if (initial != nullptr) std::copy(initial->begin(), initial->end(), owned_.back()->begin() + kGuardBytes);
    const int64_t image_bytes = bytes + 2 * kGuardBytes;
    absl::StatusOr<ResultBuffer> result = stream_->AllocateResult(image_bytes);
    if (!result.ok()) {
      ADD_FAILURE() << result.status();
      return nullptr;
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(result->device) % 256, 0U);
    const void* image = Upload(*owned_.back());
    EXPECT_TRUE(stream_->Copy(result->device, image, image_bytes).ok());
    outputs_.push_back({*result, bytes});
    return static_cast<char*>(result->device) + kGuardBytes;
  }
  void NoOutput() { outputs_.push_back({ResultBuffer(), -1}); }

  template <typename Args>
  Outcome Run(absl::Status (EngineStream::*run)(const Args&, OperatorReport*), const Args& args) {
    return Run(run, args, &Outcome::report);
  }
  template <typename Args, typename Report>
  Outcome Run(absl::Status (EngineStream::*run)(const Args&, Report*), const Args& args, Report Outcome::*place) {
    Outcome outcome;
    Report& report = outcome.*place;
    Mark(report) = -77;
    EXPECT_TRUE(stream_->EndCopyIn().ok());
    const absl::Status status = (stream_->*run)(args, &report);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(stream_->EndKernels().ok());
    for (const auto& [buffer, bytes] : outputs_) {
      if (bytes >= 0) {
        EXPECT_TRUE(stream_->Download(buffer, bytes + 2 * kGuardBytes).ok());
      }
    }
    const absl::StatusOr<PhaseTimes> times = stream_->Finish();
    EXPECT_TRUE(times.ok()) << times.status();
    if (times.ok()) outcome.times = *times;
    EXPECT_LE(stream_->workspace_bytes(), engine_->WorkspaceBytes(args));
    EXPECT_NE(Mark(report), -77) << "the report was not written";
    for (const auto& [buffer, bytes] : outputs_) {
      outcome.outputs.emplace_back();
      if (bytes < 0 || !times.ok()) continue;
      const auto* image = static_cast<const uint8_t*>(buffer.host);
      EXPECT_TRUE(GuardsAreIntact(image, bytes)) << "output " << outcome.outputs.size() - 1;
      outcome.outputs.back().assign(image + kGuardBytes, image + kGuardBytes + bytes);
    }
    for (const auto& [input, copy] : inputs_) EXPECT_EQ(*input, copy) << "an input was changed";
    return outcome;
  }

 private:
  const void* Upload(const Bytes& bytes) {
    const absl::StatusOr<const void*> device = stream_->Upload(bytes.data(), static_cast<int64_t>(bytes.size()));
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? *device : nullptr;
  }

  Engine* engine_;
  EngineStream* stream_;
  std::vector<std::pair<const Bytes*, Bytes>> inputs_;
  std::vector<std::pair<ResultBuffer, int64_t>> outputs_;
  std::vector<std::unique_ptr<Bytes>> owned_;
};

Harness::Harness(Engine* engine) : engine_(engine) {
  absl::StatusOr<std::unique_ptr<EngineStream>> stream = engine->CreateStream();
  if (!stream.ok()) {
    ADD_FAILURE() << stream.status();
    std::abort();
  }
  stream_ = *std::move(stream);
}

Outcome Harness::Sort(const SortCase& test) {
  Request request(engine_, stream_.get());
  SortArgs args;
  args.key_type = test.type;
  args.order = test.order;
  args.algorithm = test.algorithm;
  args.count = static_cast<int64_t>(test.keys.size()) / KeyBytes(test.type);
  args.limit = test.limit;
  args.offset = test.offset;
  if (!test.segment_offsets.empty()) {
    args.segment_offsets = request.Numbers(test.segment_offsets);
    args.segment_count = static_cast<int64_t>(test.segment_offsets.size()) - 1;
  }
  args.keys_in = request.Input(test.keys);
  const int64_t results = ExpectedResults(args.count, test);
  if (test.want_keys) {
    args.keys_out = request.Output(results * KeyBytes(test.type));
  } else {
    request.NoOutput();
  }
  if (test.value_bytes > 0) {
    args.value_bytes = test.value_bytes;
    args.values_in = request.Input(test.values);
    args.values_out = request.Output(results * test.value_bytes);
  } else {
    request.NoOutput();
  }
  if (test.want_indices) {
    args.indices_out = request.Output(results * IndexBytes(args.count - 1));
  } else {
    request.NoOutput();
  }
  const Outcome outcome = request.Run(&EngineStream::Sort, args);
  EXPECT_EQ(outcome.report.results, results);
  return outcome;
}

Outcome Harness::SortColumns(const ColumnSortCase& test) {
  Request request(engine_, stream_.get());
  ColumnSortArgs args;
  args.algorithm = test.algorithm;
  args.count = test.columns.front().rows();
  args.limit = test.limit;
  args.offset = test.offset;
  if (!test.segment_offsets.empty()) {
    args.segment_offsets = request.Numbers(test.segment_offsets);
    args.segment_count = static_cast<int64_t>(test.segment_offsets.size()) - 1;
  }
  const int64_t results = ExpectedResults(args.count, test);
  if (test.value_bytes > 0) {
    args.value_bytes = test.value_bytes;
    args.values_in = request.Input(test.values);
    args.values_out = request.Output(results * test.value_bytes);
  } else {
    request.NoOutput();
  }
  if (test.want_indices) {
    args.indices_out = request.Output(results * IndexBytes(args.count - 1));
  } else {
    request.NoOutput();
  }
  std::vector<KeyColumn> columns;
  for (const TestColumn& from : test.columns) {
    KeyColumn& column = columns.emplace_back(request.Column(from));
    if (!test.want_columns) continue;
    if (from.kind == ColumnKind::kStrings) {
      column.data_out = request.Output(column.data_bytes);
      column.offsets_out = static_cast<int64_t*>(request.Output((results + 1) * static_cast<int64_t>(sizeof(int64_t))));
    } else {
      column.data_out = request.Output(results * column.row_bytes);
    }
    if (column.validity != nullptr) {
      column.validity_out = static_cast<uint8_t*>(request.Output(ValidityBytes(results)));
    }
  }
  if (test.want_ranks) args.ranks_out = request.Output(args.count * IndexBytes(args.count - 1));
  args.columns = columns.data();
  args.column_count = static_cast<int32_t>(columns.size());
  if (!test.run_offsets.empty()) {
    args.run_offsets = test.run_offsets.data();
    args.run_count = static_cast<int32_t>(test.run_offsets.size()) - 1;
  }
  const Outcome outcome = request.Run(&EngineStream::SortColumns, args);
  EXPECT_TRUE(outcome.report.results == results || outcome.report.fault != OperatorReport::Fault::kNone);
  return outcome;
}

Outcome Harness::Merge(const MergeCase& test) {
  Request request(engine_, stream_.get());
  std::vector<MergeInput> inputs(test.keys.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].count = static_cast<int64_t>(test.keys[i].size()) / KeyBytes(test.type);
    inputs[i].keys = request.Input(test.keys[i]);
    if (test.value_bytes > 0) inputs[i].values = request.Input(test.values[i]);
  }
  MergeArgs args;
  args.key_type = test.type;
  args.order = test.order;
  args.algorithm = test.algorithm;
  args.inputs = inputs.data();
  args.input_count = static_cast<int32_t>(inputs.size());
  args.value_bytes = test.value_bytes;
  args.check_sorted = test.check_sorted;
  args.keys_out = request.Output(args.TotalCount() * KeyBytes(test.type));
  if (test.value_bytes > 0) {
    args.values_out = request.Output(args.TotalCount() * test.value_bytes);
  } else {
    request.NoOutput();
  }
  return request.Run(&EngineStream::Merge, args);
}

Outcome Harness::Expand(const Bytes& values, int element_bytes, const std::vector<int64_t>& counts) {
  Request request(engine_, stream_.get());
  ExpandArgs args;
  args.values = request.Input(values);
  args.element_bytes = element_bytes;
  args.counts = request.Numbers(counts);
  args.interval_count = static_cast<int64_t>(counts.size());
  args.total = Sum(counts);
  args.out = request.Output(args.total * element_bytes);
  return request.Run(&EngineStream::Expand, args);
}

Outcome Harness::Move(const MoveCase& test) {
  Request request(engine_, stream_.get());
  MoveArgs args;
  args.source = request.Input(test.source);
  args.destination = request.Output(static_cast<int64_t>(test.destination.size()), &test.destination);
  if (test.checks_alone) args.destination = nullptr;
  args.element_bytes = test.element_bytes;
  args.source_offsets = request.Numbers(test.source_offsets);
  args.destination_offsets = request.Numbers(test.destination_offsets);
  args.counts = request.Numbers(test.counts);
  args.interval_count = static_cast<int64_t>(test.counts.size());
  args.total = Sum(test.counts);
  args.check_overlap = test.check_overlap;
  args.destination_count = static_cast<int64_t>(test.destination.size()) / test.element_bytes;
  return request.Run(&EngineStream::Move, args);
}

Outcome Harness::LoadBalance(const std::vector<int64_t>& counts, int least_index_bytes) {
  Request request(engine_, stream_.get());
  LoadBalanceArgs args;
  args.counts = request.Numbers(counts);
  args.object_count = static_cast<int64_t>(counts.size());
  args.total = Sum(counts);
  args.least_index_bytes = least_index_bytes;
  args.objects_out = request.Output(args.total * args.IndexWidth());
  args.ranks_out = request.Output(args.total * args.IndexWidth());
  return request.Run(&EngineStream::LoadBalance, args);
}

Outcome Harness::Search(const SearchCase& test) {
  Request request(engine_, stream_.get());
  SearchArgs args;
  args.key_type = test.type;
  args.order = test.order;
  args.bound = test.bound;
  args.haystack = request.Input(test.haystack);
  args.haystack_count = static_cast<int64_t>(test.haystack.size()) / KeyBytes(test.type);
  args.needles = request.Input(test.needles);
  args.needle_count = static_cast<int64_t>(test.needles.size()) / KeyBytes(test.type);
  args.positions_out = request.Output(args.needle_count * IndexBytes(args.haystack_count));
  args.check_sorted = test.check_sorted;
  return request.Run(&EngineStream::Search, args);
}

Outcome Harness::SearchColumns(const ColumnSearchCase& test) {
  Request request(engine_, stream_.get());
  std::vector<KeyColumn> haystack, needles;
  for (const TestColumn& column : test.haystack) haystack.push_back(request.Column(column));
  for (const TestColumn& column : test.needles) needles.push_back(request.Column(column));
  ColumnSearchArgs args;
  args.haystack = haystack.data();
  args.needles = needles.data();
  args.column_count = static_cast<int32_t>(haystack.size());
  args.bound = test.bound;
  args.haystack_count = test.haystack.front().rows();
  args.needle_count = test.needles.front().rows();
  args.positions_out = request.Output(args.needle_count * IndexBytes(args.haystack_count));
  args.check_sorted = test.check_sorted;
  return request.Run(&EngineStream::SearchColumns, args);
}

Outcome Harness::Select(const SelectCase& test) {
  Request request(engine_, stream_.get());
  SelectArgs args;
  args.by = test.by;
  args.negate = test.negate;
  args.partition = test.partition;
  args.count = static_cast<int64_t>(test.elements.size()) / test.element_bytes;
  args.elements = request.Input(test.elements);
  args.element_bytes = test.element_bytes;
  args.values = request.Input(test.values);
  args.value_bytes = test.value_bytes;
  args.flags = static_cast<const uint8_t*>(request.Input(test.predicate));
  args.positions = request.Numbers(test.positions);
  args.position_count = static_cast<int64_t>(test.positions.size());
  args.key_type = test.type;
  args.comparison = test.comparison;
  args.threshold = request.Input(test.threshold);
  const int64_t index_bytes = IndexBytes(args.count - 1);
  const auto output = [&](bool wanted, int64_t element_bytes) -> void* {
    if (wanted) return request.Output(args.count * element_bytes);
    request.NoOutput();
    return nullptr;
  };
  args.elements_out = output(test.want_elements, test.element_bytes);
  args.values_out = output(test.value_bytes > 0, test.value_bytes);
  args.indices_out = output(test.want_indices, index_bytes);
  args.count_out = static_cast<int64_t*>(request.Output(sizeof(int64_t)));
  Outcome outcome = request.Run(&EngineStream::Select, args, &Outcome::select);
  if (outcome.select.out_of_range < 0) {
    EXPECT_EQ(outcome.outputs.back(), AsBytes({outcome.select.selected}));
  }
  outcome.outputs.pop_back();
  const int64_t rows = test.partition ? args.count : outcome.select.selected;
  EXPECT_LE(rows, args.count);
  const int64_t widths[] = {test.element_bytes, test.value_bytes, index_bytes};
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    Bytes& output = outcome.outputs[i];
    output.resize(std::min(output.size(), static_cast<size_t>(rows * widths[i])));
  }
  return outcome;
}

Outcome Harness::CombineSets(const SetCase& test) {
  Request request(engine_, stream_.get());
  SetArgs args;
  args.key_type = test.type;
  args.order = test.order;
  args.operation = test.operation;
  args.value_bytes = test.value_bytes;
  const int key_bytes = KeyBytes(test.type);
  args.left = {request.Input(test.left), request.Input(test.left_values),
               static_cast<int64_t>(test.left.size()) / key_bytes};
  args.right = {request.Input(test.right), request.Input(test.right_values),
                static_cast<int64_t>(test.right.size()) / key_bytes};
  const auto output = [&](bool wanted, int64_t element_bytes) -> void* {
    if (wanted) return request.Output(MostResults(args) * element_bytes);
    request.NoOutput();
    return nullptr;
  };
  args.keys_out = output(test.want_keys, key_bytes);
  args.values_out = output(test.value_bytes > 0, test.value_bytes);
  args.count_out = static_cast<int64_t*>(request.Output(sizeof(int64_t)));
  Outcome outcome = request.Run(&EngineStream::CombineSets, args, &Outcome::set);
  EXPECT_LE(outcome.set.count, MostResults(args));
  if (outcome.set.unsorted < 0) {
    EXPECT_EQ(outcome.outputs.back(), AsBytes({outcome.set.count}));
  }
  outcome.outputs.pop_back();
  const int64_t widths[] = {key_bytes, test.value_bytes};
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    Bytes& output = outcome.outputs[i];
    output.resize(std::min(output.size(), static_cast<size_t>(outcome.set.count * widths[i])));
  }
  return outcome;
}

Outcome Harness::Join(const JoinCase& test) {
  Request request(engine_, stream_.get());
  JoinArgs args;
  args.key_type = test.type;
  args.kind = test.kind;
  args.left = request.Input(test.left);
  args.left_count = static_cast<int64_t>(test.left.size()) / KeyBytes(test.type);
  args.right = request.Input(test.right);
  args.right_count = static_cast<int64_t>(test.right.size()) / KeyBytes(test.type);
  args.right_sorted = test.right_sorted;
  args.count_only = test.count_only;
  const int64_t index_bytes = JoinIndexBytes(args.left_count, args.right_count);
  if (!test.count_only) {
    args.max_rows = test.max_rows;
    args.left_out = request.Output(test.max_rows * index_bytes);
    if (!IsLeftOnly(test.kind)) args.right_out = request.Output(test.max_rows * index_bytes);
  }
  args.count_out = static_cast<int64_t*>(request.Output(sizeof(int64_t)));
  Outcome outcome = request.Run(&EngineStream::Join, args, &Outcome::join);
  if (outcome.join.unsorted < 0) {
    EXPECT_EQ(outcome.outputs.back(), AsBytes({outcome.join.rows}));
  }
  outcome.outputs.pop_back();
  for (Bytes& output : outcome.outputs) {
    const int64_t rows = outcome.join.rows <= test.max_rows ? outcome.join.rows : 0;
    output.resize(std::min(output.size(), static_cast<size_t>(rows * index_bytes)));
  }
  return outcome;
}

Outcome Harness::Group(const GroupCase& test) {
  Request request(engine_, stream_.get());
  GroupArgs args;
  args.key_type = test.type;
  args.order = test.order;
  args.check_sorted = test.check_sorted;
  args.count = static_cast<int64_t>(test.keys.size()) / KeyBytes(test.type);
  args.keys = request.Input(test.keys);
  args.value_type = test.value_type;
  const int64_t index_bytes = IndexBytes(args.count - 1);
  const Bytes indices = IndexArray(test.indices, static_cast<int>(index_bytes));
  args.indices = request.Input(indices);
  if (!test.segment_offsets.empty()) {
    args.segment_offsets = request.Numbers(test.segment_offsets);
    args.segment_count = static_cast<int64_t>(test.segment_offsets.size()) - 1;
  }
  args.values = request.Input(test.values);
  if (!test.valid.empty()) args.values_validity = request.Owned(Bitmap(test.valid, true));
  std::vector<int64_t> widths;
  const auto output = [&](bool wanted, int64_t element_bytes) -> void* {
    widths.push_back(element_bytes);
    if (wanted) return request.Output(args.count * element_bytes);
    request.NoOutput();
    return nullptr;
  };
  const bool reduces = !test.values.empty();
  args.keys_out = output(test.want_keys, KeyBytes(test.type));
  args.counts_out = static_cast<int64_t*>(output(test.want_counts, sizeof(int64_t)));
  args.firsts_out = output(test.want_firsts, index_bytes);
  args.sums_out = output(reduces, sizeof(int64_t));
  args.minima_out = output(reduces, KeyBytes(test.value_type));
  args.maxima_out = output(reduces, KeyBytes(test.value_type));
  args.value_counts_out = static_cast<int64_t*>(output(reduces, sizeof(int64_t)));
  if (test.rank_method) args.rank_method = *test.rank_method;
  args.ranks_out = output(test.rank_method.has_value(), RankBytes(args.rank_method, args.count));
  Outcome outcome = request.Run(&EngineStream::Group, args, &Outcome::group);
  EXPECT_LE(outcome.group.groups, args.count);
  for (size_t i = 0; i + 1 < outcome.outputs.size(); ++i) {
    Bytes& output = outcome.outputs[i];
    output.resize(std::min(output.size(), static_cast<size_t>(outcome.group.groups * widths[i])));
  }
  return outcome;
}

void ExpectRows(const SortCase& test, const Outcome& outcome, const std::vector<int64_t>& rows) {
  // Uses == instead of EXPECT_EQ, which would print megabytes.
  if (test.want_keys) {
    EXPECT_TRUE(outcome.outputs[0] == Gather(test.keys, KeyBytes(test.type), rows)) << "keys";
  }
  if (test.value_bytes > 0) {
    EXPECT_TRUE(outcome.outputs[1] == Gather(test.values, test.value_bytes, rows)) << "values";
  }
  if (test.want_indices) {
    EXPECT_TRUE(outcome.outputs[2] == IndexArray(rows, 4)) << "indices";
  }
}

}  // namespace corank::testing
