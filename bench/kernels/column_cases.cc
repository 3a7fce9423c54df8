#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/device_inputs.h"
#include "bench/kernels/reference.h"
#include "kernels/common/row_order.h"
#include "kernels/cuda/common/gather.h"
#include "kernels/cuda/sort/key_codes.h"

namespace corank::bench {
namespace {

using Bytes = std::vector<uint8_t>;

/// A column made on the host, and its copy on the GPU.
struct ColumnData {
  KeyColumn column;  // data and offsets point to device memory
  Bytes bytes;
  std::vector<int64_t> offsets;
  Memory d_bytes, d_offsets;

  absl::string_view Row(int64_t row) const {
    const int64_t begin = offsets.empty() ? row * column.row_bytes : offsets[static_cast<size_t>(row)];
    const int64_t end = offsets.empty() ? begin + column.row_bytes : offsets[static_cast<size_t>(row) + 1];
    return {reinterpret_cast<const char*>(bytes.data()) + begin, static_cast<size_t>(end - begin)};
  }
};

struct ColumnSortData {
  std::vector<ColumnData> columns;
  std::vector<KeyColumn> args;  // of the columns
  std::vector<int64_t> run_offsets;
  Memory ours, reference, scratch_indices, ranks, gathered, sorted, workspace;
  size_t workspace_bytes = 0;
  SortAlgorithm taken = SortAlgorithm::kAuto;
  double host_seconds = 0;  // of std::stable_sort, which takes seconds and runs once
};

using MakeColumns = std::vector<ColumnData> (*)(int64_t count, std::mt19937_64& random);

ColumnData Numbers(KeyType type, Order order, int64_t count, const std::function<uint64_t()>& bits) {
  ColumnData data;
  data.column.type = type;
  data.column.order = order;
  data.column.row_bytes = KeyBytes(type);
  data.bytes.resize(static_cast<size_t>(count * data.column.row_bytes));
  for (size_t at = 0; at < data.bytes.size(); at += static_cast<size_t>(data.column.row_bytes)) {
    const uint64_t key = bits();
    std::memcpy(&data.bytes[at], &key, static_cast<size_t>(data.column.row_bytes));
  }
  return data;
}

std::vector<ColumnData> TwoColumns(int64_t count, std::mt19937_64& random) {
  std::vector<ColumnData> columns;
  for (int i = 0; i < 2; ++i) columns.push_back(Numbers(KeyType::kUint32, Order::kAscending, count, std::ref(random)));
  return columns;
}

/// Times in milliseconds over a day around 0, measurements, and sensors.
std::vector<ColumnData> ThreeColumns(int64_t count, std::mt19937_64& random) {
  std::vector<ColumnData> columns;
  columns.push_back(
      Numbers(KeyType::kInt64, Order::kDescending, count, [&] { return random() % 86'400'000 - 43'200'000; }));
  columns.push_back(Numbers(KeyType::kFloat32, Order::kAscending, count, [&] {
    const float value = static_cast<float>(random() % 1'000'000) / 1000 - 300;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return uint64_t{bits};
  }));
  columns.push_back(Numbers(KeyType::kUint16, Order::kAscending, count, std::ref(random)));
  return columns;
}

template <int kBytes>
std::vector<ColumnData> FixedBytes(int64_t count, std::mt19937_64& random) {
  ColumnData data;
  data.column.kind = ColumnKind::kBytes;
  data.column.row_bytes = kBytes;
  data.bytes.resize(static_cast<size_t>(count * kBytes));
  for (uint8_t& byte : data.bytes) byte = static_cast<uint8_t>(random());
  std::vector<ColumnData> columns;
  columns.push_back(std::move(data));
  return columns;
}

/// Random words of 4 to 14 letters, 4 of 7 with one of four prefixes: 12 bytes on average.
std::vector<ColumnData> Words(int64_t count, std::mt19937_64& random) {
  constexpr absl::string_view kBeginnings[] = {"", "", "", "inter", "https://", "user_", "anti"};
  ColumnData data;
  data.column.kind = ColumnKind::kStrings;
  data.offsets.push_back(0);
  for (int64_t i = 0; i < count; ++i) {
    const absl::string_view beginning = kBeginnings[random() % std::size(kBeginnings)];
    data.bytes.insert(data.bytes.end(), beginning.begin(), beginning.end());
    for (uint64_t letters = 4 + random() % 11; letters > 0; --letters) {
      data.bytes.push_back(static_cast<uint8_t>('a' + random() % 26));
    }
    data.offsets.push_back(static_cast<int64_t>(data.bytes.size()));
  }
  data.column.data_bytes = static_cast<int64_t>(data.bytes.size());
  std::vector<ColumnData> columns;
  columns.push_back(std::move(data));
  return columns;
}

absl::Status Upload(const void* bytes, size_t size, Memory* memory, Gpu* gpu) {
  absl::StatusOr<Memory> created = Memory::Create(static_cast<int64_t>(size));
  if (!created.ok()) return created.status();
  *memory = *std::move(created);
  return gpu->Run(
      [&](cudaStream_t stream) { return cudaMemcpyAsync(memory->get(), bytes, size, cudaMemcpyHostToDevice, stream); });
}

absl::Status UploadColumns(ColumnSortData* data, Gpu* gpu) {
  absl::Status status;
  for (ColumnData& column : data->columns) {
    status.Update(Upload(column.bytes.data(), column.bytes.size(), &column.d_bytes, gpu));
    column.column.data = column.d_bytes.get();
    if (!column.offsets.empty()) {
      status.Update(Upload(column.offsets.data(), column.offsets.size() * sizeof(int64_t), &column.d_offsets, gpu));
      column.column.offsets = column.d_offsets.as<int64_t>();
    }
    data->args.push_back(column.column);
  }
  return status;
}

ColumnSortArgs ArgsOf(const ColumnSortData& data, int64_t count, const Memory& indices) {
  ColumnSortArgs args;
  args.columns = data.args.data();
  args.column_count = static_cast<int32_t>(data.args.size());
  args.count = count;
  args.indices_out = indices.get();
  return args;
}

absl::StatusOr<double> RunOurs(ColumnSortData* data, int64_t count, Gpu* gpu) {
  return gpu->Time(ArgsOf(*data, count, data->ours), &data->taken);
}

absl::StatusOr<double> RunMerge(ColumnSortData* data, int64_t count, Gpu* gpu) {
  ColumnSortArgs args = ArgsOf(*data, count, data->ours);
  args.run_offsets = data->run_offsets.data();
  args.run_count = static_cast<int32_t>(data->run_offsets.size()) - 1;
  return gpu->Time(args, &data->taken);
}

/// Sorts each run of the rows on the host.
void SortRuns(ColumnSortData* data) {
  std::vector<KeyColumn> columns;
  for (const ColumnData& column : data->columns) {
    columns.push_back(column.column);
    columns.back().data = column.bytes.data();
    columns.back().offsets = column.offsets.data();
  }
  const RowOrder order(columns.data(), static_cast<int>(columns.size()));
  std::vector<int64_t> rows(static_cast<size_t>(data->run_offsets.back()));
  std::iota(rows.begin(), rows.end(), 0);
  for (size_t run = 1; run < data->run_offsets.size(); ++run) {
    std::sort(rows.begin() + data->run_offsets[run - 1], rows.begin() + data->run_offsets[run],
              [&](int64_t a, int64_t b) { return order.Compare(a, b, 0) < 0; });
  }
  for (ColumnData& column : data->columns) {
    Bytes bytes;
    std::vector<int64_t> offsets;
    for (const int64_t row : rows) {
      const absl::string_view taken = column.Row(row);
      if (!column.offsets.empty()) offsets.push_back(static_cast<int64_t>(bytes.size()));
      bytes.insert(bytes.end(), taken.begin(), taken.end());
    }
    if (!column.offsets.empty()) offsets.push_back(static_cast<int64_t>(bytes.size()));
    column.bytes = std::move(bytes);
    column.offsets = std::move(offsets);
  }
}

/// The reference for strings: std::stable_sort of an array of row numbers on one thread.
absl::StatusOr<double> RunHost(ColumnSortData* data, int64_t count, Gpu* gpu) {
  if (data->host_seconds > 0) return data->host_seconds;
  std::vector<uint32_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0U);
  const ColumnData& column = data->columns.front();
  const auto start = std::chrono::steady_clock::now();
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return column.Row(a) < column.Row(b); });
  data->host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const absl::Status copied = gpu->Run([&](cudaStream_t stream) {
    return cudaMemcpyAsync(data->reference.get(), rows.data(), rows.size() * sizeof(uint32_t), cudaMemcpyHostToDevice,
                           stream);
  });
  if (!copied.ok()) return copied;
  return data->host_seconds;
}

template <typename Bits>
cudaError_t SortByRanks(const ColumnSortData& data, const void* d_ranks, const uint32_t* d_rows, uint32_t* d_rows_out,
                        int64_t count, size_t* workspace_bytes, cudaStream_t stream) {
  const SortReference<Bits> args{static_cast<const Bits*>(d_ranks), data.sorted.as<Bits>(), d_rows, d_rows_out, count};
  return CubRadixSortPairs<Bits>(args, data.workspace.get(), workspace_bytes, stream);
}

/// One step of the reference for numbers: a stable sort of the rows by one column. Without a workspace, returns its
/// size.
cudaError_t SortByColumn(const ColumnSortData& data, const KeyColumn& column, const void* d_ranks,
                         const uint32_t* d_rows, uint32_t* d_rows_out, int64_t count, size_t* workspace_bytes,
                         cudaStream_t stream) {
  switch (column.row_bytes) {
    case 2:
      return SortByRanks<uint16_t>(data, d_ranks, d_rows, d_rows_out, count, workspace_bytes, stream);
    case 4:
      return SortByRanks<uint32_t>(data, d_ranks, d_rows, d_rows_out, count, workspace_bytes, stream);
    default:
      return SortByRanks<uint64_t>(data, d_ranks, d_rows, d_rows_out, count, workspace_bytes, stream);
  }
}

/// The reference for numbers: a stable argsort by each column, the last one first, with cub::DeviceRadixSort, and a
/// gather of the next column between two sorts. The columns' ranks, by which CUB gets order and direction, and the
/// first row numbers are prepared outside of the timing.
absl::StatusOr<double> RunRepeatedArgsort(ColumnSortData* data, int64_t count, Gpu* gpu) {
  return gpu->Time([&](cudaStream_t stream) {
    const auto last = static_cast<int>(data->args.size()) - 1;
    auto* const rows = data->scratch_indices.as<uint32_t>();  // two arrays: 0, 1, 2, ... and a scratch array
    const uint32_t* from = rows;
    for (int i = last; i >= 0; --i) {
      const KeyColumn& column = data->args[static_cast<size_t>(i)];
      const void* ranks = data->ranks.as<uint8_t>() + int64_t{8} * i * count;
      if (i < last) {
        const cudaError_t error =
            cuda::GatherRows(ranks, column.row_bytes, from, sizeof(uint32_t), data->gathered.get(), count, stream);
        if (error != cudaSuccess) return error;
        ranks = data->gathered.get();
      }
      uint32_t* to = i % 2 == 0 ? data->reference.as<uint32_t>() : rows + count;
      const cudaError_t error = SortByColumn(*data, column, ranks, from, to, count, &data->workspace_bytes, stream);
      if (error != cudaSuccess) return error;
      from = to;
    }
    return cudaSuccess;
  });
}

absl::Status PrepareRepeatedArgsort(ColumnSortData* data, int64_t count, Gpu* gpu) {
  const auto columns = static_cast<int64_t>(data->args.size());
  size_t most = 0;
  for (const KeyColumn& column : data->args) {
    size_t bytes = 0;
    const absl::Status sized =
        ToStatus(SortByColumn(*data, column, nullptr, nullptr, nullptr, count, &bytes, gpu->stream()), "sizing");
    if (!sized.ok()) return sized;
    most = std::max(most, bytes);
  }
  const std::pair<Memory*, int64_t> wanted[] = {{&data->ranks, 8 * columns * count},
                                                {&data->gathered, 8 * count},
                                                {&data->sorted, 8 * count},
                                                {&data->scratch_indices, 8 * count},
                                                {&data->workspace, static_cast<int64_t>(most)}};
  for (const auto& [memory, bytes] : wanted) {
    absl::StatusOr<Memory> created = Memory::Create(bytes);
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  data->workspace_bytes = most;
  return gpu->Run([&](cudaStream_t stream) {
    for (int64_t i = 0; i < columns; ++i) {
      const KeyColumn& column = data->args[static_cast<size_t>(i)];
      const cudaError_t error = cuda::KeysToRanks(column.type, column.order, column.data,
                                                  data->ranks.as<uint8_t>() + 8 * i * count, count, stream);
      if (error != cudaSuccess) return error;
    }
    return FillPositions(data->scratch_indices.as<uint32_t>(), count, stream);
  });
}

absl::StatusOr<Contest> PrepareColumns(const Row& identity, MakeColumns make, Gpu* gpu) {
  constexpr int64_t kMostOnHost = int64_t{1} << 22;  // the host's sort takes too long for more rows
  auto data = std::make_shared<ColumnSortData>();
  const int64_t count = identity.n;
  std::mt19937_64 random(1);
  data->columns = make(count, random);
  absl::Status status = UploadColumns(data.get(), gpu);
  for (Memory* memory : {&data->ours, &data->reference}) {
    absl::StatusOr<Memory> created = Memory::Create(count * static_cast<int64_t>(sizeof(uint32_t)));
    if (!created.ok()) return created.status();
    *memory = *std::move(created);
  }
  const bool numbers = data->args.front().kind == ColumnKind::kNumbers;
  if (numbers) status.Update(PrepareRepeatedArgsort(data.get(), count, gpu));
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return RunOurs(data.get(), count, gpu); }});
  const bool has_reference = numbers || count <= kMostOnHost;
  if (numbers) {
    contest.contestants.push_back({"cub", [=] { return RunRepeatedArgsort(data.get(), count, gpu); }});
  } else if (has_reference) {
    contest.contestants.push_back({"host", [=] { return RunHost(data.get(), count, gpu); }});
  }
  if (has_reference) {
    contest.check = [=] {
      return gpu->CompareBits(data->ours.get(), data->reference.get(), count * static_cast<int64_t>(sizeof(uint32_t)));
    };
  }
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    row.note = absl::StrCat("took ", SortAlgorithmName(data->taken));
    row.details["ours_us"] = seconds[0].median * 1e6;
    if (has_reference) {
      row.reference_name = numbers ? "repeated cub::DeviceRadixSort" : "std::stable_sort, 1 thread of the host, once";
      row.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
      row.details["reference_us"] = seconds[1].median * 1e6;
      row.RequireRatio(1.0);
    }
    return std::vector<Row>{row};
  };
  return contest;
}

/// The merge of sorted runs beside the sort of the same rows.
absl::StatusOr<Contest> PrepareMerge(const Row& identity, MakeColumns make, int64_t runs, Gpu* gpu) {
  auto data = std::make_shared<ColumnSortData>();
  const int64_t count = identity.n;
  std::mt19937_64 random(1);
  data->columns = make(count, random);
  for (int64_t run = 0; run <= runs; ++run) data->run_offsets.push_back(count * run / runs);
  SortRuns(data.get());
  absl::Status status = UploadColumns(data.get(), gpu);
  const auto index_bytes = count * static_cast<int64_t>(sizeof(uint32_t));
  status.Update(CreateAll({{&data->ours, index_bytes}, {&data->reference, index_bytes}}));
  if (!status.ok()) return status;

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return RunMerge(data.get(), count, gpu); }});
  contest.contestants.push_back({"sort", [=] { return gpu->Time(ArgsOf(*data, count, data->reference), nullptr); }});
  contest.check = [=] { return gpu->CompareBits(data->ours.get(), data->reference.get(), index_bytes); };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(row.n));
    row.reference_name = "our sort of the same rows";
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(row.n));
    row.details["ours_us"] = seconds[0].median * 1e6;
    row.details["reference_us"] = seconds[1].median * 1e6;
    row.RequireRatio(1.0);
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddColumnCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  const struct {
    const char* type;
    const char* distribution;
    MakeColumns make;
  } kTables[] = {{"u32,u32", "uniform", TwoColumns},        {"i64 desc,f32,u16", "a day of milliseconds", ThreeColumns},
                 {"16 bytes", "uniform", FixedBytes<16>},   {"64 bytes", "uniform", FixedBytes<64>},
                 {"256 bytes", "uniform", FixedBytes<256>}, {"strings", "words, mean 12", Words}};
  for (const auto& table : kTables) {
    for (const int log2 : {20, 22, 24}) {
      if (log2 > options.max_log2 && log2 > 20) continue;
      if (table.make == &FixedBytes<256> && log2 > 22) continue;  // 2^22 rows need 1 GiB on the host
      Case entry;
      Row& identity = entry.failure_row;
      identity.row = "argsort by columns";
      identity.type = table.type;
      identity.n = options.Count(log2);
      identity.distribution = table.distribution;
      identity.unit = "Grows/s";
      entry.name = absl::StrCat("columns/", table.type, "/", identity.n);
      entry.repetitions = options.Repetitions(identity.n);
      entry.prepare = [identity, make = table.make, gpu] { return PrepareColumns(identity, make, gpu); };
      cases->push_back(std::move(entry));
    }
  }
  for (const auto& table : kTables) {
    const int log2 = std::min(22, options.max_log2);  // the host sorts the runs
    if (table.make != &TwoColumns && table.make != &ThreeColumns && table.make != &Words) continue;
    for (const int64_t runs : {2, 8, 32, 64}) {
      Case entry;
      Row& identity = entry.failure_row;
      identity.row = "merge by columns";
      identity.type = table.type;
      identity.n = options.Count(log2);
      identity.distribution = absl::StrCat(table.distribution, ", ", runs, " runs");
      identity.unit = "Grows/s";
      entry.name = absl::StrCat("columns/merge/", runs, "/", table.type, "/", identity.n);
      entry.repetitions = options.Repetitions(identity.n);
      entry.prepare = [identity, make = table.make, runs, gpu] { return PrepareMerge(identity, make, runs, gpu); };
      cases->push_back(std::move(entry));
    }
  }
}

}  // namespace corank::bench
