#include "corank/client.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/address.h"
#include "client/cpp/credentials.h"
#include "client/cpp/health.h"
#include "client/cpp/job.h"
#include "client/cpp/runner.h"
#include "client/cpp/status_conversion.h"
#include "client/cpp/stored_arrays.h"
#include "proto/wire_enums.h"

namespace corank::client {
namespace {

constexpr int64_t kMostMessageBytes = std::numeric_limits<int32_t>::max();
constexpr int kMostConnections = 64;

}  // namespace

absl::StatusOr<Client> Client::Create(const ClientOptions& options) {
  if (options.address.empty()) return absl::InvalidArgumentError("address: must not be empty");
  if (const absl::Status checked = CheckAddress(options.address); !checked.ok()) return checked;
  if (options.deadline <= absl::ZeroDuration()) return absl::InvalidArgumentError("deadline: must be positive");
  if (options.max_message_bytes < 1 || options.max_message_bytes > kMostMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("max_message_bytes: must be 1 to ", kMostMessageBytes));
  }
  if (options.stream_bytes < 0) return absl::InvalidArgumentError("stream_bytes: must be 0 or more");
  if (options.connections < 0 || options.connections > kMostConnections) {
    return absl::InvalidArgumentError(absl::StrCat("connections: must be 0 (automatic) to ", kMostConnections));
  }
  if (options.keepalive_time <= absl::ZeroDuration() || options.keepalive_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("keepalive_time, keepalive_timeout: must be positive");
  }
  if (options.retry.max_attempts < 1) return absl::InvalidArgumentError("retry.max_attempts: must be 1 or more");
  if (options.retry.initial_delay <= absl::ZeroDuration() || options.retry.max_delay <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("retry.initial_delay, retry.max_delay: must be positive");
  }
  if (!(options.retry.budget_tokens >= 0) || !(options.retry.budget_refill >= 0)) {
    return absl::InvalidArgumentError("retry.budget_tokens, retry.budget_refill: must be 0 or more");
  }
  if (!options.traceparent.empty() && !IsTraceparent(options.traceparent)) {
    return absl::InvalidArgumentError("traceparent: must be a W3C traceparent: 00-<32 hex digits>-<16 hex digits>-01");
  }
  absl::StatusOr<std::unique_ptr<Credentials>> credentials = Credentials::Create(options);
  if (!credentials.ok()) return credentials.status();
  return Client(std::make_unique<Runner>(options, *std::move(credentials)));
}

Client::Client(std::unique_ptr<Runner> runner) : runner_(std::move(runner)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

template <typename Request>
absl::StatusOr<Client::Outcome> Client::RunInto(const Request& request, const CallOptions& call,
                                                const std::vector<ResultBuffer*>& buffers) const {
  const std::unique_ptr<Job> job = MakeJob(request, call);
  job->SetBuffers(buffers);
  absl::StatusOr<JobAnswer> answer = runner_->Run(job.get(), call);
  if (!answer.ok()) return answer.status();
  Outcome outcome;
  outcome.sort_algorithm = FromWire(answer->result.sort().algorithm()).value_or(SortAlgorithm::kAuto);
  outcome.merge_algorithm = FromWire(answer->result.merge().algorithm()).value_or(MergeAlgorithm::kAuto);
  outcome.stats = std::move(answer->stats);
  return outcome;
}

template absl::StatusOr<Client::Outcome> Client::RunInto(const SortRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const MergeRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const ExpandRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const MoveRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const GatherRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const ScatterRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const GroupRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const CombineSetsRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const SelectRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const RankRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;
template absl::StatusOr<Client::Outcome> Client::RunInto(const JoinRequest&, const CallOptions&,
                                                         const std::vector<ResultBuffer*>&) const;

template <typename Request>
absl::StatusOr<RawResult> Client::RunRaw(const Request& request, const CallOptions& call) const {
  RawResult result;
  ArrayBuffer array(&result.array);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&array});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

absl::StatusOr<RawSortResult> Client::Sort(const SortRequest& request, const CallOptions& call) const {
  Array keys, values, indices;
  ArrayBuffer keys_buffer(&keys), values_buffer(&values), indices_buffer(&indices);
  const bool has_keys = HasKeys(request.output), has_indices = HasIndices(request.output);
  std::vector<ResultBuffer*> buffers;
  if (has_keys) buffers.push_back(&keys_buffer);
  if (request.values.has_value()) buffers.push_back(&values_buffer);
  if (has_indices) buffers.push_back(&indices_buffer);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, buffers);
  if (!outcome.ok()) return outcome.status();
  RawSortResult result;
  if (has_keys) result.keys = std::move(keys);
  if (request.values.has_value()) result.values = std::move(values);
  if (has_indices) result.indices = std::move(indices);
  result.algorithm = outcome->sort_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

absl::StatusOr<ColumnSortResult> Client::SortColumns(const ColumnSortRequest& request, const CallOptions& call) const {
  if (request.columns.empty()) return RefuseField("key_columns", "at least one column is needed");
  ColumnSortResult result;
  std::vector<std::unique_ptr<ResultBuffer>> owned;
  if (HasKeys(request.output)) {
    result.columns.resize(request.columns.size());
    for (size_t i = 0; i < request.columns.size(); ++i) {
      owned.push_back(std::make_unique<ArrayBuffer>(&result.columns[i].data));
      if (request.columns[i].offsets.has_value()) {
        owned.push_back(std::make_unique<VectorBuffer<int64_t>>(&result.columns[i].offsets.emplace()));
      }
      if (request.columns[i].validity.has_value()) {
        owned.push_back(std::make_unique<VectorBuffer<uint8_t>>(&result.columns[i].validity.emplace()));
      }
    }
  }
  if (request.values.has_value()) owned.push_back(std::make_unique<ArrayBuffer>(&result.values.emplace()));
  if (HasIndices(request.output)) owned.push_back(std::make_unique<ArrayBuffer>(&result.indices.emplace()));
  if (request.output == SortOutput::kRanks) owned.push_back(std::make_unique<ArrayBuffer>(&result.ranks.emplace()));
  std::vector<ResultBuffer*> buffers;
  for (const std::unique_ptr<ResultBuffer>& buffer : owned) buffers.push_back(buffer.get());
  absl::StatusOr<Outcome> outcome = RunInto(request, call, buffers);
  if (!outcome.ok()) return outcome.status();
  result.algorithm = outcome->sort_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

absl::StatusOr<RawMergeResult> Client::Merge(const MergeRequest& request, const CallOptions& call) const {
  RawMergeResult result;
  Array values;
  ArrayBuffer keys_buffer(&result.keys), values_buffer(&values);
  std::vector<ResultBuffer*> buffers = {&keys_buffer};
  if (!request.values.empty()) buffers.push_back(&values_buffer);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, buffers);
  if (!outcome.ok()) return outcome.status();
  if (!request.values.empty()) result.values = std::move(values);
  result.algorithm = outcome->merge_algorithm;
  result.stats = std::move(outcome->stats);
  return result;
}

absl::StatusOr<RawResult> Client::ExpandIntervals(const ExpandRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawResult> Client::MoveIntervals(const MoveRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawResult> Client::GatherIntervals(const GatherRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawResult> Client::ScatterIntervals(const ScatterRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawResult> Client::Search(const SearchRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawResult> Client::SearchColumns(const ColumnSearchRequest& request, const CallOptions& call) const {
  if (request.haystack.empty()) return RefuseField("haystack_columns", "at least one column is needed");
  return RunRaw(request, call);
}

absl::StatusOr<RawLoadBalanceResult> Client::LoadBalance(const LoadBalanceRequest& request,
                                                         const CallOptions& call) const {
  RawLoadBalanceResult result;
  ArrayBuffer objects(&result.objects), ranks(&result.ranks);
  absl::StatusOr<Outcome> outcome = RunInto(request, call, {&objects, &ranks});
  if (!outcome.ok()) return outcome.status();
  result.stats = std::move(outcome->stats);
  return result;
}

template <typename Request>
absl::StatusOr<RequestStats> Client::RunWanted(
    const Request& request, const CallOptions& call,
    std::initializer_list<std::pair<bool, std::optional<Array>*>> results) const {
  std::vector<std::unique_ptr<ResultBuffer>> owned;
  std::vector<ResultBuffer*> buffers;
  for (const auto& [is_wanted, array] : results) {
    if (!is_wanted) continue;
    owned.push_back(std::make_unique<ArrayBuffer>(&array->emplace()));
    buffers.push_back(owned.back().get());
  }
  absl::StatusOr<Outcome> outcome = RunInto(request, call, buffers);
  if (!outcome.ok()) return outcome.status();
  return std::move(outcome->stats);
}

absl::StatusOr<RawGroupResult> Client::Group(const GroupRequest& request, const CallOptions& call) const {
  RawGroupResult result;
  absl::StatusOr<RequestStats> stats = RunWanted(request, call,
                                                 {{request.wants.keys, &result.keys},
                                                  {request.wants.counts, &result.counts},
                                                  {request.wants.firsts, &result.firsts},
                                                  {request.wants.sums, &result.sums},
                                                  {request.wants.minima, &result.minima},
                                                  {request.wants.maxima, &result.maxima},
                                                  {request.wants.value_counts, &result.value_counts}});
  if (!stats.ok()) return stats.status();
  result.stats = *std::move(stats);
  return result;
}

absl::StatusOr<RawCombineSetsResult> Client::CombineSets(const CombineSetsRequest& request,
                                                         const CallOptions& call) const {
  RawCombineSetsResult result;
  const bool has_values = request.left_values.has_value() || request.right_values.has_value();
  absl::StatusOr<RequestStats> stats = RunWanted(request, call,
                                                 {{!request.count_only, &result.keys},
                                                  {!request.count_only && has_values, &result.values},
                                                  {request.count_only, &result.count}});
  if (!stats.ok()) return stats.status();
  result.stats = *std::move(stats);
  return result;
}

absl::StatusOr<RawSelectResult> Client::Select(const SelectRequest& request, const CallOptions& call) const {
  RawSelectResult result;
  absl::StatusOr<RequestStats> stats = RunWanted(request, call,
                                                 {{request.wants.elements, &result.elements},
                                                  {request.values.has_value(), &result.values},
                                                  {request.wants.indices, &result.indices},
                                                  {request.wants.count, &result.count}});
  if (!stats.ok()) return stats.status();
  result.stats = *std::move(stats);
  return result;
}

absl::StatusOr<RawResult> Client::Rank(const RankRequest& request, const CallOptions& call) const {
  return RunRaw(request, call);
}

absl::StatusOr<RawJoinResult> Client::Join(const JoinRequest& request, const CallOptions& call) const {
  const bool has_right = request.kind != JoinKind::kSemi && request.kind != JoinKind::kAnti;
  RawJoinResult result;
  const auto run = [&](const JoinRequest& wanted) {
    return RunWanted(wanted, call,
                     {{!wanted.count_only, &result.left_rows},
                      {!wanted.count_only && has_right, &result.right_rows},
                      {wanted.count_only, &result.count}});
  };
  absl::StatusOr<RequestStats> stats = run(request);
  const bool has_memory = !request.left_rows_output.memory.empty() || !request.right_rows_output.memory.empty();
  if (const std::optional<int64_t> rows = NeededRows(stats.status()); rows && !request.max_rows && !has_memory) {
    JoinRequest again = request;
    again.max_rows = rows;
    stats = run(again);
  }
  if (!stats.ok()) return stats.status();
  result.stats = *std::move(stats);
  return result;
}

absl::StatusOr<std::vector<OperatorResult>> Client::Run(const std::vector<AnyRequest>& operators,
                                                        const CallOptions& call) const {
  if (operators.empty()) return absl::InvalidArgumentError("operators: at least one is needed");
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<Job*> pointers;
  std::vector<OperatorResult> results(operators.size());
  std::vector<std::unique_ptr<ResultBuffer>> owned;
  for (size_t i = 0; i < operators.size(); ++i) {
    jobs.push_back(std::visit([&call](const auto& request) { return MakeJob(request, call); }, operators[i]));
    pointers.push_back(jobs.back().get());
    results[i].arrays.resize(jobs.back()->results.size());
    std::vector<ResultBuffer*> buffers;
    for (Array& array : results[i].arrays) {
      owned.push_back(std::make_unique<ArrayBuffer>(&array));
      buffers.push_back(owned.back().get());
    }
    jobs.back()->SetBuffers(buffers);
  }
  absl::StatusOr<std::vector<JobAnswer>> answers = runner_->RunChain(pointers, call);
  if (!answers.ok()) return answers.status();
  for (size_t i = 0; i < results.size(); ++i) results[i].stats = std::move((*answers)[i].stats);
  return results;
}

absl::StatusOr<ServerInfo> Client::GetServerInfo(const CallOptions& call) const {
  return runner_->connection().AskInfo(runner_->connection().Deadline(call), call);
}

absl::StatusOr<Health> Client::CheckHealth(const std::string& service, const CallOptions& call) const {
  return client::CheckHealth(&runner_->connection(), service, runner_->connection().Deadline(call), call);
}

absl::StatusOr<Health> Client::AwaitHealth(const std::string& service, const CallOptions& call) const {
  return client::AwaitHealth(&runner_->connection(), service, runner_->connection().Deadline(call), call);
}

absl::StatusOr<std::string> Client::Register(const SharedMemory& memory, const CallOptions& call) const {
  return runner_->regions().Register(memory, call);
}

absl::Status Client::Unregister(const std::string& region, const CallOptions& call) const {
  return runner_->regions().Unregister(region, call);
}

absl::StatusOr<std::vector<RegionInfo>> Client::ListRegions(const CallOptions& call) const {
  return runner_->regions().List(call);
}

absl::StatusOr<StoredArray> Client::Store(const std::string& name, const ArrayView& array, absl::Duration expiry,
                                          const CallOptions& call) const {
  return StoreArray(&runner_->connection(), name, array, expiry, /*sharded=*/false, call);
}

absl::StatusOr<StoredArray> Client::StoreSharded(const std::string& name, const ArrayView& array, absl::Duration expiry,
                                                 const CallOptions& call) const {
  return StoreArray(&runner_->connection(), name, array, expiry, /*sharded=*/true, call);
}

absl::StatusOr<Array> Client::Fetch(const std::string& name, const CallOptions& call) const {
  return FetchArray(&runner_->connection(), name, call);
}

absl::StatusOr<StoredArrays> Client::ListArrays(const CallOptions& call) const {
  return ListStoredArrays(&runner_->connection(), call);
}

absl::Status Client::DeleteArray(const std::string& name, const CallOptions& call) const {
  return DeleteStoredArray(&runner_->connection(), name, call);
}

absl::StatusOr<LoadBalanceResult> Client::LoadBalance(absl::Span<const int64_t> counts, const CallOptions& call) const {
  absl::StatusOr<RawLoadBalanceResult> raw = LoadBalance(LoadBalanceRequest{counts}, call);
  if (!raw.ok()) return raw.status();
  absl::StatusOr<std::vector<int64_t>> objects = ToIndices(raw->objects);
  if (!objects.ok()) return objects.status();
  absl::StatusOr<std::vector<int64_t>> ranks = ToIndices(raw->ranks);
  if (!ranks.ok()) return ranks.status();
  return LoadBalanceResult{*std::move(objects), *std::move(ranks), std::move(raw->stats)};
}

absl::StatusOr<JoinResult> Client::TypedRows(RawJoinResult raw) {
  JoinResult result;
  for (const auto& [array, rows] :
       {std::pair(&raw.left_rows, &result.left_rows), std::pair(&raw.right_rows, &result.right_rows)}) {
    if (!array->has_value()) continue;
    if ((*array)->type == KeyType::kInt32) {
      absl::StatusOr<std::vector<int32_t>> narrow = ToVector<int32_t>(**array);
      if (!narrow.ok()) return narrow.status();
      rows->assign(narrow->begin(), narrow->end());
      continue;
    }
    absl::StatusOr<std::vector<int64_t>> wide = ToVector<int64_t>(**array);
    if (!wide.ok()) return wide.status();
    *rows = *std::move(wide);
  }
  result.stats = std::move(raw.stats);
  return result;
}

absl::StatusOr<IndicesResult> Client::TypedIndices(const Array& indices, RequestStats stats) {
  absl::StatusOr<std::vector<int64_t>> widened = ToIndices(indices);
  if (!widened.ok()) return widened.status();
  return IndicesResult{*std::move(widened), std::move(stats)};
}

}  // namespace corank::client
