#include "tests/faults/engine_workloads.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "tests/faults/workload_request.h"
#include "tests/support/distributions.h"
#include "tests/support/rows.h"

namespace corank::testing {
namespace {

constexpr int64_t kRows = 20000;

// Numbers, some of them null, and strings, whose streams have no end that fits into a code.
WorkloadRun SortLongRows() {
  std::vector<std::string> strings;
  for (int64_t i = 0; i < kRows; ++i) strings.push_back("row " + std::to_string(i * 7919 % 97) + " of many");
  const TestColumn columns[] = {
      StringColumn(Order::kDescending, strings),
      NumberColumn(KeyType::kInt16, Order::kAscending, MakeKeys(KeyType::kInt16, Distribution::kZipf, kRows, 3))};
  const Bytes validity = MakeBytes(ValidityBytes(kRows), 5);
  return Whole([text = columns[0], numbers = columns[1], validity](Request& request) -> absl::Status {
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
    CORANK_ASSIGN_OR_RETURN(const void* const bitmap, request.Input(validity));
    keys[1].validity = static_cast<const uint8_t*>(bitmap);
    CORANK_ASSIGN_OR_RETURN(void* const bitmap_out, request.Output(ValidityBytes(kRows)));
    keys[1].validity_out = static_cast<uint8_t*>(bitmap_out);
    ColumnSortArgs args;
    args.columns = keys;
    args.column_count = 2;
    args.count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(kRows * IndexBytes(kRows - 1)));
    return request.Run(&EngineStream::SortColumns, args);
  });
}

// Two numbers of six bytes together, which sort both halves of the codes. Only the first rows are wanted.
WorkloadRun SortShortRows() {
  constexpr KeyType kTypes[] = {KeyType::kInt16, KeyType::kUint32};
  constexpr int64_t kResults = kRows / 2;
  std::vector<Bytes> columns;
  for (const KeyType type : kTypes) columns.push_back(MakeKeys(type, Distribution::kZipf, kRows, 3));
  const Bytes values = MakeBytes(kRows * 4, 4);
  return Whole([=](Request& request) -> absl::Status {
    KeyColumn keys[2];
    for (size_t i = 0; i < 2; ++i) {
      keys[i].type = kTypes[i];
      keys[i].row_bytes = KeyBytes(kTypes[i]);
      CORANK_ASSIGN_OR_RETURN(keys[i].data, request.Input(columns[i]));
      CORANK_ASSIGN_OR_RETURN(keys[i].data_out, request.Output(kResults * keys[i].row_bytes));
    }
    ColumnSortArgs args;
    args.columns = keys;
    args.column_count = 2;
    args.algorithm = SortAlgorithm::kRadix;
    args.count = kRows;
    args.limit = kResults;
    args.value_bytes = 4;
    CORANK_ASSIGN_OR_RETURN(args.values_in, request.Input(values));
    CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(kResults * args.value_bytes));
    CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(kResults * IndexBytes(kRows - 1)));
    CORANK_ASSIGN_OR_RETURN(args.ranks_out, request.Output(kRows * IndexBytes(kRows - 1)));
    return request.Run(&EngineStream::SortColumns, args);
  });
}

// Two numbers in three sorted runs.
WorkloadRun MergeRows() {
  const std::vector<int64_t> runs = {0, 5000, 5001, kRows};
  const std::vector<TestColumn> columns = WithSortedRuns(
      {NumberColumn(KeyType::kUint8, Order::kAscending, MakeKeys(KeyType::kUint8, Distribution::kZipf, kRows, 3)),
       NumberColumn(KeyType::kUint64, Order::kDescending, MakeKeys(KeyType::kUint64, Distribution::kZipf, kRows, 4))},
      runs);
  return Whole([=](Request& request) -> absl::Status {
    KeyColumn keys[2];
    for (size_t i = 0; i < 2; ++i) {
      keys[i].type = columns[i].type;
      keys[i].order = columns[i].order;
      keys[i].row_bytes = columns[i].row_bytes;
      CORANK_ASSIGN_OR_RETURN(keys[i].data, request.Input(columns[i].data));
    }
    ColumnSortArgs args;
    args.columns = keys;
    args.column_count = 2;
    args.count = kRows;
    args.run_offsets = runs.data();
    args.run_count = static_cast<int32_t>(runs.size()) - 1;
    CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(kRows * IndexBytes(kRows - 1)));
    return request.Run(&EngineStream::SortColumns, args);
  });
}

// Numbers in segments, one of them empty.
WorkloadRun SortSegmentsOfRows() {
  const std::vector<int64_t> segments = {0, 5000, 5000, 5001, kRows};
  const Bytes numbers = MakeKeys(KeyType::kUint64, Distribution::kZipf, kRows, 3);
  return Whole([=](Request& request) -> absl::Status {
    KeyColumn keys;
    keys.type = KeyType::kUint64;
    keys.row_bytes = sizeof(uint64_t);
    CORANK_ASSIGN_OR_RETURN(keys.data, request.Input(numbers));
    ColumnSortArgs args;
    args.columns = &keys;
    args.column_count = 1;
    args.count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.segment_offsets, request.Numbers(segments));
    args.segment_count = static_cast<int64_t>(segments.size()) - 1;
    CORANK_ASSIGN_OR_RETURN(args.indices_out, request.Output(kRows * IndexBytes(kRows - 1)));
    return request.Run(&EngineStream::SortColumns, args);
  });
}

// The first strings of two segments.
WorkloadRun FirstStringsOfSegments() {
  constexpr int64_t kLimit = 100;
  const std::vector<int64_t> segments = {0, 5000, kRows};
  const Bytes numbers = MakeKeys(KeyType::kUint64, Distribution::kZipf, kRows, 3);
  std::vector<int64_t> offsets;
  for (int64_t row = 0; row <= kRows; ++row) offsets.push_back(row * 8);
  return Whole([=](Request& request) -> absl::Status {
    KeyColumn keys;
    keys.kind = ColumnKind::kStrings;
    keys.data_bytes = kRows * 8;
    CORANK_ASSIGN_OR_RETURN(keys.data, request.Input(numbers));
    CORANK_ASSIGN_OR_RETURN(keys.offsets, request.Numbers(offsets));
    CORANK_ASSIGN_OR_RETURN(keys.data_out, request.Output(2 * kLimit * 8));
    CORANK_ASSIGN_OR_RETURN(void* const offsets_out, request.Output((2 * kLimit + 1) * int64_t{sizeof(int64_t)}));
    keys.offsets_out = static_cast<int64_t*>(offsets_out);
    ColumnSortArgs args;
    args.columns = &keys;
    args.column_count = 1;
    args.count = kRows;
    args.limit = kLimit;
    CORANK_ASSIGN_OR_RETURN(args.segment_offsets, request.Numbers(segments));
    args.segment_count = static_cast<int64_t>(segments.size()) - 1;
    return request.Run(&EngineStream::SortColumns, args);
  });
}

// Strings behind a number, some of the needles null.
WorkloadRun SearchRows() {
  std::vector<std::string> strings;
  for (int64_t i = 0; i < kRows; ++i) strings.push_back("row " + std::to_string(i * 7919 % 97));
  const std::vector<TestColumn> needles = {
      NumberColumn(KeyType::kUint8, Order::kDescending, MakeKeys(KeyType::kUint8, Distribution::kZipf, kRows, 3)),
      StringColumn(Order::kAscending, strings)};
  const std::vector<TestColumn> haystack = WithSortedRuns(needles, {0, kRows});
  const Bytes validity = MakeBytes(ValidityBytes(kRows), 5);
  return Whole([=](Request& request) -> absl::Status {
    KeyColumn sought[2], searched[2];
    const std::pair<const std::vector<TestColumn>*, KeyColumn*> tables[] = {{&haystack, searched}, {&needles, sought}};
    for (const auto& [from, columns] : tables) {
      for (size_t i = 0; i < 2; ++i) {
        const TestColumn& column = (*from)[i];
        columns[i].kind = column.kind;
        columns[i].type = column.type;
        columns[i].order = column.order;
        columns[i].row_bytes = column.row_bytes;
        CORANK_ASSIGN_OR_RETURN(columns[i].data, request.Input(column.data));
      }
      CORANK_ASSIGN_OR_RETURN(columns[1].offsets, request.Numbers((*from)[1].offsets));
    }
    CORANK_ASSIGN_OR_RETURN(const void* const bitmap, request.Input(validity));
    sought[0].validity = static_cast<const uint8_t*>(bitmap);
    ColumnSearchArgs args;
    args.haystack = searched;
    args.needles = sought;
    args.column_count = 2;
    args.haystack_count = args.needle_count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.positions_out, request.Output(kRows * IndexBytes(kRows)));
    return request.Run(&EngineStream::SearchColumns, args);
  });
}

// One group that many blocks share, then groups of three keys.
WorkloadRun GroupAndReduce() {
  constexpr int64_t kLong = kRows / 2;
  std::vector<uint32_t> keys(static_cast<size_t>(kRows));
  for (int64_t i = kLong; i < kRows; ++i) keys[static_cast<size_t>(i)] = static_cast<uint32_t>(1 + (i - kLong) / 3);
  const int64_t groups = keys.back() + 1;
  const auto* const begin = reinterpret_cast<const uint8_t*>(keys.data());
  const Bytes key_bytes(begin, begin + kRows * 4), values = MakeBytes(kRows * 4, 6);
  const Bytes bitmap = MakeBytes(ValidityBytes(kRows), 8);
  return Whole([=](Request& request) -> absl::Status {
    GroupArgs args;
    args.count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.keys, request.Input(key_bytes));
    CORANK_ASSIGN_OR_RETURN(args.values, request.Input(values));
    CORANK_ASSIGN_OR_RETURN(const void* const validity, request.Input(bitmap));
    args.values_validity = static_cast<const uint8_t*>(validity);
    // Their first elements only: the others are unspecified.
    const auto output = [&](int64_t element_bytes) -> absl::StatusOr<void*> {
      CORANK_ASSIGN_OR_RETURN(void* const d_result, request.stream().AllocateDevice(kRows * element_bytes));
      CORANK_RETURN_IF_ERROR(request.Show(d_result, groups * element_bytes));
      return d_result;
    };
    CORANK_ASSIGN_OR_RETURN(args.keys_out, output(4));
    CORANK_ASSIGN_OR_RETURN(void* const counts, output(8));
    args.counts_out = static_cast<int64_t*>(counts);
    CORANK_ASSIGN_OR_RETURN(args.firsts_out, output(IndexBytes(kRows - 1)));
    CORANK_ASSIGN_OR_RETURN(args.sums_out, output(8));
    CORANK_ASSIGN_OR_RETURN(args.minima_out, output(4));
    CORANK_ASSIGN_OR_RETURN(args.maxima_out, output(4));
    CORANK_ASSIGN_OR_RETURN(void* const value_counts, output(8));
    args.value_counts_out = static_cast<int64_t*>(value_counts);
    return request.Run(&EngineStream::Group, args);
  });
}

// Runs of three keys, in segments of a thousand or all in one.
WorkloadRun RankRuns(bool by_segments) {
  std::vector<uint32_t> keys(static_cast<size_t>(kRows));
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i / 3);
  const auto* const begin = reinterpret_cast<const uint8_t*>(keys.data());
  std::vector<int64_t> offsets;
  for (int64_t at = 0; at < kRows; at += 1000) offsets.push_back(at);
  offsets.push_back(kRows);
  return Whole([=, key_bytes = Bytes(begin, begin + kRows * 4)](Request& request) -> absl::Status {
    GroupArgs args;
    args.count = kRows;
    CORANK_ASSIGN_OR_RETURN(args.keys, request.Input(key_bytes));
    if (by_segments) {
      CORANK_ASSIGN_OR_RETURN(args.segment_offsets, request.Numbers(offsets));
      args.segment_count = static_cast<int64_t>(offsets.size()) - 1;
    }
    CORANK_ASSIGN_OR_RETURN(args.ranks_out, request.Output(kRows * RankBytes(args.rank_method, kRows)));
    return request.Run(&EngineStream::Group, args);
  });
}

// Every third row goes to the front.
WorkloadRun PartitionByPositions() {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < kRows; i += 3) positions.push_back(i);
  const Bytes elements = MakeBytes(kRows * 4, 7), values = MakeBytes(kRows * 12, 8);
  return Whole([=](Request& request) -> absl::Status {
    SelectArgs args;
    args.by = SelectBy::kPositions;
    args.partition = true;
    args.count = kRows;
    args.value_bytes = 12;
    args.position_count = static_cast<int64_t>(positions.size());
    CORANK_ASSIGN_OR_RETURN(args.elements, request.Input(elements));
    CORANK_ASSIGN_OR_RETURN(args.values, request.Input(values));
    CORANK_ASSIGN_OR_RETURN(args.positions, request.Numbers(positions));
    CORANK_ASSIGN_OR_RETURN(args.elements_out, request.Output(kRows * 4));
    CORANK_ASSIGN_OR_RETURN(args.values_out, request.Output(kRows * 12));
    return request.Run(&EngineStream::Select, args);
  });
}

// Two sides. Every third key of the left one has a partner.
WorkloadRun UniteSets() {
  constexpr int64_t kSide = kRows / 2, kUnion = 2 * kSide - (kSide + 2) / 3;
  std::vector<uint32_t> left(static_cast<size_t>(kSide)), right(left.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<uint32_t>(2 * i);
  for (size_t i = 0; i < left.size(); ++i) right[i] = left[i] + (i % 3 == 0 ? 0 : 1);
  const auto bytes_of = [](const std::vector<uint32_t>& keys) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(keys.data());
    return Bytes(begin, begin + keys.size() * 4);
  };
  const Bytes sides[] = {bytes_of(left), bytes_of(right)},
              values[] = {MakeBytes(kSide * 4, 7), MakeBytes(kSide * 4, 8)};
  return Whole([=](Request& request) -> absl::Status {
    SetArgs args;
    args.value_bytes = 4;
    for (MergeInput* side : {&args.left, &args.right}) {
      const int at = side == &args.left ? 0 : 1;
      side->count = kSide;
      CORANK_ASSIGN_OR_RETURN(side->keys, request.Input(sides[at]));
      CORANK_ASSIGN_OR_RETURN(side->values, request.Input(values[at]));
    }
    for (void** out : {&args.keys_out, &args.values_out}) {
      CORANK_ASSIGN_OR_RETURN(*out, request.stream().AllocateDevice(MostResults(args) * 4));
      CORANK_RETURN_IF_ERROR(request.Show(*out, kUnion * 4));
    }
    return request.Run(&EngineStream::CombineSets, args);
  });
}

// Sides of which every third key of the left has two partners, and the rest of the right none.
WorkloadRun JoinInFull() {
  constexpr int64_t kSide = kRows / 2, kMatched = (kSide + 2) / 3;
  constexpr int64_t kJoined = kSide + kMatched + (kSide - 2 * kMatched);
  std::vector<uint32_t> left(static_cast<size_t>(kSide)), right(left.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<uint32_t>(i * 7919 % left.size());
  for (size_t i = 0; i < right.size(); ++i) right[i] = static_cast<uint32_t>(i % (right.size() / 2) * 3);
  const auto bytes_of = [](const std::vector<uint32_t>& keys) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(keys.data());
    return Bytes(begin, begin + keys.size() * 4);
  };
  return Whole([=, left_keys = bytes_of(left), right_keys = bytes_of(right)](Request& request) -> absl::Status {
    JoinArgs args;
    args.kind = JoinKind::kFull;
    args.left_count = args.right_count = kSide;
    args.max_rows = kJoined;
    CORANK_ASSIGN_OR_RETURN(args.left, request.Input(left_keys));
    CORANK_ASSIGN_OR_RETURN(args.right, request.Input(right_keys));
    CORANK_ASSIGN_OR_RETURN(args.left_out, request.Output(kJoined * 4));
    CORANK_ASSIGN_OR_RETURN(args.right_out, request.Output(kJoined * 4));
    return request.Run(&EngineStream::Join, args);
  });
}

// Copies alone, in both directions and within the device, with a point in between.
WorkloadRun Copies() {
  const Bytes bytes = MakeBytes(100'000, 1);
  return [bytes](EngineStream& stream, WorkloadResult* result) -> absl::Status {
    const auto size = static_cast<int64_t>(bytes.size());
    Bytes back(bytes.size());
    CORANK_RETURN_IF_ERROR(stream.Begin());
    const absl::Status enqueued = [&]() -> absl::Status {
      CORANK_ASSIGN_OR_RETURN(void* const d_one, stream.AllocateDevice(size));
      CORANK_ASSIGN_OR_RETURN(void* const d_other, stream.AllocateDevice(size));
      CORANK_RETURN_IF_ERROR(stream.CopyToDevice(d_one, bytes.data(), size));
      CORANK_RETURN_IF_ERROR(stream.Iota(d_one, /*element_bytes=*/8, /*first=*/5, /*count=*/100));
      // No later call queries the last error.
      CORANK_RETURN_IF_ERROR(stream.Copy(d_other, d_one, size));
      CORANK_ASSIGN_OR_RETURN(const void* const point, stream.MarkPoint());
      CORANK_RETURN_IF_ERROR(stream.After(point));
      return stream.CopyToHost(back.data(), d_other, size);
    }();
    const absl::Status finished = stream.Finish().status();
    CORANK_RETURN_IF_ERROR(enqueued);
    CORANK_RETURN_IF_ERROR(finished);
    result->outputs = {back};
    return absl::OkStatus();
  };
}

}  // namespace

std::vector<Workload> ColumnWorkloads() {
  return {
      {"sort of long rows",
       SortLongRows(),
       {"::SampleKernel(", "BasesKernel(", "CommonBytesKernel(", "DifferingBitsKernel(", "ChooseCodeKernel(",
        "CodesKernel(", "MakeItemsKernel<", "SortTiesKernel<", "CopyStringsKernel<", "GatherKernel<"},
       SortAlgorithm::kMergesort},
      {"sort of short rows", SortShortRows(), {"CodeHalvesKernel(", "GatherKernel<"}, SortAlgorithm::kRadix},
      {"merge of rows", MergeRows(), {"CheckRunsKernel(", "SortTiesKernel<"}, SortAlgorithm::kMergeRuns},
      {"sort of segments of rows", SortSegmentsOfRows(), {"NumberSegmentsKernel<"}, SortAlgorithm::kMergesort},
      {"first strings of segments",
       FirstStringsOfSegments(),
       {"NumberSegmentsKernel<", "MarkLimitedKernel(", "CopyOffsetsKernel(", "CopyStringsKernel<"},
       SortAlgorithm::kMergesort},
      {"search of rows", SearchRows(), {"CheckRowsKernel(", "WordsKernel(", "SearchRowsKernel<"}},
  };
}

const std::vector<Workload>& EngineWorkloads() {
  static const std::vector<Workload>& all = *[] {
    auto* const made = new std::vector<Workload>;
    for (const auto make : {SortWorkloads, LookWorkloads, ColumnWorkloads, MergeWorkloads, IntervalWorkloads}) {
      std::vector<Workload> some = make();
      std::move(some.begin(), some.end(), std::back_inserter(*made));
    }
    made->push_back({"group",
                     GroupAndReduce(),
                     {"CompactKernel", "CountLastKernel", "SubtractRunsKernel", "ReduceRunsKernel", "JoinNodesKernel",
                      "WriteGroupReportKernel"}});
    made->push_back({"ranks", RankRuns(false), {"RankKernel<"}});
    made->push_back({"ranks of segments", RankRuns(true), {"MarkSegmentsKernel(", "RankKernel<"}});
    made->push_back(
        {"partition", PartitionByPositions(), {"MarkPositionsKernel(", "SelectFlagged<", "WriteSelectReportKernel("}});
    made->push_back({"union of sets", UniteSets(), {"::CutKernel<", "CombineKernel<", "WriteSetReportKernel("}});
    made->push_back(
        {"full join",
         JoinInFull(),
         {"FillTableKernel<", "FindMatchesKernel<", "MarkRightKernel<", "WriteRowsKernel<", "WriteJoinReportKernel("}});
    made->push_back({"copies", Copies(), {"IotaKernel<"}});
    return made;
  }();
  return all;
}

const Workload& EngineWorkload(const std::string& name) {
  const std::vector<Workload>& all = EngineWorkloads();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Workload& one) { return one.name == name; });
  if (found == all.end()) std::abort();
  return *found;
}

}  // namespace corank::testing
