#include "client/cli/workload.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace corank::cli {
namespace {

using client::Array;
using client::Client;
using client::RequestStats;

constexpr int64_t kMeanInterval = 16;

/// Random keys. Floats are finite.
Array RandomKeys(KeyType type, int64_t count, std::mt19937_64* random) {
  Array keys{type, std::string(count * KeyBytes(type), '\0')};
  for (char& byte : keys.bytes) byte = static_cast<char>((*random)());
  if (IsFloat(type)) {
    // Clearing the highest exponent bit excludes infinity and NaN.
    for (size_t last = KeyBytes(type) - 1; last < keys.bytes.size(); last += KeyBytes(type)) keys.bytes[last] &= '\xBF';
  }
  return keys;
}

/// The key at `index`, exactly: a long double holds every 64-bit integer and every double.
long double KeyAt(const Array& keys, int64_t index) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const char* at = keys.bytes.data() + index * keys.type.bytes();
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (keys.type.key_type()) {
    case KeyType::kInt8:
      return as(int8_t{});
    case KeyType::kInt16:
      return as(int16_t{});
    case KeyType::kInt32:
      return as(int32_t{});
    case KeyType::kInt64:
      return as(int64_t{});
    case KeyType::kUint8:
      return as(uint8_t{});
    case KeyType::kUint16:
      return as(uint16_t{});
    case KeyType::kUint32:
      return as(uint32_t{});
    case KeyType::kUint64:
      return as(uint64_t{});
    case KeyType::kFloat16:
      return as(client::Float16{}).ToFloat();
    case KeyType::kBfloat16:
      return as(client::Bfloat16{}).ToFloat();
    case KeyType::kFloat32:
      return as(float{});
    case KeyType::kFloat64:
      return as(double{});
  }
  return 0;
}

std::vector<long double> Decoded(const Array& keys) {
  std::vector<long double> decoded(keys.count());
  for (size_t i = 0; i < decoded.size(); ++i) decoded[i] = KeyAt(keys, static_cast<int64_t>(i));
  return decoded;
}

std::vector<int64_t> StableOrder(const Array& keys) {
  const std::vector<long double> decoded = Decoded(keys);
  std::vector<int64_t> order(decoded.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return decoded[a] < decoded[b]; });
  return order;
}

/// The elements at these positions, in this order.
Array Taken(const Array& array, const std::vector<int64_t>& positions) {
  Array taken{array.type, ""};
  taken.bytes.reserve(positions.size() * array.type.bytes());
  for (const int64_t position : positions) {
    taken.bytes.append(array.bytes, position * array.type.bytes(), array.type.bytes());
  }
  return taken;
}

/// Counts with the mean kMeanInterval and the sum `total`.
std::vector<int64_t> RandomCounts(int64_t total, std::mt19937_64* random) {
  std::vector<int64_t> counts;
  while (total > 0) {
    counts.push_back(std::min<int64_t>(total, static_cast<int64_t>((*random)() % (2 * kMeanInterval + 1))));
    total -= counts.back();
  }
  return counts;
}

absl::Status Same(bool same) {
  return same ? absl::OkStatus() : absl::DataLossError("the server's answer differs from the one computed here");
}

/// A workload made of two functions. Fn calls the operator: Client -> StatusOr<Result>. CheckFn says whether a result
/// is correct.
template <typename Fn, typename CheckFn>
class OperatorWorkload final : public Workload {
 public:
  OperatorWorkload(Fn call, CheckFn is_right, int64_t bytes)
      : call_(std::move(call)), is_right_(std::move(is_right)), bytes_(bytes) {}

  absl::StatusOr<RequestStats> Call(const Client& client) const override {
    auto result = call_(client);
    if (!result.ok()) return result.status();
    return std::move(result->stats);
  }
  absl::Status Check(const Client& client) const override {
    auto result = call_(client);
    return result.ok() ? Same(is_right_(*result)) : result.status();
  }
  int64_t bytes() const override { return bytes_; }

 private:
  const Fn call_;
  const CheckFn is_right_;
  const int64_t bytes_;
};

template <typename Fn, typename CheckFn>
std::unique_ptr<Workload> Make(Fn call, CheckFn is_right, int64_t bytes) {
  return std::make_unique<OperatorWorkload<Fn, CheckFn>>(std::move(call), std::move(is_right), bytes);
}

std::unique_ptr<Workload> SortWorkload(Array keys) {
  const int64_t bytes = static_cast<int64_t>(2 * keys.bytes.size());
  const auto shared = std::make_shared<const Array>(std::move(keys));
  return Make(
      [shared](const Client& client) {
        client::SortRequest request;
        request.keys = shared->view();
        return client.Sort(request);
      },
      [shared](const client::RawSortResult& result) {
        return result.keys.has_value() && result.keys->bytes == Taken(*shared, StableOrder(*shared)).bytes;
      },
      bytes);
}

std::unique_ptr<Workload> ArgsortWorkload(Array keys) {
  const int64_t bytes = static_cast<int64_t>(keys.bytes.size() + keys.count() * sizeof(uint32_t));
  const auto shared = std::make_shared<const Array>(std::move(keys));
  return Make(
      [shared](const Client& client) {
        client::SortRequest request;
        request.keys = shared->view();
        request.output = client::SortOutput::kIndices;
        return client.Sort(request);
      },
      [shared](const client::RawSortResult& result) {
        if (!result.indices.has_value()) return false;
        const auto indices = client::ToIndices(*result.indices);
        return indices.ok() && *indices == StableOrder(*shared);
      },
      bytes);
}

std::unique_ptr<Workload> MergeWorkload(const Array& keys) {
  struct Inputs {
    Array a, b, all;
  };
  Inputs inputs;
  const size_t half = keys.count() / 2 * keys.type.bytes();
  inputs.a = Array{keys.type, keys.bytes.substr(0, half)};
  inputs.b = Array{keys.type, keys.bytes.substr(half)};
  for (Array* side : {&inputs.a, &inputs.b}) *side = Taken(*side, StableOrder(*side));
  inputs.all = Array{keys.type, inputs.a.bytes + inputs.b.bytes};
  const auto shared = std::make_shared<const Inputs>(std::move(inputs));
  return Make(
      [shared](const Client& client) {
        client::MergeRequest request;
        request.keys = {shared->a.view(), shared->b.view()};
        return client.Merge(request);
      },
      [shared](const client::RawMergeResult& result) {
        return result.keys.bytes == Taken(shared->all, StableOrder(shared->all)).bytes;
      },
      static_cast<int64_t>(2 * keys.bytes.size()));
}

std::unique_ptr<Workload> SearchWorkload(const Array& keys, Array needles) {
  const auto haystack = std::make_shared<const Array>(Taken(keys, StableOrder(keys)));
  const auto wanted = std::make_shared<const Array>(std::move(needles));
  return Make(
      [haystack, wanted](const Client& client) {
        client::SearchRequest request;
        request.haystack = haystack->view();
        request.needles = wanted->view();
        return client.Search(request);
      },
      [haystack, wanted](const client::RawResult& result) {
        const auto positions = client::ToIndices(result.array);
        if (!positions.ok() || static_cast<int64_t>(positions->size()) != wanted->count()) return false;
        const std::vector<long double> sorted = Decoded(*haystack);
        for (size_t i = 0; i < positions->size(); ++i) {
          const auto found = std::lower_bound(sorted.begin(), sorted.end(), KeyAt(*wanted, static_cast<int64_t>(i)));
          if ((*positions)[i] != found - sorted.begin()) return false;
        }
        return true;
      },
      static_cast<int64_t>(2 * keys.bytes.size() + wanted->count() * sizeof(uint32_t)));
}

/// Intervals of a source in order, and their destinations: the same intervals in a random order, without a gap.
struct Intervals {
  Array source;
  std::vector<int64_t> counts, source_offsets, destination_offsets;
};

std::shared_ptr<const Intervals> RandomIntervals(Array source, std::mt19937_64* random) {
  auto intervals = std::make_shared<Intervals>();
  intervals->counts = RandomCounts(source.count(), random);
  const size_t n = intervals->counts.size();
  intervals->source_offsets.resize(n);
  std::exclusive_scan(intervals->counts.begin(), intervals->counts.end(), intervals->source_offsets.begin(),
                      int64_t{0});
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *random);
  intervals->destination_offsets.resize(n);
  int64_t next = 0;
  for (const size_t i : order) {
    intervals->destination_offsets[i] = next;
    next += intervals->counts[i];
  }
  intervals->source = std::move(source);
  return intervals;
}

/// The elements of `source` after interval i moved from from[i] to to[i]. The intervals cover the whole result.
std::string Moved(const Intervals& intervals, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  const int64_t width = intervals.source.type.bytes();
  std::string moved(intervals.source.bytes.size(), '\0');
  for (size_t i = 0; i < intervals.counts.size(); ++i) {
    std::memcpy(&moved[to[i] * width], &intervals.source.bytes[from[i] * width], intervals.counts[i] * width);
  }
  return moved;
}

std::unique_ptr<Workload> MoveWorkload(const std::shared_ptr<const Intervals>& work) {
  return Make(
      [work](const Client& client) {
        return client.MoveIntervals({work->source.view(), work->source_offsets, work->destination_offsets, work->counts,
                                     work->source.count(), false});
      },
      [work](const client::RawResult& result) {
        return result.array.bytes == Moved(*work, work->source_offsets, work->destination_offsets);
      },
      static_cast<int64_t>(2 * work->source.bytes.size() + 3 * sizeof(int64_t) * work->counts.size()));
}

std::unique_ptr<Workload> ScatterWorkload(const std::shared_ptr<const Intervals>& work) {
  return Make(
      [work](const Client& client) {
        return client.ScatterIntervals(
            {work->source.view(), work->destination_offsets, work->counts, work->source.count(), false});
      },
      [work](const client::RawResult& result) {
        return result.array.bytes == Moved(*work, work->source_offsets, work->destination_offsets);
      },
      static_cast<int64_t>(2 * work->source.bytes.size() + 2 * sizeof(int64_t) * work->counts.size()));
}

/// Gathers the intervals that Move writes, so that the answer is in the order of the counts.
std::unique_ptr<Workload> GatherWorkload(const std::shared_ptr<const Intervals>& work) {
  return Make(
      [work](const Client& client) {
        return client.GatherIntervals({work->source.view(), work->destination_offsets, work->counts});
      },
      [work](const client::RawResult& result) {
        return result.array.bytes == Moved(*work, work->destination_offsets, work->source_offsets);
      },
      static_cast<int64_t>(2 * work->source.bytes.size() + 2 * sizeof(int64_t) * work->counts.size()));
}

std::unique_ptr<Workload> ExpandWorkload(KeyType type, int64_t total, std::mt19937_64* random) {
  const auto counts = std::make_shared<const std::vector<int64_t>>(RandomCounts(total, random));
  const auto values = std::make_shared<const Array>(RandomKeys(type, static_cast<int64_t>(counts->size()), random));
  return Make(
      [counts, values](const Client& client) {
        return client.ExpandIntervals({values->view(), *counts});
      },
      [counts, values](const client::RawResult& result) {
        std::vector<int64_t> positions;
        for (size_t i = 0; i < counts->size(); ++i) positions.insert(positions.end(), (*counts)[i], i);
        return result.array.bytes == Taken(*values, positions).bytes;
      },
      static_cast<int64_t>(values->bytes.size() + sizeof(int64_t) * counts->size()) + total * KeyBytes(type));
}

std::unique_ptr<Workload> LoadBalanceWorkload(int64_t total, std::mt19937_64* random) {
  const auto counts = std::make_shared<const std::vector<int64_t>>(RandomCounts(total, random));
  return Make(
      [counts](const Client& client) { return client.LoadBalance(client::LoadBalanceRequest{*counts}); },
      [counts](const client::RawLoadBalanceResult& result) {
        const auto objects = client::ToIndices(result.objects), ranks = client::ToIndices(result.ranks);
        if (!objects.ok() || !ranks.ok()) return false;
        std::vector<int64_t> right_objects, right_ranks;
        for (size_t i = 0; i < counts->size(); ++i) {
          for (int64_t rank = 0; rank < (*counts)[i]; ++rank) {
            right_objects.push_back(static_cast<int64_t>(i));
            right_ranks.push_back(rank);
          }
        }
        return *objects == right_objects && *ranks == right_ranks;
      },
      static_cast<int64_t>(sizeof(int64_t) * counts->size()) + total * 2 * static_cast<int64_t>(sizeof(uint32_t)));
}

struct Entry {
  const char* name;
  std::unique_ptr<Workload> (*create)(KeyType type, int64_t count, std::mt19937_64* random);
};

constexpr Entry kEntries[] = {
    {"sort", [](KeyType type, int64_t count,
                std::mt19937_64* random) { return SortWorkload(RandomKeys(type, count, random)); }},
    {"argsort", [](KeyType type, int64_t count,
                   std::mt19937_64* random) { return ArgsortWorkload(RandomKeys(type, count, random)); }},
    {"merge", [](KeyType type, int64_t count,
                 std::mt19937_64* random) { return MergeWorkload(RandomKeys(type, count, random)); }},
    {"expand", ExpandWorkload},
    {"move",
     [](KeyType type, int64_t count, std::mt19937_64* random) {
       return MoveWorkload(RandomIntervals(RandomKeys(type, count, random), random));
     }},
    {"gather",
     [](KeyType type, int64_t count, std::mt19937_64* random) {
       return GatherWorkload(RandomIntervals(RandomKeys(type, count, random), random));
     }},
    {"scatter",
     [](KeyType type, int64_t count, std::mt19937_64* random) {
       return ScatterWorkload(RandomIntervals(RandomKeys(type, count, random), random));
     }},
    {"load-balance",
     [](KeyType, int64_t count, std::mt19937_64* random) { return LoadBalanceWorkload(count, random); }},
    {"search",
     [](KeyType type, int64_t count, std::mt19937_64* random) {
       const Array haystack = RandomKeys(type, count, random);
       return SearchWorkload(haystack, RandomKeys(type, count, random));
     }},
};

}  // namespace

std::vector<std::string> WorkloadNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Workload> CreateWorkload(const std::string& name, KeyType type, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.create(type, count, &random);
  }
  return nullptr;
}

}  // namespace corank::cli
