#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/engine/cases.h"
#include "bench/harness/inputs.h"

namespace corank::bench {
namespace {

/// A table of two columns.
struct Table {
  std::vector<uint32_t> first;
  std::vector<int64_t> second;

  std::vector<KeyColumn> columns() const {
    std::vector<KeyColumn> made(2);
    made[0].type = KeyType::kUint32;
    made[0].row_bytes = sizeof(uint32_t);
    made[0].data = first.data();
    made[1].type = KeyType::kInt64;
    made[1].row_bytes = sizeof(int64_t);
    made[1].data = second.data();
    return made;
  }
  std::pair<uint32_t, int64_t> Row(size_t row) const { return {first[row], second[row]}; }
};

struct RowSearchData {
  Table haystack, needles;
  std::vector<KeyColumn> haystack_columns, needle_columns;
  std::vector<std::pair<uint32_t, int64_t>> rows;  // of the haystack, side by side
  std::vector<uint32_t> ours, reference;
};

/// Rows with 1000 values in the first column, so that the second one decides most comparisons.
Table MakeTable(int64_t rows, uint64_t seed) {
  Table table;
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t bits = Scramble(seed << 40 | static_cast<uint64_t>(i));
    table.first.push_back(static_cast<uint32_t>(bits % 1000));
    table.second.push_back(static_cast<int64_t>(Scramble(bits)));
  }
  return table;
}

Table Sorted(const Table& table) {
  std::vector<uint32_t> order(table.first.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return table.Row(a) < table.Row(b); });
  Table sorted;
  for (const uint32_t row : order) {
    sorted.first.push_back(table.first[row]);
    sorted.second.push_back(table.second[row]);
  }
  return sorted;
}

absl::StatusOr<Contest> PrepareRowSearch(const Row& identity, EngineStream* stream) {
  auto data = std::make_shared<RowSearchData>();
  data->haystack = Sorted(MakeTable(identity.n, 1));
  data->needles = MakeTable(identity.n, 2);
  data->haystack_columns = data->haystack.columns();
  data->needle_columns = data->needles.columns();
  for (size_t i = 0; i < data->haystack.first.size(); ++i) data->rows.push_back(data->haystack.Row(i));
  data->ours.resize(data->needles.first.size());
  data->reference.resize(data->ours.size());

  Contest contest;
  contest.contestants.push_back({"corank", [data, stream] {
                                   ColumnSearchArgs args;
                                   args.haystack = data->haystack_columns.data();
                                   args.needles = data->needle_columns.data();
                                   args.column_count = 2;
                                   args.haystack_count = static_cast<int64_t>(data->haystack.first.size());
                                   args.needle_count = static_cast<int64_t>(data->needles.first.size());
                                   args.positions_out = data->ours.data();
                                   args.check_sorted = false;
                                   return TimeOnStream(stream, [&args](EngineStream* on, OperatorReport* report) {
                                     return on->SearchColumns(args, report);
                                   });
                                 }});
  contest.contestants.push_back({"std::lower_bound", [data]() -> absl::StatusOr<double> {
                                   const absl::Time start = absl::Now();
                                   const auto& rows = data->rows;
                                   for (size_t i = 0; i < data->reference.size(); ++i) {
                                     const auto found =
                                         std::lower_bound(rows.begin(), rows.end(), data->needles.Row(i));
                                     data->reference[i] = static_cast<uint32_t>(found - rows.begin());
                                   }
                                   return absl::ToDoubleSeconds(absl::Now() - start);
                                 }});
  contest.check = [data] {
    return data->ours == data->reference ? absl::OkStatus()
                                         : absl::InternalError("the answer is not std::lower_bound's");
  };
  contest.rows = [identity](const std::vector<Summary>& seconds) {
    Row line = identity;
    line.reference_name = "std::lower_bound in an array of pairs, 1 thread";
    line.ours = GigaPerSecond(seconds[0], static_cast<double>(identity.n));
    line.reference = GigaPerSecond(seconds[1], static_cast<double>(identity.n));
    return std::vector<Row>{line};
  };
  return contest;
}

}  // namespace

void AddSearchCases(const EngineBenchOptions& options, EngineStream* stream, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "search by columns";
  row.type = "u32,i64";
  row.n = int64_t{1} << std::min(options.log2_count, 22);  // std::lower_bound takes seconds for more
  row.distribution = "1000 in the first column, in as many rows";
  row.unit = "Gneedles/s";
  entry.name = "search/columns";
  entry.repetitions = options.repetitions;
  entry.prepare = [row, stream] { return PrepareRowSearch(row, stream); };
  cases->push_back(std::move(entry));
}

}  // namespace corank::bench
