#include "bench/shards/large_cases.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/shards/arrays.h"
#include "kernels/engine/sharded_sort.h"

namespace corank::bench {
namespace {

constexpr int64_t kKeyBytes = sizeof(uint64_t);
constexpr int64_t kStagingKeys = int64_t{1} << 26;
// Arrays have this many times the memory of a device.
constexpr double kDevices = 1.1;

enum class Work { kSort, kMerge };

// A permutation of the 64-bit integers: the finalizer of SplitMix64, by S. Vigna.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}
uint64_t Unmix(uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642B2D24D8EC3;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96DE1B173F119089;
  return x ^ (x >> 30) ^ (x >> 60);
}

// What one device has. A merge has half of the keys of each of two arrays.
struct LargePart {
  int64_t first = 0, count = 0;
  std::unique_ptr<EngineStream> stream, copier;
  Memory staging, keys_in, keys_out;
};

ShardedSort::Options SortOptions() {
  ShardedSort::Options options;
  options.key_type = KeyType::kUint64;
  options.lends_keys = true;
  return options;
}
ShardedMerge::Options MergeOptions() {
  ShardedMerge::Options options;
  options.key_type = KeyType::kUint64;
  options.check_sorted = true;
  return options;
}

int64_t WorkspaceBytes(Work work, int64_t part, int devices, const Engine& engine) {
  return work == Work::kSort ? ShardedSort::WorkspaceBytes(SortOptions(), part, part, devices, engine)
                             : ShardedMerge::WorkspaceBytes(MergeOptions(), part, 2 * devices, engine);
}

// Sorts the keys Mix(0), Mix(1), ..., or merges 0, 2, 4, ... with 1, 3, 5, ....
class LargeWorker {
 public:
  LargeWorker(Work work, int64_t count, std::vector<Engine*> engines)
      : work_(work), count_(count), engines_(std::move(engines)) {}

  // Allocates for one run, because contestants have no room at a time.
  absl::StatusOr<double> Run() {
    absl::Status status = Prepare();
    absl::StatusOr<double> seconds = 0;
    if (status.ok()) {
      std::vector<EngineStream*> streams;
      for (const LargePart& part : parts_) streams.insert(streams.end(), {part.stream.get(), part.copier.get()});
      seconds = SecondsOf([this] { return DoWork(); }, streams);
      status = seconds.status();
    }
    if (status.ok()) status = Check();
    sort_.reset();
    merge_.reset();
    parts_.clear();
    cutter_.reset();
    if (!status.ok()) return status;
    return seconds;
  }

 private:
  absl::Status Prepare() {
    const auto devices = static_cast<int64_t>(engines_.size());
    for (int64_t i = 0; i < devices; ++i) {
      Engine& engine = *engines_[static_cast<size_t>(i)];
      LargePart part;
      // Even, for halves.
      part.first = count_ / 2 * i / devices * 2;
      part.count = count_ / 2 * (i + 1) / devices * 2 - part.first;
      absl::Status status;
      AllocateDevice(engine, part.count * kKeyBytes, &part.keys_in, status);
      AllocateDevice(engine, part.count * kKeyBytes, &part.keys_out, status);
      auto staging = engine.AllocateHost(kStagingKeys * kKeyBytes);
      status.Update(staging.status());
      status.Update(MakeStreams(engine, {&part.stream, &part.copier}));
      if (!status.ok()) return status;
      part.staging = *std::move(staging);
      parts_.push_back(std::move(part));
    }
    auto cutter = engines_.front()->CreateStream();
    if (!cutter.ok()) return cutter.status();
    cutter_ = *std::move(cutter);
    return ForStaged([this](LargePart& part, int64_t first, int64_t count) {
      auto* const keys = static_cast<uint64_t*>(part.staging->data());
      OnAllCores(count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) keys[i] = KeyAt(part, first + i);
      });
      return part.stream->CopyToDevice(static_cast<uint64_t*>(part.keys_in->data()) + first, keys, count * kKeyBytes);
    });
  }
  // For a merge, the first half of a part belongs to the first array, and the second half to the second.
  uint64_t KeyAt(const LargePart& part, int64_t i) const {
    if (work_ == Work::kSort) return Mix(static_cast<uint64_t>(part.first + i));
    const int64_t half = part.count / 2;
    return static_cast<uint64_t>(i < half ? part.first + 2 * i : part.first + 2 * (i - half) + 1);
  }

  // Every device takes a piece in turn.
  template <typename Enqueue>
  absl::Status ForStaged(const Enqueue& enqueue) {
    for (int64_t first = 0; first < parts_.back().count + 1; first += kStagingKeys) {
      absl::Status status;
      for (LargePart& part : parts_) {
        status.Update(part.stream->Begin());
        const int64_t count = std::min(kStagingKeys, part.count - first);
        if (status.ok() && count > 0) status = enqueue(part, first, count);
      }
      for (LargePart& part : parts_) status.Update(part.stream->Finish().status());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status DoWork() {
    absl::Status status;
    std::vector<ShardResult> results;
    for (LargePart& part : parts_) {
      status.Update(part.stream->Begin());
      status.Update(part.copier->Begin());
      status.Update(part.stream->EndCopyIn());
      ShardResult& result = results.emplace_back();
      result.stream = part.stream.get();
      result.copier = part.copier.get();
      result.count = part.count;
      result.keys = part.keys_out->data();
    }
    if (!status.ok()) return status;
    if (parts_.size() == 1) return WorkOnOne();
    return work_ == Work::kSort ? Sort(std::move(results)) : Merge(std::move(results));
  }
  absl::Status Sort(std::vector<ShardResult> results) {
    std::vector<Shard> shards;
    for (size_t i = 0; i < parts_.size(); ++i) {
      shards.push_back({parts_[i].count, parts_[i].keys_in->data(), nullptr, results[i]});
    }
    sort_ = std::make_unique<ShardedSort>(SortOptions(), std::move(shards));
    absl::Status status = sort_->SortEach();
    if (status.ok()) status = sort_->Cut(*cutter_);
    if (status.ok()) status = sort_->MergePieces();
    return status;
  }
  absl::Status Merge(std::vector<ShardResult> results) {
    std::vector<ShardedMerge::Run> runs;
    for (const int64_t array : {0, 1}) {
      for (size_t i = 0; i < parts_.size(); ++i) {
        const int64_t half = parts_[i].count / 2;
        runs.push_back({static_cast<const char*>(parts_[i].keys_in->data()) + array * half * kKeyBytes, nullptr, half,
                        i, /*continues=*/i > 0});
      }
    }
    merge_ = std::make_unique<ShardedMerge>(MergeOptions(), std::move(results));
    absl::Status status = merge_->Cut(std::move(runs), {}, *cutter_);
    if (status.ok()) status = merge_->Merge();
    return status;
  }
  absl::Status WorkOnOne() {
    LargePart& part = parts_.front();
    absl::Status status;
    if (work_ == Work::kSort) {
      SortArgs args;
      args.key_type = KeyType::kUint64;
      args.count = part.count;
      args.keys_in = part.keys_in->data();
      args.keys_out = part.keys_out->data();
      status = part.stream->Sort(args, &report_);
    } else {
      auto* const keys = static_cast<const uint64_t*>(part.keys_in->data());
      const int64_t half = part.count / 2;
      const MergeInput inputs[] = {{keys, nullptr, half}, {keys + half, nullptr, half}};
      MergeArgs args;
      args.key_type = KeyType::kUint64;
      args.inputs = inputs;
      args.input_count = 2;
      args.keys_out = part.keys_out->data();
      args.check_sorted = true;
      status = part.stream->Merge(args, &report_);
    }
    status.Update(part.stream->EndKernels());
    return status;
  }

  // Mix is a permutation: if the keys ascend and each is Mix of some position, all of them are there.
  absl::Status Check() {
    std::atomic<bool> same{true};
    uint64_t last = 0;  // of the part before
    for (LargePart& part : parts_) {
      auto* const keys = static_cast<const uint64_t*>(part.staging->data());
      for (int64_t first = 0; first < part.count; first += kStagingKeys) {
        const int64_t count = std::min(kStagingKeys, part.count - first), before = part.first + first;
        absl::Status status = part.stream->Begin();
        status.Update(part.stream->CopyToHost(
            part.staging->data(), static_cast<uint64_t*>(part.keys_out->data()) + first, count * kKeyBytes));
        status.Update(part.stream->Finish().status());
        if (!status.ok()) return status;
        OnAllCores(count, [&](int64_t begin, int64_t end) {
          bool all = true;
          for (int64_t i = begin; i < end; ++i) {
            if (work_ == Work::kMerge) {
              all &= keys[i] == static_cast<uint64_t>(before + i);
            } else {
              all &= Unmix(keys[i]) < static_cast<uint64_t>(count_) &&
                     (before + i == 0 || (i > 0 ? keys[i - 1] : last) < keys[i]);
            }
          }
          if (!all) same = false;
        });
        last = keys[count - 1];
      }
    }
    return same ? absl::OkStatus() : absl::InternalError("a key is wrong");
  }

  const Work work_;
  const int64_t count_;
  const std::vector<Engine*> engines_;
  std::vector<LargePart> parts_;
  std::unique_ptr<EngineStream> cutter_;
  std::unique_ptr<ShardedSort> sort_;
  std::unique_ptr<ShardedMerge> merge_;
  OperatorReport report_;
};

void Add(Work work, int64_t count, const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  const auto devices = static_cast<int64_t>(engines.size());
  const int64_t part = count / devices + 2;
  const int64_t needed = 2 * part * kKeyBytes + WorkspaceBytes(work, part, static_cast<int>(devices), *engines.front());
  constexpr double kUsable = 0.97;
  const std::string name = absl::StrCat("large/", work == Work::kSort ? "sort" : "merge");
  for (const Engine* const engine : engines) {
    const auto usable = static_cast<int64_t>(kUsable * static_cast<double>(engine->info().memory_bytes));
    if (needed <= usable) continue;
    std::fprintf(
        stderr, "shards_bench: leaves out %s, which needs %lld bytes on each of %lld devices; one has %lld to use\n",
        name.c_str(), static_cast<long long>(needed), static_cast<long long>(devices), static_cast<long long>(usable));
    return;
  }
  Case entry;
  Row& row = entry.failure_row;
  row.row =
      absl::StrCat(work == Work::kSort ? "sort" : "merge", " of an array larger than a device, ", devices, " devices");
  row.type = "u64";
  row.n = count;
  row.distribution = work == Work::kSort ? "uniform" : "interleaved";
  row.unit = "Gkeys/s";
  row.reference_name = "one device, its part";
  row.details["devices"] = static_cast<double>(devices);
  row.details["GiB"] = static_cast<double>(count * kKeyBytes) / (int64_t{1} << 30);
  entry.name = name;
  entry.repetitions = 3;
  entry.prepare = [=]() -> absl::StatusOr<Contest> {
    auto all = std::make_shared<LargeWorker>(work, count, engines);
    auto one = std::make_shared<LargeWorker>(work, count / devices, std::vector<Engine*>{engines.front()});
    Contest contest;
    contest.contestants.push_back({"all devices", [all] { return all->Run(); }});
    contest.contestants.push_back({"one device", [one] { return one->Run(); }});
    contest.check = [] { return absl::OkStatus(); };  // each run checks its own
    contest.rows = [row](const std::vector<Summary>& seconds) {
      Row line = row;
      const auto keys = static_cast<double>(row.n);
      line.ours = GigaPerSecond(seconds[0], keys);
      line.reference = GigaPerSecond(seconds[1], keys / row.details.at("devices"));
      return std::vector<Row>{line};
    };
    return contest;
  };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddLargeShardCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases) {
  const EngineInfo& info = engines.front()->info();
  const bool is_cuda = info.kind == EngineKind::kCuda;
  const auto count = is_cuda
                         ? static_cast<int64_t>(kDevices * static_cast<double>(info.memory_bytes)) / kKeyBytes / 2 * 2
                         : (int64_t{1} << options.log2_bytes) / kKeyBytes;
  for (const Work work : {Work::kSort, Work::kMerge}) Add(work, count, engines, cases);
}

}  // namespace corank::bench
