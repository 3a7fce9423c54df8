#include "tests/server/reach_engine.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "kernels/engine/forwarding_engine.h"
#include "server/base/status_macros.h"
#include "tests/server/running_server.h"

namespace corank::testing {
namespace {

// Ranges of memory that kernels can read. Thread-safe.
class Reach {
 public:
  void Add(const void* memory, int64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    ranges_.emplace(static_cast<const char*>(memory), bytes);
  }
  // Removes a range that was added. Other ranges may begin at the same address.
  void Remove(const void* memory, int64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    auto range = ranges_.find(static_cast<const char*>(memory));
    while (range->second != bytes) ++range;
    ranges_.erase(range);
  }
  bool Contains(const void* memory, int64_t bytes) const {
    if (bytes == 0) return true;
    const char* const first = static_cast<const char*>(memory);
    const absl::MutexLock lock(&mutex_);
    for (auto range = ranges_.begin(); range != ranges_.end() && !std::less<>()(first, range->first); ++range) {
      if (first + bytes <= range->first + range->second) return true;
    }
    return false;
  }

 private:
  mutable absl::Mutex mutex_;
  std::multimap<const char*, int64_t, std::less<>> ranges_ ABSL_GUARDED_BY(mutex_);
};

class ReachMemory final : public EngineMemory {
 public:
  ReachMemory(std::unique_ptr<EngineMemory> memory, std::shared_ptr<Reach> reach)
      : EngineMemory(memory->data(), memory->size_bytes()), memory_(std::move(memory)), reach_(std::move(reach)) {
    reach_->Add(data(), size_bytes());
  }
  ~ReachMemory() override { reach_->Remove(data(), size_bytes()); }

 private:
  const std::unique_ptr<EngineMemory> memory_;
  const std::shared_ptr<Reach> reach_;
};

class ReachStream final : public ForwardingStream {
 public:
  ReachStream(std::unique_ptr<EngineStream> stream, std::shared_ptr<Reach> reach)
      : ForwardingStream(std::move(stream)), reach_(std::move(reach)) {}
  ~ReachStream() override { Forget(); }

  absl::Status Begin(Pace pace) override {
    Forget();
    pace_ = pace;
    return ForwardingStream::Begin(pace);
  }
  absl::StatusOr<const void*> Upload(const void* h_bytes, int64_t bytes) override {
    if (pace_ == Pace::kBrief && !reach_->Contains(h_bytes, bytes)) return OutOfReach("an upload of a brief request");
    return Noted(ForwardingStream::Upload(h_bytes, bytes), bytes);
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Noted(ForwardingStream::AllocateHost(bytes), bytes);
  }
  absl::StatusOr<void*> AllocateDevice(int64_t bytes) override {
    return Noted(ForwardingStream::AllocateDevice(bytes), bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResult(int64_t bytes) override {
    return Noted(ForwardingStream::AllocateResult(bytes), bytes);
  }
  absl::StatusOr<ResultBuffer> AllocateResultAt(void* h_place, int64_t bytes) override {
    return Noted(ForwardingStream::AllocateResultAt(h_place, bytes), bytes);
  }

  absl::Status Sort(const SortArgs& args, OperatorReport* report) override {
    CORANK_RETURN_IF_ERROR(CheckSort(args));
    return ForwardingStream::Sort(args, report);
  }
  absl::Status SortEach(absl::Span<const SortArgs> sorts, OperatorReport* reports) override {
    for (const SortArgs& args : sorts) CORANK_RETURN_IF_ERROR(CheckSort(args));
    return ForwardingStream::SortEach(sorts, reports);
  }
  absl::Status SortColumns(const ColumnSortArgs& args, OperatorReport* report) override {
    const int64_t results = ResultsOf(args);
    for (int32_t i = 0; i < args.column_count; ++i) {
      const KeyColumn& column = args.columns[i];
      const bool is_strings = column.kind == ColumnKind::kStrings;
      CORANK_RETURN_IF_ERROR(
          Check("SortColumns", {{column.data, is_strings ? column.data_bytes : args.count * column.row_bytes},
                                {column.offsets, 8 * (args.count + 1)},
                                {column.data_out, is_strings ? 0 : results * column.row_bytes},
                                {column.offsets_out, 8 * (results + 1)},
                                {column.validity, ValidityBytes(args.count)},
                                {column.validity_out, ValidityBytes(results)}}));
    }
    const int64_t index_bytes = args.count == 0 ? 0 : IndexBytes(args.count - 1);
    const int64_t offset_bytes = args.segment_offsets == nullptr ? 0 : 8 * (args.segment_count + 1);
    CORANK_RETURN_IF_ERROR(Check("SortColumns", {{args.segment_offsets, offset_bytes},
                                                 {args.values_in, args.count * args.value_bytes},
                                                 {args.values_out, results * args.value_bytes},
                                                 {args.indices_out, results * index_bytes},
                                                 {args.ranks_out, args.count * index_bytes}}));
    return ForwardingStream::SortColumns(args, report);
  }
  absl::Status Merge(const MergeArgs& args, OperatorReport* report) override {
    const int64_t total = args.TotalCount();
    CORANK_RETURN_IF_ERROR(CheckInputs("Merge", args, args.value_bytes));
    CORANK_RETURN_IF_ERROR(Check(
        "Merge", {{args.keys_out, total * KeyBytes(args.key_type)}, {args.values_out, total * args.value_bytes}}));
    return ForwardingStream::Merge(args, report);
  }
  absl::Status SplitRuns(const SplitArgs& args) override {
    CORANK_RETURN_IF_ERROR(CheckInputs("SplitRuns", args, 0));
    return ForwardingStream::SplitRuns(args);
  }
  absl::Status Expand(const ExpandArgs& args, OperatorReport* report) override {
    CORANK_RETURN_IF_ERROR(Check("Expand", {{args.values, args.interval_count * args.element_bytes},
                                            {args.counts, 8 * args.interval_count},
                                            {args.out, args.total * args.element_bytes}}));
    return ForwardingStream::Expand(args, report);
  }
  absl::Status Move(const MoveArgs& args, OperatorReport* report) override {
    CORANK_RETURN_IF_ERROR(
        Check("Move", {{args.counts, 8 * args.interval_count},
                       {args.source_offsets, args.source_offsets == nullptr ? 0 : 8 * args.interval_count},
                       {args.destination_offsets, args.destination_offsets == nullptr ? 0 : 8 * args.interval_count},
                       {args.source, args.total > 0 ? 1 : 0},
                       {args.destination, args.total > 0 ? 1 : 0}}));
    return ForwardingStream::Move(args, report);
  }
  absl::Status LoadBalance(const LoadBalanceArgs& args, OperatorReport* report) override {
    const int64_t bytes = args.total * args.IndexWidth();
    CORANK_RETURN_IF_ERROR(Check(
        "LoadBalance", {{args.counts, 8 * args.object_count}, {args.objects_out, bytes}, {args.ranks_out, bytes}}));
    return ForwardingStream::LoadBalance(args, report);
  }
  absl::Status Search(const SearchArgs& args, OperatorReport* report) override {
    const int64_t key_bytes = KeyBytes(args.key_type);
    CORANK_RETURN_IF_ERROR(
        Check("Search", {{args.haystack, args.haystack_count * key_bytes},
                         {args.needles, args.needle_count * key_bytes},
                         {args.positions_out, args.needle_count * IndexBytes(args.haystack_count)}}));
    return ForwardingStream::Search(args, report);
  }
  absl::Status SearchColumns(const ColumnSearchArgs& args, OperatorReport* report) override {
    const auto check = [this](const KeyColumn* columns, int32_t column_count, int64_t count) {
      for (int32_t i = 0; i < column_count; ++i) {
        const KeyColumn& column = columns[i];
        const bool is_strings = column.kind == ColumnKind::kStrings;
        CORANK_RETURN_IF_ERROR(
            Check("SearchColumns", {{column.data, is_strings ? column.data_bytes : count * column.row_bytes},
                                    {column.offsets, 8 * (count + 1)},
                                    {column.validity, ValidityBytes(count)}}));
      }
      return absl::OkStatus();
    };
    CORANK_RETURN_IF_ERROR(check(args.haystack, args.column_count, args.haystack_count));
    CORANK_RETURN_IF_ERROR(check(args.needles, args.column_count, args.needle_count));
    CORANK_RETURN_IF_ERROR(
        Check("SearchColumns", {{args.positions_out, args.needle_count * IndexBytes(args.haystack_count)}}));
    return ForwardingStream::SearchColumns(args, report);
  }
  absl::Status Group(const GroupArgs& args, GroupReport* report) override {
    const int64_t key_bytes = KeyBytes(args.key_type), value_bytes = KeyBytes(args.value_type);
    const int64_t index_bytes = args.count == 0 ? 0 : IndexBytes(args.count - 1);
    const int64_t offsets = args.segment_offsets == nullptr ? 0 : 8 * (args.segment_count + 1);
    CORANK_RETURN_IF_ERROR(Check("Group", {{args.segment_offsets, offsets},
                                           {args.keys, args.count * key_bytes},
                                           {args.indices, args.count * index_bytes},
                                           {args.values, args.count * value_bytes},
                                           {args.keys_out, args.count * key_bytes},
                                           {args.counts_out, args.count * 8},
                                           {args.firsts_out, args.count * index_bytes},
                                           {args.sums_out, args.count * 8},
                                           {args.minima_out, args.count * value_bytes},
                                           {args.maxima_out, args.count * value_bytes},
                                           {args.values_validity, BitmapBytes(args.count)},
                                           {args.value_counts_out, args.count * 8},
                                           {args.ranks_out, args.count * RankBytes(args.rank_method, args.count)}}));
    return ForwardingStream::Group(args, report);
  }
  absl::Status Select(const SelectArgs& args, SelectReport* report) override {
    CORANK_RETURN_IF_ERROR(
        Check("Select", {{args.elements, args.count * args.element_bytes},
                         {args.values, args.count * args.value_bytes},
                         {args.flags, args.by == SelectBy::kFlags ? args.count : BitmapBytes(args.count)},
                         {args.positions, args.position_count * 8},
                         {args.threshold, args.element_bytes},
                         {args.elements_out, args.count * args.element_bytes},
                         {args.values_out, args.count * args.value_bytes},
                         {args.indices_out, args.count * IndexBytes(args.count - 1)},
                         {args.count_out, 8}}));
    return ForwardingStream::Select(args, report);
  }
  absl::Status CombineSets(const SetArgs& args, SetReport* report) override {
    const int64_t key_bytes = KeyBytes(args.key_type), most = MostResults(args);
    CORANK_RETURN_IF_ERROR(Check("CombineSets", {{args.left.keys, args.left.count * key_bytes},
                                                 {args.right.keys, args.right.count * key_bytes},
                                                 {args.left.values, args.left.count * args.value_bytes},
                                                 {args.right.values, args.right.count * args.value_bytes},
                                                 {args.keys_out, most * key_bytes},
                                                 {args.values_out, most * args.value_bytes},
                                                 {args.count_out, 8}}));
    return ForwardingStream::CombineSets(args, report);
  }
  absl::Status Join(const JoinArgs& args, JoinReport* report) override {
    const int64_t key_bytes = KeyBytes(args.key_type), index_bytes = JoinIndexBytes(args.left_count, args.right_count);
    CORANK_RETURN_IF_ERROR(Check("Join", {{args.left, args.left_count * key_bytes},
                                          {args.right, args.right_count * key_bytes},
                                          {args.left_out, args.max_rows * index_bytes},
                                          {args.right_out, args.max_rows * index_bytes},
                                          {args.count_out, 8}}));
    return ForwardingStream::Join(args, report);
  }

 private:
  struct Use {
    const void* memory;  // null: unused
    int64_t bytes;
  };

  static absl::Status OutOfReach(absl::string_view what) {
    return absl::InternalError(absl::StrCat(what, " has memory that no kernel can reach"));
  }
  absl::Status Check(absl::string_view op, std::initializer_list<Use> uses) const {
    for (const Use& use : uses) {
      if (use.memory != nullptr && !reach_->Contains(use.memory, use.bytes)) return OutOfReach(op);
    }
    return absl::OkStatus();
  }
  template <typename Args>
  static int64_t ResultsOf(const Args& args) {
    if (!args.LimitsSegments()) return args.ResultCount();
    int64_t results = 0;
    for (int64_t i = 0; i < args.segment_count; ++i) {
      results += std::min(args.limit, args.segment_offsets[i + 1] - args.segment_offsets[i]);
    }
    return results;
  }
  absl::Status CheckSort(const SortArgs& args) const {
    const int64_t key_bytes = KeyBytes(args.key_type), results = ResultsOf(args);
    const int64_t offsets = args.segment_offsets == nullptr ? 0 : 8 * (args.segment_count + 1);
    const int64_t index_bytes = args.count == 0 ? 0 : IndexBytes(args.count - 1);
    return Check("Sort", {{args.keys_in, args.count * key_bytes},
                          {args.keys_out, results * key_bytes},
                          {args.values_in, args.count * args.value_bytes},
                          {args.values_out, results * args.value_bytes},
                          {args.indices_out, results * index_bytes},
                          {args.segment_offsets, offsets}});
  }
  template <typename Args>
  absl::Status CheckInputs(absl::string_view op, const Args& args, int64_t value_bytes) const {
    for (int32_t i = 0; i < args.input_count; ++i) {
      const MergeInput& input = args.inputs[i];
      CORANK_RETURN_IF_ERROR(
          Check(op, {{input.keys, input.count * KeyBytes(args.key_type)}, {input.values, input.count * value_bytes}}));
    }
    return absl::OkStatus();
  }

  static const void* MemoryOf(const void* memory) { return memory; }
  static const void* MemoryOf(const ResultBuffer& result) { return result.device; }
  template <typename Memory>
  absl::StatusOr<Memory> Noted(absl::StatusOr<Memory> memory, int64_t bytes) {
    if (memory.ok()) {
      noted_.push_back({MemoryOf(*memory), bytes});
      reach_->Add(noted_.back().memory, bytes);
    }
    return memory;
  }
  void Forget() {
    for (const Use& use : noted_) reach_->Remove(use.memory, use.bytes);
    noted_.clear();
  }

  const std::shared_ptr<Reach> reach_;
  std::vector<Use> noted_;  // since Begin
  Pace pace_ = Pace::kPhases;
};

class ReachingEngine final : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  absl::StatusOr<std::unique_ptr<EngineStream>> CreateStream() override {
    absl::StatusOr<std::unique_ptr<EngineStream>> stream = ForwardingEngine::CreateStream();
    if (!stream.ok()) return stream;
    return std::make_unique<ReachStream>(*std::move(stream), reach_);
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateHost(int64_t bytes) override {
    return Noted(ForwardingEngine::AllocateHost(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> AllocateDevice(int64_t bytes) override {
    return Noted(ForwardingEngine::AllocateDevice(bytes));
  }
  absl::StatusOr<std::unique_ptr<EngineMemory>> PinHost(void* h_bytes, int64_t bytes) override {
    return Noted(ForwardingEngine::PinHost(h_bytes, bytes));
  }

 private:
  absl::StatusOr<std::unique_ptr<EngineMemory>> Noted(absl::StatusOr<std::unique_ptr<EngineMemory>> memory) const {
    if (!memory.ok()) return memory;
    return std::make_unique<ReachMemory>(*std::move(memory), reach_);
  }

  const std::shared_ptr<Reach> reach_ = std::make_shared<Reach>();
};

}  // namespace

ChosenEngine ReachEngine() {
  ChosenEngine chosen = CpuEngine();
  chosen.engine = std::make_unique<ReachingEngine>(std::move(chosen.engine));
  return chosen;
}

}  // namespace corank::testing
