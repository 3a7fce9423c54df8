#include "client/cpp/job.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cpp/messages.h"
#include "kernels/common/types.h"
#include "proto/wire_enums.h"

namespace corank::client {
namespace {

// Indexed by the field number of the operator in Operation and in OperationResult, from 1.
constexpr const char* kMethods[] = {
    "",
    "/corank.v1.CorankService/Sort",
    "/corank.v1.CorankService/Merge",
    "/corank.v1.CorankService/ExpandIntervals",
    "/corank.v1.CorankService/MoveIntervals",
    "/corank.v1.CorankService/GatherIntervals",
    "/corank.v1.CorankService/ScatterIntervals",
    "/corank.v1.CorankService/LoadBalance",
    "/corank.v1.CorankService/Search",
    "/corank.v1.CorankService/Group",
    "/corank.v1.CorankService/CombineSets",
    "/corank.v1.CorankService/Join",
    "/corank.v1.CorankService/Select",
    "/corank.v1.CorankService/Rank",
};

void AddControl(Job* job, absl::Span<const int64_t> numbers, v1::Array* array, const char* field) {
  AddInput(job, ViewOf(numbers), array, field, true);
}

/// -1 if a count is negative or the sum is too large for an array.
int64_t Sum(absl::Span<const int64_t> counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) {
    if (count < 0 || __builtin_add_overflow(sum, count, &sum)) return -1;
  }
  return sum;
}

template <typename Message>
int64_t AddInitial(Job* job, const InitialDestination& initial, Message* message) {
  if (const int64_t* count = std::get_if<int64_t>(&initial)) {
    message->set_destination_count(*count);
    return std::max<int64_t>(*count, -1);
  }
  const ArrayView& view = std::get<ArrayView>(initial);
  AddInput(job, view, message->mutable_destination(), "destination");
  return view.count();
}

// The results of a sort of `count` elements.
template <typename Request>
int64_t LimitedCount(const Request& request, int64_t count) {
  if (!request.segment_offsets.has_value()) {
    const int64_t after_offset = count - std::clamp<int64_t>(request.offset, 0, count);
    return std::clamp<int64_t>(request.limit.value_or(after_offset), 0, after_offset);
  }
  if (!request.limit.has_value()) return count;
  return std::min(count, LimitedSegments(*request.segment_offsets, *request.limit).back());
}

// Shared by sorts of keys and of columns.
template <typename Request>
void FillSortOptions(const Request& request, const CallOptions& call, v1::SortRequest* message) {
  *message->mutable_options() = ToProto(call);
  message->set_algorithm(ToWire(request.algorithm));
  message->set_output(ToProto(request.output));
  if (request.limit.has_value()) message->set_limit(*request.limit);
  if (request.offset != 0) message->set_offset(request.offset);
}

template <typename Request>
void AddSortedBesideKeys(Job* job, const Request& request, int64_t rows, v1::SortRequest* message) {
  const int64_t count = LimitedCount(request, rows);
  if (request.values.has_value()) {
    AddResult(
        job, "values", message->mutable_values_destination(),
        [](const v1::OperationResult& r, int) { return r.sort().has_values() ? &r.sort().values() : nullptr; },
        request.values_output, request.values->type, count);
  }
  if (HasIndices(request.output)) {
    AddResult(
        job, "indices", message->mutable_indices_destination(),
        [](const v1::OperationResult& r, int) { return r.sort().has_indices() ? &r.sort().indices() : nullptr; },
        request.indices_output, IndexType(rows - 1), count, true);
  }
}

// For a column of `rows` rows; the result has `wanted` of them.
void AddColumnResults(Job* job, const ColumnView& column, int number, int64_t rows, int64_t wanted, v1::KeyColumn* to) {
  JobResult& data = AddResult(
      job, "column", to->mutable_data_destination(),
      [](const v1::OperationResult& r, int i) {
        const bool has = i < r.sort().key_columns_size() && r.sort().key_columns(i).has_data();
        return has ? &r.sort().key_columns(i).data() : nullptr;
      },
      Output(), column.data.type, column.offsets.has_value() ? column.data.count() : wanted);
  data.column = number;
  // The answer says which strings are left.
  if (column.offsets.has_value() && wanted != rows) data.is_exact = false;
  if (column.offsets.has_value()) {
    AddResult(
        job, "offsets of a column", to->mutable_offsets_destination(),
        [](const v1::OperationResult& r, int i) {
          const bool has = i < r.sort().key_columns_size() && r.sort().key_columns(i).has_offsets();
          return has ? &r.sort().key_columns(i).offsets() : nullptr;
        },
        Output(), KeyType::kInt64, wanted + 1)
        .column = number;
  }
  if (column.validity.has_value()) {
    AddResult(
        job, "validity of a column", to->mutable_validity_destination(),
        [](const v1::OperationResult& r, int i) {
          const bool has = i < r.sort().key_columns_size() && r.sort().key_columns(i).has_validity();
          return has ? &r.sort().key_columns(i).validity() : nullptr;
        },
        Output(), KeyType::kUint8, wanted / 8 + (wanted % 8 != 0 ? 1 : 0))
        .column = number;
  }
}

}  // namespace

std::vector<int64_t> LimitedSegments(absl::Span<const int64_t> segment_offsets, int64_t limit) {
  std::vector<int64_t> limited = {0};
  for (size_t i = 1; i < segment_offsets.size(); ++i) {
    int64_t length = 0;  // 0 also for offsets that the server refuses
    if (__builtin_sub_overflow(segment_offsets[i], segment_offsets[i - 1], &length)) length = 0;
    limited.push_back(Saturated(limited.back(), std::clamp<int64_t>(length, 0, std::max<int64_t>(limit, 0))));
  }
  return limited;
}

void AddInput(Job* job, const ArrayView& view, v1::Array* array, std::string field, bool is_control) {
  FillType(view.type, array);
  if (!view.is_bound) array->set_count(view.count());
  job->inputs.push_back({array, view, std::move(field), is_control});
}

JobResult& AddResult(Job* job, const char* name, v1::Destination* destination, Finder find, Output output,
                     ElementType type, int64_t max_count, bool is_index) {
  JobResult& result = job->results.emplace_back();
  result.name = name;
  result.destination = destination;
  result.find = find;
  result.output = std::move(output);
  result.type = type;
  result.element_bytes = type.bytes();
  result.is_index = is_index;
  // The server refuses impossible counts.
  result.max_count = max_count <= std::numeric_limits<int64_t>::max() / kMaxRecordBytes ? max_count : -1;
  result.is_exact =
      std::none_of(job->inputs.begin(), job->inputs.end(), [](const JobInput& input) { return input.view.is_bound; });
  return result;
}

ElementType IndexType(int64_t max_index) { return IndexBytes(max_index) == 4 ? KeyType::kUint32 : KeyType::kUint64; }

int64_t Saturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t Job::input_bytes() const {
  int64_t bytes = 0;
  for (const JobInput& input : inputs) bytes += input.travels ? static_cast<int64_t>(input.view.bytes.size()) : 0;
  return bytes;
}

int64_t Job::result_bytes() const {
  int64_t bytes = 0;
  for (const JobResult& result : results) bytes = Saturated(bytes, result.travels ? result.max_bytes() : 0);
  return bytes;
}

int64_t Job::claimed_bytes() const {
  int64_t bytes = 0;
  for (const JobResult& result : results) {
    bytes = Saturated(bytes, result.travels && !result.is_bounded ? result.max_bytes() : 0);
  }
  return bytes;
}

int64_t Job::read_bytes() const {
  int64_t bytes = 0;
  for (const JobInput& input : inputs) {
    // Stored arrays do not count: the caller states their size, which may be wrong.
    bytes += static_cast<int64_t>(input.view.bytes.size());
  }
  return bytes;
}

void Job::SetBuffers(const std::vector<ResultBuffer*>& buffers) {
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].buffer = buffers[i];
    if (results[i].output.memory.data() != nullptr) {
      results[i].memory_buffer = std::make_unique<MemoryBuffer>(results[i].output.memory, buffers[i]);
    }
  }
}

bool IsOver(const JobResult& result, const JobInput& input) {
  const absl::Span<char> memory = result.output.memory;
  const absl::string_view bytes = input.view.bytes;
  return !memory.empty() && !bytes.empty() && std::less<>()(bytes.data(), memory.data() + memory.size()) &&
         std::less<>()(memory.data(), bytes.data() + bytes.size());
}

bool IsOverAnyInput(const JobResult& result, absl::Span<Job* const> jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [&result](const Job* job) {
    return std::any_of(job->inputs.begin(), job->inputs.end(),
                       [&result](const JobInput& input) { return IsOver(result, input); });
  });
}

std::unique_ptr<Job> MakeJob(const SortRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::SortRequest* message = job->operation.mutable_sort();
  FillSortOptions(request, call, message);
  message->set_order(ToProto(request.order));
  if (request.segment_offsets.has_value()) {
    AddControl(job.get(), *request.segment_offsets, message->mutable_segment_offsets(), "segment_offsets");
  }
  AddInput(job.get(), request.keys, message->mutable_keys(), "keys");
  if (request.values.has_value()) AddInput(job.get(), *request.values, message->mutable_values(), "values");
  if (HasKeys(request.output)) {
    AddResult(
        job.get(), "keys", message->mutable_keys_destination(),
        [](const v1::OperationResult& r, int) { return r.sort().has_keys() ? &r.sort().keys() : nullptr; },
        request.keys_output, request.keys.type, LimitedCount(request, request.keys.count()));
  }
  AddSortedBesideKeys(job.get(), request, request.keys.count(), message);
  return job;
}

std::unique_ptr<Job> MakeJob(const ColumnSortRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::SortRequest* message = job->operation.mutable_sort();
  FillSortOptions(request, call, message);
  int64_t rows = 0;
  for (const ColumnView& column : request.columns) {
    v1::KeyColumn* to = message->add_key_columns();
    AddColumn(job.get(), column, absl::StrCat("key_columns[", message->key_columns_size() - 1, "]"), to);
    rows = RowsOf(column);
    if (HasKeys(request.output)) {
      AddColumnResults(job.get(), column, message->key_columns_size() - 1, rows, LimitedCount(request, rows), to);
    }
  }
  if (request.segment_offsets.has_value()) {
    AddControl(job.get(), *request.segment_offsets, message->mutable_segment_offsets(), "segment_offsets");
  }
  if (request.run_offsets.has_value()) {
    AddControl(job.get(), *request.run_offsets, message->mutable_run_offsets(), "run_offsets");
  }
  if (request.values.has_value()) AddInput(job.get(), *request.values, message->mutable_values(), "values");
  AddSortedBesideKeys(job.get(), request, rows, message);
  if (request.output == SortOutput::kRanks) {
    AddResult(
        job.get(), "ranks", message->mutable_ranks_destination(),
        [](const v1::OperationResult& r, int) { return r.sort().has_ranks() ? &r.sort().ranks() : nullptr; },
        request.ranks_output, IndexType(rows), rows, true);
  }
  return job;
}

std::unique_ptr<Job> MakeJob(const MergeRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::MergeRequest* message = job->operation.mutable_merge();
  *message->mutable_options() = ToProto(call);
  message->set_order(ToProto(request.order));
  message->set_algorithm(ToWire(request.algorithm));
  message->set_assume_sorted(request.assume_sorted);
  int64_t count = 0;
  for (size_t i = 0; i < request.keys.size(); ++i) {
    AddInput(job.get(), request.keys[i], message->add_keys(), absl::StrCat("keys[", i, "]"));
    count += request.keys[i].count();
  }
  for (size_t i = 0; i < request.values.size(); ++i) {
    AddInput(job.get(), request.values[i], message->add_values(), absl::StrCat("values[", i, "]"));
  }
  AddResult(
      job.get(), "keys", message->mutable_keys_destination(),
      [](const v1::OperationResult& r, int) { return r.merge().has_keys() ? &r.merge().keys() : nullptr; },
      request.keys_output, request.keys.empty() ? ElementType(KeyType::kUint8) : request.keys[0].type, count);
  if (request.values.empty()) return job;
  AddResult(
      job.get(), "values", message->mutable_values_destination(),
      [](const v1::OperationResult& r, int) { return r.merge().has_values() ? &r.merge().values() : nullptr; },
      request.values_output, request.values[0].type, count);
  return job;
}

std::unique_ptr<Job> MakeJob(const ExpandRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::ExpandIntervalsRequest* message = job->operation.mutable_expand_intervals();
  *message->mutable_options() = ToProto(call);
  AddControl(job.get(), request.counts, message->mutable_counts(), "counts");
  AddInput(job.get(), request.values, message->mutable_values(), "values");
  AddResult(
      job.get(), "values", message->mutable_destination(),
      [](const v1::OperationResult& r, int) {
        return r.expand_intervals().has_values() ? &r.expand_intervals().values() : nullptr;
      },
      request.output, request.values.type, Sum(request.counts))
      .is_bounded = false;
  return job;
}

std::unique_ptr<Job> MakeJob(const MoveRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::MoveIntervalsRequest* message = job->operation.mutable_move_intervals();
  *message->mutable_options() = ToProto(call);
  message->set_allow_overlap(request.allow_overlap);
  AddControl(job.get(), request.source_offsets, message->mutable_source_offsets(), "source_offsets");
  AddControl(job.get(), request.destination_offsets, message->mutable_destination_offsets(), "destination_offsets");
  AddControl(job.get(), request.counts, message->mutable_counts(), "counts");
  AddInput(job.get(), request.source, message->mutable_source(), "source");
  const int64_t count = AddInitial(job.get(), request.destination, message);
  AddResult(
      job.get(), "result", message->mutable_result_destination(),
      [](const v1::OperationResult& r, int) {
        return r.move_intervals().has_result() ? &r.move_intervals().result() : nullptr;
      },
      request.output, request.source.type, count)
      .is_bounded = false;
  return job;
}

std::unique_ptr<Job> MakeJob(const GatherRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::GatherIntervalsRequest* message = job->operation.mutable_gather_intervals();
  *message->mutable_options() = ToProto(call);
  AddControl(job.get(), request.source_offsets, message->mutable_source_offsets(), "source_offsets");
  AddControl(job.get(), request.counts, message->mutable_counts(), "counts");
  AddInput(job.get(), request.source, message->mutable_source(), "source");
  AddResult(
      job.get(), "result", message->mutable_destination(),
      [](const v1::OperationResult& r, int) {
        return r.gather_intervals().has_result() ? &r.gather_intervals().result() : nullptr;
      },
      request.output, request.source.type, Sum(request.counts))
      .is_bounded = false;
  return job;
}

std::unique_ptr<Job> MakeJob(const ScatterRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::ScatterIntervalsRequest* message = job->operation.mutable_scatter_intervals();
  *message->mutable_options() = ToProto(call);
  message->set_allow_overlap(request.allow_overlap);
  AddControl(job.get(), request.destination_offsets, message->mutable_destination_offsets(), "destination_offsets");
  AddControl(job.get(), request.counts, message->mutable_counts(), "counts");
  AddInput(job.get(), request.source, message->mutable_source(), "source");
  const int64_t count = AddInitial(job.get(), request.destination, message);
  AddResult(
      job.get(), "result", message->mutable_result_destination(),
      [](const v1::OperationResult& r, int) {
        return r.scatter_intervals().has_result() ? &r.scatter_intervals().result() : nullptr;
      },
      request.output, request.source.type, count)
      .is_bounded = false;
  return job;
}

std::unique_ptr<Job> MakeJob(const LoadBalanceRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::LoadBalanceRequest* message = job->operation.mutable_load_balance();
  *message->mutable_options() = ToProto(call);
  AddControl(job.get(), request.counts, message->mutable_counts(), "counts");
  const int64_t total = Sum(request.counts);
  const ElementType type = IndexType(std::max(static_cast<int64_t>(request.counts.size()), total) - 1);
  AddResult(
      job.get(), "objects", message->mutable_objects_destination(),
      [](const v1::OperationResult& r, int) {
        return r.load_balance().has_objects() ? &r.load_balance().objects() : nullptr;
      },
      request.objects_output, type, total, true)
      .is_bounded = false;
  AddResult(
      job.get(), "ranks", message->mutable_ranks_destination(),
      [](const v1::OperationResult& r, int) {
        return r.load_balance().has_ranks() ? &r.load_balance().ranks() : nullptr;
      },
      request.ranks_output, type, total, true)
      .is_bounded = false;
  return job;
}

std::unique_ptr<Job> MakeJob(const SearchRequest& request, const CallOptions& call) {
  auto job = std::make_unique<Job>();
  v1::SearchRequest* message = job->operation.mutable_search();
  *message->mutable_options() = ToProto(call);
  message->set_bound(request.bound == SearchBound::kLower ? v1::SEARCH_BOUND_LOWER : v1::SEARCH_BOUND_UPPER);
  message->set_order(ToProto(request.order));
  message->set_assume_sorted(request.assume_sorted);
  AddInput(job.get(), request.haystack, message->mutable_haystack(), "haystack");
  AddInput(job.get(), request.needles, message->mutable_needles(), "needles");
  AddResult(
      job.get(), "positions", message->mutable_destination(),
      [](const v1::OperationResult& r, int) { return r.search().has_positions() ? &r.search().positions() : nullptr; },
      request.output, IndexType(request.haystack.count()), request.needles.count(), true);
  return job;
}

absl::Status CheckHere(absl::string_view field, const ArrayView& view) {
  if (!view.is_elsewhere) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": is the view of a result that went to its Output; pass a view of that memory or stored array"));
}

absl::Status CheckJob(const Job& job) {
  for (const JobInput& input : job.inputs) {
    if (const absl::Status here = CheckHere(input.field, input.view); !here.ok()) return here;
    const ElementType type = input.view.type;
    if (type.bytes() < 1 || type.bytes() > kMaxRecordBytes) {
      return absl::InvalidArgumentError(absl::StrCat(input.field, ": records have 1 to ", kMaxRecordBytes, " bytes"));
    }
    if (input.view.bytes.size() % type.bytes() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(input.field, ": ", input.view.bytes.size(),
                                                     " bytes are not a whole number of elements of type ",
                                                     type.Name()));
    }
  }
  for (const JobResult& result : job.results) {
    const absl::Span<char> memory = result.output.memory;
    if (memory.data() != nullptr && result.output.stored.empty() &&
        static_cast<int64_t>(memory.size()) < result.max_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("the output for ", result.name, " holds ", memory.size(),
                                                     " bytes, the result has ", result.max_bytes()));
    }
  }
  return absl::OkStatus();
}

google::protobuf::Message* OperatorMessage(Job* job) {
  const auto* field = v1::Operation::descriptor()->FindFieldByNumber(job->operation.operation_case());
  return job->operation.GetReflection()->MutableMessage(&job->operation, field);
}

const char* UnaryMethod(const Job& job) { return kMethods[job.operation.operation_case()]; }

google::protobuf::Message* OperatorResponse(const Job& job, v1::OperationResult* result) {
  const auto* field = v1::OperationResult::descriptor()->FindFieldByNumber(job.operation.operation_case());
  return result->GetReflection()->MutableMessage(result, field);
}

bool IsResultOf(const v1::OperationResult& result, const Job& job) {
  return static_cast<int>(result.result_case()) == static_cast<int>(job.operation.operation_case());
}

const v1::RequestStats* StatsOf(const v1::OperationResult& result) {
  switch (result.result_case()) {
    case v1::OperationResult::kSort:
      return &result.sort().stats();
    case v1::OperationResult::kMerge:
      return &result.merge().stats();
    case v1::OperationResult::kExpandIntervals:
      return &result.expand_intervals().stats();
    case v1::OperationResult::kMoveIntervals:
      return &result.move_intervals().stats();
    case v1::OperationResult::kGatherIntervals:
      return &result.gather_intervals().stats();
    case v1::OperationResult::kScatterIntervals:
      return &result.scatter_intervals().stats();
    case v1::OperationResult::kLoadBalance:
      return &result.load_balance().stats();
    case v1::OperationResult::kSearch:
      return &result.search().stats();
    case v1::OperationResult::kGroup:
      return &result.group().stats();
    case v1::OperationResult::kCombineSets:
      return &result.combine_sets().stats();
    case v1::OperationResult::kJoin:
      return &result.join().stats();
    case v1::OperationResult::kSelect:
      return &result.select().stats();
    case v1::OperationResult::kRank:
      return &result.rank().stats();
    case v1::OperationResult::RESULT_NOT_SET:
      return nullptr;
  }
  return nullptr;
}

}  // namespace corank::client
