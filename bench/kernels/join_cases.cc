#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/kernels/cases.h"
#include "bench/kernels/reference.h"
#include "kernels/common/join.h"

namespace corank::bench {
namespace {

/// Two sides on the GPU, and room for the results.
struct JoinData {
  Memory left, right, left_rows, right_rows, reference_left, reference_right, workspace;
  size_t workspace_bytes = 0;
  int64_t count = 0;  // of each side
  int64_t rows = 0;   // of the result
};

/// Keys spread over 32 bits, each `duplicates` times, in random order.
std::vector<uint32_t> ShuffledKeys(int64_t count, int64_t duplicates, uint64_t seed) {
  constexpr uint32_t kOdd = 2654435761;  // multiplication by it is a bijection
  std::vector<uint32_t> keys(static_cast<size_t>(count));
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<uint32_t>(i / static_cast<size_t>(duplicates)) * kOdd;
  std::mt19937_64 random(seed);
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

absl::StatusOr<std::shared_ptr<JoinData>> MakeSides(int64_t count, int64_t duplicates, Gpu* gpu) {
  auto data = std::make_shared<JoinData>();
  data->count = count;
  data->rows = count * duplicates;
  // The reference has three arrays and a sort of the keys, and one for the rows, each with what Thrust wants.
  data->workspace_bytes = static_cast<size_t>(96 * count + 12 * data->rows) + (size_t{64} << 20);
  const absl::Status created = CreateAll({{&data->left, 4 * count},
                                          {&data->right, 4 * count},
                                          {&data->left_rows, 4 * data->rows},
                                          {&data->right_rows, 4 * data->rows},
                                          {&data->reference_left, 4 * data->rows},
                                          {&data->reference_right, 4 * data->rows},
                                          {&data->workspace, static_cast<int64_t>(data->workspace_bytes)}});
  if (!created.ok()) return created;
  for (const Memory* side : {&data->left, &data->right}) {
    const std::vector<uint32_t> keys = ShuffledKeys(count, duplicates, side == &data->left ? 1 : 2);
    const absl::Status status = gpu->Run([&](cudaStream_t stream) {
      return cudaMemcpyAsync(side->get(), keys.data(), keys.size() * sizeof(uint32_t), cudaMemcpyHostToDevice, stream);
    });
    if (!status.ok()) return status;
  }
  return data;
}

absl::StatusOr<Contest> PrepareJoin(const Row& identity, int64_t duplicates, Gpu* gpu) {
  const int64_t count = identity.n / 2 / duplicates * duplicates;
  const auto made = MakeSides(count, duplicates, gpu);
  if (!made.ok()) return made.status();
  const std::shared_ptr<JoinData> data = *made;
  JoinArgs args;
  args.key_type = KeyType::kInt32;
  args.left = data->left.get();
  args.right = data->right.get();
  args.left_count = args.right_count = count;
  args.left_out = data->left_rows.get();
  args.right_out = data->right_rows.get();
  args.max_rows = data->rows;

  Contest contest;
  contest.contestants.push_back({"corank", [=] { return gpu->Time(args); }});
  contest.contestants.push_back({identity.reference_name, [=] {
                                   return gpu->Time([&](cudaStream_t stream) {
                                     int64_t rows = 0;
                                     return ThrustInnerJoin(data->left.as<int32_t>(), count, data->right.as<int32_t>(),
                                                            count, data->reference_left.as<uint32_t>(),
                                                            data->reference_right.as<uint32_t>(), data->rows, &rows,
                                                            data->workspace.get(), data->workspace_bytes, stream);
                                   });
                                 }});
  contest.contestants.push_back({"corank, count", [=] {
                                   JoinArgs only_count = args;
                                   only_count.count_only = true;
                                   only_count.left_out = only_count.right_out = nullptr;
                                   return gpu->Time(only_count);
                                 }});
  contest.check = [=] {
    const absl::StatusOr<double> seconds = gpu->Time(args);
    if (!seconds.ok()) return seconds.status();
    absl::Status status = gpu->CompareBits(data->left_rows.get(), data->reference_left.get(), data->rows * 4);
    status.Update(gpu->CompareBits(data->right_rows.get(), data->reference_right.get(), data->rows * 4));
    return status;
  };
  contest.rows = [=](const std::vector<Summary>& seconds) {
    Row row = identity;
    row.ours = GigaPerSecond(seconds[0], static_cast<double>(2 * count));
    row.reference = GigaPerSecond(seconds[1], static_cast<double>(2 * count));
    row.details["rows"] = static_cast<double>(data->rows);
    row.details["count_only_share"] = seconds[2].median / seconds[0].median;
    row.RequireRatio(2.0);
    return std::vector<Row>{row};
  };
  return contest;
}

}  // namespace

void AddJoinCases(const KernelBenchOptions& options, Gpu* gpu, std::vector<Case>* cases) {
  for (const auto& [duplicates, name] : {std::pair(int64_t{1}, "unique"), std::pair(int64_t{16}, "16 of each")}) {
    Row identity;
    identity.row = absl::StrCat("inner join, ", name);
    identity.type = "i32";
    identity.n = std::min(options.Count(25), int64_t{20'000'000});
    identity.distribution = name;
    identity.unit = "Gkeys/s";
    identity.reference_name = "thrust sort, bounds, scan, expand";
    cases->push_back(CaseOf(absl::StrCat("join/", name), options, identity,
                            [=, duplicates = duplicates] { return PrepareJoin(identity, duplicates, gpu); }));
  }
}

}  // namespace corank::bench
