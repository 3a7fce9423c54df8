#include "bench/shards/cases.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/harness/inputs.h"
#include "bench/shards/arrays.h"
#include "bench/shards/interval_cases.h"
#include "bench/shards/large_cases.h"
#include "bench/shards/merge_cases.h"
#include "bench/shards/table_cases.h"
#include "kernels/engine/sharded_sort.h"

namespace corank::bench {
namespace {

// The rows of one device: where they come from and where they go.
struct Part {
  int64_t first = 0, count = 0;
  std::unique_ptr<EngineStream> stream, copier, sender;
  Memory keys_in, values_in, keys_out, values_out;

  std::vector<EngineStream*> Streams() const { return {stream.get(), copier.get(), sender.get()}; }
};

// What a case sorts, and where.
struct SortWork {
  bool on_devices = false;     // the copies between the host and the devices are not timed
  bool makes_indices = false;  // the values are the keys' indices, which the devices make
  bool are_linked = true;

  const char* Name() const {
    if (makes_indices) return "argsort in device memory";
    return on_devices ? "sort in device memory" : "sort from host memory";
  }
  const char* Group() const {
    if (makes_indices) return "argsort/";
    return on_devices ? "device/" : "host/";
  }
};

class Sorter {
 public:
  Sorter(std::shared_ptr<Data> data, size_t index, KeyType type, std::vector<Engine*> engines, const SortWork& work)
      : data_(std::move(data)), index_(index), engines_(std::move(engines)), work_(work) {
    options_.key_type = type;
    options_.value_bytes = static_cast<int32_t>(data_->value_bytes);
    options_.are_linked = work_.are_linked;
    options_.lends_keys = options_.lends_values = true;
  }

  // Allocates for one run, because not all contestants have room at a time.
  absl::StatusOr<double> Run() {
    absl::Status status = Prepare();
    // Later requests of a server find the memory of the streams, pinned too, and what copies between GPUs need.
    if (status.ok()) status = Work();
    double seconds = 0;
    if (status.ok()) {
      const absl::Time start = absl::Now();
      status = Work();
      seconds = absl::ToDoubleSeconds(absl::Now() - start);
    }
    if (status.ok() && work_.on_devices) status = Fetch();
    parts_.clear();
    cutters_.clear();
    if (!status.ok()) return status;
    return seconds;
  }

 private:
  absl::Status Prepare() {
    const auto shards = static_cast<int64_t>(engines_.size());
    for (int64_t i = 0; i < shards; ++i) {
      Engine& engine = *engines_[static_cast<size_t>(i)];
      Part part;
      part.first = data_->count * i / shards;
      part.count = data_->count * (i + 1) / shards - part.first;
      absl::Status status;
      AllocateDevice(engine, part.count * data_->key_bytes, &part.keys_in, status);
      AllocateDevice(engine, part.count * data_->key_bytes, &part.keys_out, status);
      AllocateDevice(engine, part.count * data_->value_bytes, &part.values_in, status);
      AllocateDevice(engine, part.count * data_->value_bytes, &part.values_out, status);
      status.Update(MakeStreams(engine, {&part.stream, &part.copier, &part.sender}));
      if (!status.ok()) return status;
      parts_.push_back(std::move(part));
    }
    for (Engine* const engine : engines_) {
      auto cutter = engine->CreateStream();
      if (!cutter.ok()) return cutter.status();
      cutters_.push_back(*std::move(cutter));
    }
    if (work_.on_devices) {
      for (Part& part : parts_) {
        absl::Status status = part.stream->Begin();
        status.Update(CopyIn(part));
        status.Update(part.stream->EndCopyIn());
        status.Update(part.stream->Finish().status());
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CopyIn(Part& part) const {
    const auto copy = [&part](const Memory& to, const Memory& from, int64_t bytes) {
      if (to == nullptr) return absl::OkStatus();
      return part.stream->CopyToDevice(to->data(), static_cast<char*>(from->data()) + part.first * bytes,
                                       part.count * bytes);
    };
    absl::Status status = copy(part.keys_in, data_->keys, data_->key_bytes);
    if (!work_.makes_indices) status.Update(copy(part.values_in, data_->values, data_->value_bytes));
    return status;
  }
  absl::Status CopyOut(Part& part) const {
    const auto copy = [&part](const Memory& to, const Memory& from, int64_t bytes) {
      if (from == nullptr) return absl::OkStatus();
      return part.stream->CopyToHost(static_cast<char*>(to->data()) + part.first * bytes, from->data(),
                                     part.count * bytes);
    };
    absl::Status status = copy(data_->sorted_keys[index_], part.keys_out, data_->key_bytes);
    status.Update(copy(data_->sorted_values[index_], part.values_out, data_->value_bytes));
    return status;
  }
  absl::Status Fetch() {
    absl::Status status;
    for (Part& part : parts_) {
      status.Update(part.stream->Begin());
      status.Update(CopyOut(part));
      status.Update(part.stream->Finish().status());
    }
    return status;
  }

  absl::Status Work() {
    absl::Status status = Enqueue();
    for (Part& part : parts_) {
      for (EngineStream* const stream : part.Streams()) status.Update(stream->Finish().status());
    }
    return status;
  }
  absl::Status Enqueue() {
    absl::Status status;
    for (Part& part : parts_) {
      for (EngineStream* const stream : part.Streams()) status.Update(stream->Begin());
      if (!work_.on_devices) status.Update(CopyIn(part));
      if (work_.makes_indices && parts_.size() > 1) {
        status.Update(part.stream->Iota(part.values_in->data(), options_.value_bytes, part.first, part.count));
      }
      status.Update(part.stream->EndCopyIn());
    }
    if (!status.ok()) return status;
    if (parts_.size() == 1) return SortWhole(parts_.front());
    std::vector<Shard> shards;
    for (Part& part : parts_) {
      shards.push_back({part.count, part.keys_in->data(), PlaceOf(part.values_in), ResultOf(part)});
    }
    sort_ = std::make_unique<ShardedSort>(options_, std::move(shards));
    status = sort_->SortEach();
    if (status.ok()) status = Cut();
    if (status.ok()) status = sort_->MergePieces();
    return status;
  }
  absl::Status Cut() {
    if (options_.are_linked) return sort_->Cut(*cutters_.front());
    std::vector<EngineStream*> cutters;
    for (const auto& cutter : cutters_) cutters.push_back(cutter.get());
    return sort_->CutBySamples(cutters);
  }
  ShardResult ResultOf(const Part& part) const {
    ShardResult result;
    result.stream = part.stream.get();
    result.copier = part.copier.get();
    result.count = part.count;
    result.keys = part.keys_out->data();
    result.values = PlaceOf(part.values_out);
    if (work_.on_devices) return result;
    result.sender = part.sender.get();
    const auto place = [&part](const Memory& memory, int64_t bytes) {
      return memory == nullptr ? nullptr : static_cast<char*>(memory->data()) + part.first * bytes;
    };
    result.h_keys = place(data_->sorted_keys[index_], data_->key_bytes);
    result.h_values = place(data_->sorted_values[index_], data_->value_bytes);
    return result;
  }
  absl::Status SortWhole(Part& part) {
    SortArgs args;
    args.key_type = options_.key_type;
    args.count = part.count;
    args.keys_in = part.keys_in->data();
    args.keys_out = part.keys_out->data();
    if (work_.makes_indices) {
      args.indices_out = PlaceOf(part.values_out);
    } else {
      args.values_in = PlaceOf(part.values_in);
      args.values_out = PlaceOf(part.values_out);
      args.value_bytes = options_.value_bytes;
    }
    absl::Status status = part.stream->Sort(args, &report_);
    status.Update(part.stream->EndKernels());
    if (!work_.on_devices) status.Update(CopyOut(part));
    return status;
  }

  const std::shared_ptr<Data> data_;
  const size_t index_;
  const std::vector<Engine*> engines_;
  const SortWork work_;
  ShardedSort::Options options_;
  std::unique_ptr<ShardedSort> sort_;
  std::vector<Part> parts_;
  std::vector<std::unique_ptr<EngineStream>> cutters_;
  OperatorReport report_;
};

template <typename Bits>
absl::StatusOr<Contest> Prepare(const Row& row, Distribution distribution, int64_t value_bytes, const SortWork& work,
                                const std::vector<Engine*>& engines) {
  auto made = AllocateData(row.n, sizeof(Bits), value_bytes, engines);
  if (!made.ok()) return made.status();
  const std::shared_ptr<Data> data = *made;
  InputSpec spec;
  spec.distribution = distribution;
  spec.count = row.n;
  auto* const keys = static_cast<Bits*>(data->keys->data());
  auto* const values = static_cast<uint32_t*>(PlaceOf(data->values));
  OnAllCores(row.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) keys[i] = InputKey<Bits>(spec, i);
    for (int64_t i = begin; i < end && values != nullptr; ++i) values[i] = static_cast<uint32_t>(i);
  });
  const auto least_ratio = [=](size_t devices) {
    if (distribution != Distribution::kUniform || row.type != "u32" || !work.are_linked) return 0.0;
    switch (devices) {
      case 2:
        return work.on_devices ? 1.5 : 1.7;
      case 4:
        return work.on_devices ? 2.7 : 2.8;
      case 8:
        return work.on_devices ? 5.0 : 4.0;
      default:
        return 0.0;
    }
  };
  return ContestOf(data, row, least_ratio, engines, [=](size_t index, const std::vector<Engine*>& on) {
    constexpr KeyType kType = sizeof(Bits) == 4 ? KeyType::kUint32 : KeyType::kUint64;
    auto sorter = std::make_shared<Sorter>(data, index, kType, on, work);
    return [sorter] { return sorter->Run(); };
  });
}

template <typename Bits>
void Add(Distribution distribution, int64_t bytes, int64_t value_bytes, SortWork work,
         const ShardsBenchOptions& options, const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  work.are_linked = options.are_linked;
  Case entry;
  Row& row = entry.failure_row;
  row.row = work.Name();
  row.type = absl::StrCat("u", 8 * sizeof(Bits), value_bytes > 0 ? "+u32" : "");
  row.n = bytes / static_cast<int64_t>(sizeof(Bits));
  row.distribution = DistributionName(distribution);
  row.unit = "Gkeys/s";
  entry.name = absl::StrCat(work.Group(), row.type, "/", row.distribution);
  entry.repetitions = options.repetitions;
  entry.prepare = [=] { return Prepare<Bits>(row, distribution, value_bytes, work, engines); };
  cases->push_back(std::move(entry));
}

void AddSortsFromHost(int log2_bytes, ShardsBenchOptions options, const std::vector<Engine*>& engines,
                      std::vector<Case>* cases) {
  const size_t others = cases->size();
  const int64_t bytes = int64_t{1} << log2_bytes;
  options.log2_host_bytes = log2_bytes;
  Add<uint32_t>(Distribution::kUniform, bytes, 0, SortWork{}, options, engines, cases);
  Add<uint32_t>(Distribution::kUniform, bytes / 2, 4, SortWork{}, options, engines, cases);
  AddShardTableCases(options, engines, cases);
  for (size_t i = others; i < cases->size(); ++i) absl::StrAppend(&(*cases)[i].name, "/2^", log2_bytes);
}

}  // namespace

void AddShardCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  const int64_t bytes = int64_t{1} << options.log2_bytes;
  const SortWork on_devices{true}, argsort{true, true};
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kReversed, Distribution::kSixteenValues, Distribution::kSixteenRuns}) {
    Add<uint32_t>(distribution, bytes, 0, on_devices, options, engines, cases);
  }
  Add<uint64_t>(Distribution::kUniform, bytes, 0, on_devices, options, engines, cases);
  Add<uint64_t>(Distribution::kUniform, bytes / 2, 4, on_devices, options, engines, cases);
  Add<uint32_t>(Distribution::kUniform, bytes / 2, 4, on_devices, options, engines, cases);
  Add<uint32_t>(Distribution::kUniform, bytes / 2, 4, argsort, options, engines, cases);
  if (options.are_linked) AddShardMergeCases(options, engines, cases);
  for (int log2 = options.least_log2_host_bytes; log2 <= options.log2_host_bytes; ++log2) {
    AddSortsFromHost(log2, options, engines, cases);
  }
  if (options.are_linked) AddShardIntervalCases(options, engines, cases);
  if (options.are_linked) AddLargeShardCases(options, engines, cases);
}

}  // namespace corank::bench
