#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/reference.h"
#include "kernels/cuda/columns/search_rows.h"

namespace corank::bench {
namespace {

/// A table of two uint32 columns on the GPU, and the same rows packed into one key each.
struct PackedTable {
  Memory high, low, packed;

  std::vector<KeyColumn> columns() const {
    std::vector<KeyColumn> made(2);
    for (KeyColumn& column : made) {
      column.type = KeyType::kUint32;
      column.row_bytes = sizeof(uint32_t);
    }
    made[0].data = high.get();
    made[1].data = low.get();
    return made;
  }
};

struct RowSearchData {
  PackedTable haystack, needles;
  std::vector<KeyColumn> haystack_columns, needle_columns;
  Memory ours, reference, workspace;
};

absl::Status UploadTable(const std::vector<uint64_t>& rows, PackedTable* table, Gpu* gpu) {
  const auto count = static_cast<int64_t>(rows.size());
  absl::Status status = CreateAll({{&table->high, 4 * count}, {&table->low, 4 * count}, {&table->packed, 8 * count}});
  if (!status.ok()) return status;
  std::vector<uint32_t> high, low;
  for (const uint64_t row : rows) {
    high.push_back(static_cast<uint32_t>(row >> 32));
    low.push_back(static_cast<uint32_t>(row));
  }
  return gpu->Run([&](cudaStream_t stream) {
    const auto copy = [stream](const Memory& to, const auto& from) {
      return cudaMemcpyAsync(to.get(), from.data(), from.size() * sizeof(from[0]), cudaMemcpyHostToDevice, stream);
    };
    const cudaError_t errors[] = {copy(table->high, high), copy(table->low, low), copy(table->packed, rows),
                                  cudaStreamSynchronize(stream)};
    return *std::max_element(std::begin(errors), std::end(errors));
  });
}

/// `different`: values of the first column. With few of them, the second column decides most comparisons.
absl::StatusOr<Contest> PrepareRowSearch(const Row& identity, int64_t haystack_rows, uint64_t different, Gpu* gpu) {
  const auto data = std::make_shared<RowSearchData>();
  std::mt19937_64 random(1);
  const auto draw = [&](int64_t count) {
    std::vector<uint64_t> rows(static_cast<size_t>(count));
    for (uint64_t& row : rows) row = random() % different << 32 | (random() & 0xFFFFFFFF);
    return rows;
  };
  std::vector<uint64_t> haystack = draw(haystack_rows);
  std::sort(haystack.begin(), haystack.end());
  absl::Status status = UploadTable(haystack, &data->haystack, gpu);
  status.Update(UploadTable(draw(identity.n), &data->needles, gpu));
  data->haystack_columns = data->haystack.columns();
  data->needle_columns = data->needles.columns();

  ColumnSearchArgs args;
  args.haystack = data->haystack_columns.data();
  args.needles = data->needle_columns.data();
  args.column_count = 2;
  args.haystack_count = haystack_rows;
  args.needle_count = identity.n;
  args.check_sorted = false;
  const int64_t workspace_bytes = cuda::ColumnSearchWorkspaceBytes(args);
  status.Update(CreateAll({{&data->ours, 4 * identity.n},
                           {&data->reference, 4 * identity.n},
                           {&data->workspace, std::max<int64_t>(workspace_bytes, 1)}}));
  if (!status.ok()) return status;
  args.positions_out = data->ours.get();

  Contest contest;
  contest.contestants.push_back({"corank", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     return cuda::SearchColumns(args, data->workspace.get(), workspace_bytes, nullptr,
                                                                stream);
                                   });
                                 }});
  contest.contestants.push_back({"thrust", [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     return ThrustLowerBound(data->haystack.packed.as<uint64_t>(), haystack_rows,
                                                             data->needles.packed.as<uint64_t>(), identity.n,
                                                             data->reference.as<uint32_t>(), stream);
                                   });
                                 }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), 4 * identity.n); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(identity.n));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(identity.n));
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddSearchCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const int log2 : {16, 24}) {
    for (const uint64_t different : {uint64_t{1} << 32, uint64_t{16}}) {
      const int64_t haystack_rows = options.Count(log2);
      Row identity;
      identity.row = "search by columns";
      identity.type = "u32,u32";
      identity.n = options.Count(22);
      identity.distribution =
          absl::StrCat("uniform, ", different == 16 ? "16 in the first column, " : "", "in ", haystack_rows, " rows");
      identity.unit = "Gneedles/s";
      identity.reference_name = "thrust::lower_bound of rows packed into 64 bits";
      cases->push_back(CaseOf(absl::StrCat("search/columns/", different == 16 ? "ties/" : "", haystack_rows), options,
                              identity, [=] { return PrepareRowSearch(identity, haystack_rows, different, gpu); }));
    }
  }
}

}  // namespace corank::bench
