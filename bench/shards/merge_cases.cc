#include "bench/shards/merge_cases.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness/inputs.h"
#include "bench/shards/arrays.h"
#include "kernels/engine/sharded_merge.h"

namespace corank::bench {
namespace {

// The first and the second half of the rows.
constexpr int kArrays = 2;

// What one device has of each array and of the result.
struct MergePart {
  int64_t first = 0, count = 0;  // of the result
  std::unique_ptr<EngineStream> stream, copier;
  Memory keys[kArrays], values[kArrays], keys_out, values_out;
};

// Merges the arrays, which lie in the devices' memory, and checks that they are sorted.
class Merger {
 public:
  Merger(std::shared_ptr<Data> data, size_t index, std::vector<Engine*> engines)
      : data_(std::move(data)), index_(index), engines_(std::move(engines)) {
    options_.value_bytes = static_cast<int32_t>(data_->value_bytes);
    options_.check_sorted = true;
  }

  // Allocates for one run, because not all contestants have room at a time.
  absl::StatusOr<double> Run() {
    absl::Status status = Prepare();
    absl::StatusOr<double> seconds = 0;
    if (status.ok()) {
      std::vector<EngineStream*> streams;
      for (const MergePart& part : parts_) streams.insert(streams.end(), {part.stream.get(), part.copier.get()});
      seconds = SecondsOf([this] { return parts_.size() == 1 ? MergeWhole() : MergeParts(); }, streams);
      status = seconds.status();
    }
    if (status.ok()) status = Fetch();
    merge_.reset();
    parts_.clear();
    cutter_.reset();
    if (!status.ok()) return status;
    return seconds;
  }

 private:
  int64_t devices() const { return static_cast<int64_t>(engines_.size()); }
  int64_t FirstOf(int64_t device, int64_t rows) const { return rows * device / devices(); }
  int64_t CountOf(int64_t device, int64_t rows) const { return FirstOf(device + 1, rows) - FirstOf(device, rows); }
  int64_t array_rows() const { return data_->count / kArrays; }

  absl::Status Prepare() {
    for (int64_t i = 0; i < devices(); ++i) {
      Engine& engine = *engines_[static_cast<size_t>(i)];
      MergePart part;
      part.first = FirstOf(i, data_->count);
      part.count = CountOf(i, data_->count);
      absl::Status status;
      status.Update(MakeStreams(engine, {&part.stream, &part.copier}));
      AllocateDevice(engine, part.count * data_->key_bytes, &part.keys_out, status);
      AllocateDevice(engine, part.count * data_->value_bytes, &part.values_out, status);
      if (!status.ok()) return status;
      status.Update(part.stream->Begin());
      for (int array = 0; array < kArrays; ++array) {
        const auto copy = [&](const Memory& from, int64_t bytes, Memory* to) {
          const int64_t count = CountOf(i, array_rows()), first = array * array_rows() + FirstOf(i, array_rows());
          AllocateDevice(engine, count * bytes, to, status);
          if (!status.ok() || *to == nullptr) return;
          status.Update(part.stream->CopyToDevice((*to)->data(), static_cast<char*>(from->data()) + first * bytes,
                                                  count * bytes));
        };
        copy(data_->keys, data_->key_bytes, &part.keys[array]);
        copy(data_->values, data_->value_bytes, &part.values[array]);
      }
      status.Update(part.stream->Finish().status());
      // The second run of a request finds the streams' memory ready, as in a server.
      const auto runs = static_cast<int>(kArrays * devices());
      const int64_t bytes = ShardedMerge::WorkspaceBytes(options_, part.count, runs, engine);
      for (EngineStream* const stream : {part.stream.get(), part.copier.get()}) {
        status.Update(stream->Begin());
        status.Update(stream->AllocateDevice(bytes).status());
        status.Update(stream->Finish().status());
      }
      if (!status.ok()) return status;
      parts_.push_back(std::move(part));
    }
    auto cutter = engines_.front()->CreateStream();
    if (!cutter.ok()) return cutter.status();
    cutter_ = *std::move(cutter);
    return absl::OkStatus();
  }

  absl::Status MergeParts() {
    absl::Status status;
    std::vector<ShardResult> results;
    for (MergePart& part : parts_) {
      status.Update(part.stream->Begin());
      status.Update(part.copier->Begin());
      status.Update(part.stream->EndCopyIn());
      ShardResult& result = results.emplace_back();
      result.stream = part.stream.get();
      result.copier = part.copier.get();
      result.count = part.count;
      result.keys = part.keys_out->data();
      result.values = PlaceOf(part.values_out);
    }
    std::vector<ShardedMerge::Run> runs;
    for (int array = 0; array < kArrays; ++array) {
      for (size_t i = 0; i < parts_.size(); ++i) {
        runs.push_back({static_cast<const char*>(PlaceOf(parts_[i].keys[array])),
                        static_cast<const char*>(PlaceOf(parts_[i].values[array])),
                        CountOf(static_cast<int64_t>(i), array_rows()), i, /*continues=*/i > 0});
      }
    }
    if (!status.ok()) return status;
    merge_ = std::make_unique<ShardedMerge>(options_, std::move(results));
    status = merge_->Cut(std::move(runs), {}, *cutter_);
    if (status.ok()) status = merge_->Merge();
    return status;
  }

  absl::Status MergeWhole() {
    MergePart& part = parts_.front();
    MergeInput inputs[kArrays];
    for (int array = 0; array < kArrays; ++array) {
      inputs[array] = {PlaceOf(part.keys[array]), PlaceOf(part.values[array]), array_rows()};
    }
    MergeArgs args;
    args.key_type = options_.key_type;
    args.inputs = inputs;
    args.input_count = kArrays;
    args.keys_out = part.keys_out->data();
    args.values_out = PlaceOf(part.values_out);
    args.value_bytes = options_.value_bytes;
    args.check_sorted = options_.check_sorted;
    absl::Status status = part.stream->Begin();
    status.Update(part.copier->Begin());
    status.Update(part.stream->EndCopyIn());
    if (status.ok()) status = part.stream->Merge(args, &report_);
    status.Update(part.stream->EndKernels());
    return status;
  }

  absl::Status Fetch() {
    if (merge_ == nullptr ? report_.fault != OperatorReport::Fault::kNone : !merge_->in_order()) {
      return absl::InternalError("the arrays are sorted, but the merge says that they are not");
    }
    absl::Status status;
    for (MergePart& part : parts_) {
      const auto copy = [&](const Memory& to, const Memory& from, int64_t bytes) {
        if (from == nullptr) return;
        status.Update(part.stream->CopyToHost(static_cast<char*>(to->data()) + part.first * bytes, from->data(),
                                              part.count * bytes));
      };
      status.Update(part.stream->Begin());
      copy(data_->sorted_keys[index_], part.keys_out, data_->key_bytes);
      copy(data_->sorted_values[index_], part.values_out, data_->value_bytes);
      status.Update(part.stream->Finish().status());
    }
    return status;
  }

  const std::shared_ptr<Data> data_;
  const size_t index_;
  const std::vector<Engine*> engines_;
  ShardedMerge::Options options_;
  std::unique_ptr<ShardedMerge> merge_;
  std::vector<MergePart> parts_;
  std::unique_ptr<EngineStream> cutter_;
  OperatorReport report_;
};

// `interleaved`: the keys of both arrays span the whole width, so that each device has almost all rows of its part of
// the result. Otherwise every key of the second array follows every key of the first, and half of the rows move.
absl::StatusOr<Contest> Prepare(const Row& row, bool interleaved, int64_t value_bytes,
                                const std::vector<Engine*>& engines) {
  auto made = AllocateData(row.n, sizeof(uint32_t), value_bytes, engines);
  if (!made.ok()) return made.status();
  const std::shared_ptr<Data> data = *made;
  auto* const keys = static_cast<uint32_t*>(data->keys->data());
  auto* const values = static_cast<uint32_t*>(PlaceOf(data->values));
  const int64_t rows = row.n / kArrays;
  InputSpec spec;
  spec.distribution = Distribution::kSorted;
  spec.count = interleaved ? rows : row.n;
  OnAllCores(row.n, [&](int64_t begin, int64_t end) {
    InputSpec array = spec;
    for (int64_t i = begin; i < end; ++i) {
      if (interleaved) array.seed = static_cast<uint64_t>(1 + i / rows);
      keys[i] = InputKey<uint32_t>(array, interleaved ? i % rows : i);
    }
    for (int64_t i = begin; i < end && values != nullptr; ++i) values[i] = static_cast<uint32_t>(i);
  });
  return ContestOf(
      data, row, [](size_t) { return 0.0; }, engines,
      [=](size_t index, const std::vector<Engine*>& on) {
        auto merger = std::make_shared<Merger>(data, index, on);
        return [merger] { return merger->Run(); };
      });
}

void Add(bool interleaved, int64_t bytes, int64_t value_bytes, const ShardsBenchOptions& options,
         const std::vector<Engine*>& engines, std::vector<Case>* cases) {
  Case entry;
  Row& row = entry.failure_row;
  row.row = "merge in device memory";
  row.type = value_bytes > 0 ? "u32+u32" : "u32";
  row.n = bytes / static_cast<int64_t>(sizeof(uint32_t));
  row.distribution = interleaved ? "interleaved" : "one after another";
  row.unit = "Gkeys/s";
  entry.name = absl::StrCat("merge/", row.type, "/", row.distribution);
  entry.repetitions = options.repetitions;
  entry.prepare = [=] { return Prepare(row, interleaved, value_bytes, engines); };
  cases->push_back(std::move(entry));
}

}  // namespace

void AddShardMergeCases(const ShardsBenchOptions& options, const std::vector<Engine*>& engines,
                        std::vector<Case>* cases) {
  const int64_t bytes = int64_t{1} << options.log2_bytes;
  Add(/*interleaved=*/true, bytes, 0, options, engines, cases);
  Add(/*interleaved=*/false, bytes, 0, options, engines, cases);
  Add(/*interleaved=*/true, bytes / 2, 4, options, engines, cases);
}

}  // namespace corank::bench
