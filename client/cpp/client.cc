#include "client/cpp/client.h"

#include <algorithm>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/errors.h"
#include "client/cpp/messages.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "proto/wire_enums.h"

namespace corank::client {
namespace {

constexpr int64_t kMostMessageBytes = std::numeric_limits<int32_t>::max();

absl::Status CheckView(const ArrayView& view, absl::string_view field) {
  if (view.type.bytes() < 1 || view.type.bytes() > kMaxRecordBytes) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": records have 1 to ", kMaxRecordBytes, " bytes"));
  }
  if (view.bytes.size() % view.type.bytes() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": ", view.bytes.size(), " bytes are not a whole number of elements of type ", view.type.Name()));
}

template <typename Request, typename Response>
using Method = grpc::Status (v1::CorankService::Stub::*)(grpc::ClientContext*, const Request&, Response*);

/// "Connection refused" of gRPC's chain of causes, each after a colon.
absl::string_view LastClause(absl::string_view message) {
  const size_t colon = message.rfind(": ");
  return colon == absl::string_view::npos ? message : message.substr(colon + 2);
}

/// The array that every answer of this operator has; INTERNAL if it is null, which stands for an unset one.
absl::StatusOr<Array> Required(v1::Array* array) {
  if (array == nullptr) return absl::InternalError("the server's answer lacks an array");
  return FromProto(array);
}

absl::StatusOr<std::optional<Array>> Optional(v1::Array* array) {
  if (array == nullptr) return std::optional<Array>();
  absl::StatusOr<Array> converted = FromProto(array);
  if (!converted.ok()) return converted.status();
  return std::optional<Array>(*std::move(converted));
}

absl::StatusOr<RawResult> SingleArray(absl::StatusOr<RequestStats> stats, v1::Array* array) {
  if (!stats.ok()) return stats.status();
  absl::StatusOr<Array> converted = Required(array);
  if (!converted.ok()) return converted.status();
  return RawResult{*std::move(converted), *std::move(stats)};
}

/// `fields` with the destination's array, where there is one.
std::vector<std::pair<absl::string_view, ArrayView>> WithInitial(
    std::vector<std::pair<absl::string_view, ArrayView>> fields, const InitialDestination& initial) {
  if (const ArrayView* view = std::get_if<ArrayView>(&initial)) fields.emplace_back("destination", *view);
  return fields;
}

}  // namespace

class Client::Connection {
 public:
  explicit Connection(const ClientOptions& options) : options_(options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    arguments.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
    arguments.SetUserAgentPrefix("corank-cpp");
    channel_ = grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::CorankService::NewStub(channel_);
  }

  /// One operator: checks, builds and sends `request`, fills *response and returns what the call cost. `fields` are all
  /// arrays of the request with the names that the contract has for them.
  template <typename Request, typename Message, typename Response>
  absl::StatusOr<RequestStats> Run(Method<Message, Response> method, const Request& request,
                                   const std::vector<std::pair<absl::string_view, ArrayView>>& fields,
                                   const CallOptions& call, Response* response) {
    const absl::Time deadline = Deadline(call);
    int64_t payload_bytes = 0;
    for (const auto& [name, view] : fields) {
      if (const absl::Status checked = CheckView(view, name); !checked.ok()) return checked;
      payload_bytes += static_cast<int64_t>(view.bytes.size());
    }
    if (const absl::Status checked = CheckSize(payload_bytes); !checked.ok()) return checked;  // before any copy
    Message message = ToProto(request);
    *message.mutable_options() = ToProto(call);
    if (const absl::Status checked = CheckSize(message.ByteSizeLong()); !checked.ok()) return checked;
    absl::StatusOr<RequestStats> cost = Call(method, message, deadline, response);
    if (!cost.ok()) return cost.status();
    RequestStats stats = FromProto(response->stats());
    stats.round_trip_ns = cost->round_trip_ns;
    stats.attempts = cost->attempts;
    stats.request_id = std::move(cost->request_id);
    return stats;
  }

  absl::Time Deadline(const CallOptions& call) const { return absl::Now() + call.deadline.value_or(options_.deadline); }

  /// Calls `method` until it succeeds or its error is final. On success fills *response and returns what it cost here.
  template <typename Request, typename Response>
  absl::StatusOr<RequestStats> Call(Method<Request, Response> method, const Request& request, absl::Time deadline,
                                    Response* response) {
    for (int attempt = 1;; ++attempt) {
      grpc::ClientContext context;
      if (deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(deadline));
      const absl::Time start = absl::Now();
      const grpc::Status status = (*stub_.*method)(&context, request, response);
      if (status.ok()) {
        RequestStats cost;
        cost.round_trip_ns = absl::ToInt64Nanoseconds(absl::Now() - start);
        cost.attempts = attempt;
        cost.request_id = RequestId(context);
        return cost;
      }
      const absl::Status error = ToAbslStatus(status);
      const std::optional<absl::Duration> delay =
          NextRetry(options_.retry, error, attempt, deadline - absl::Now(), Jitter());
      if (!delay.has_value()) return Explain(error, attempt, RequestId(context));
      absl::SleepFor(*delay);
    }
  }

 private:
  absl::Status CheckSize(int64_t bytes) const {
    if (bytes <= options_.max_message_bytes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", bytes, " bytes, more than one message of at most ", options_.max_message_bytes,
                     " bytes holds; send it in smaller calls"));
  }

  static std::string RequestId(const grpc::ClientContext& context) {
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find("x-request-id");
    return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
  }

  static double Jitter() {
    thread_local absl::InsecureBitGen generator;
    return absl::Uniform(generator, 0.0, 1.0);
  }

  /// Says in words what gRPC says in codes: that nobody answered, how often a call was refused, which request it was.
  absl::Status Explain(const absl::Status& error, int attempts, const std::string& request_id) const {
    const bool answered = RetryDelay(error).has_value() || !request_id.empty();
    if (!answered && absl::IsUnavailable(error)) {
      return absl::UnavailableError(
          absl::StrCat("no corank server answers at ", options_.address, " (", LastClause(error.message()), ")"));
    }
    if (!answered && absl::IsDeadlineExceeded(error) && channel_->GetState(false) != GRPC_CHANNEL_READY) {
      return absl::DeadlineExceededError(
          absl::StrCat("the deadline passed before there was a connection to ", options_.address));
    }
    std::string message(error.message());
    if (attempts > 1) absl::StrAppend(&message, " (refused ", attempts, " times)");
    if (!request_id.empty()) absl::StrAppend(&message, " [request ", request_id, "]");
    return WithMessage(error, message);
  }

  const ClientOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CorankService::Stub> stub_;
};

absl::StatusOr<Client> Client::Create(const ClientOptions& options) {
  if (options.address.empty()) return absl::InvalidArgumentError("address: must not be empty");
  if (options.deadline <= absl::ZeroDuration()) return absl::InvalidArgumentError("deadline: must be positive");
  if (options.max_message_bytes < 1 || options.max_message_bytes > kMostMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("max_message_bytes: must be 1 to ", kMostMessageBytes));
  }
  if (options.retry.max_attempts < 1) return absl::InvalidArgumentError("retry.max_attempts: must be 1 or more");
  return Client(std::make_unique<Connection>(options));
}

Client::Client(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

absl::StatusOr<RawSortResult> Client::Sort(const SortRequest& request, const CallOptions& call) const {
  std::vector<std::pair<absl::string_view, ArrayView>> fields = {{"keys", request.keys}};
  if (request.values.has_value()) fields.emplace_back("values", *request.values);
  if (request.segment_offsets.has_value()) fields.emplace_back("segment_offsets", ViewOf(*request.segment_offsets));
  v1::SortResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::Sort, request, fields, call, &response);
  if (!stats.ok()) return stats.status();
  auto keys = Optional(response.has_keys() ? response.mutable_keys() : nullptr);
  if (!keys.ok()) return keys.status();
  auto values = Optional(response.has_values() ? response.mutable_values() : nullptr);
  if (!values.ok()) return values.status();
  auto indices = Optional(response.has_indices() ? response.mutable_indices() : nullptr);
  if (!indices.ok()) return indices.status();
  return RawSortResult{*std::move(keys), *std::move(values), *std::move(indices),
                       FromWire(response.algorithm()).value_or(SortAlgorithm::kAuto), *std::move(stats)};
}

absl::StatusOr<ColumnSortResult> Client::SortColumns(const ColumnSortRequest& request, const CallOptions& call) const {
  if (request.columns.empty()) return absl::InvalidArgumentError("columns: at least one is needed");
  std::vector<std::pair<absl::string_view, ArrayView>> fields;
  for (const ColumnView& column : request.columns) {
    fields.emplace_back("columns", column.data);
    if (column.offsets.has_value()) fields.emplace_back("columns", ViewOf(*column.offsets));
  }
  if (request.values.has_value()) fields.emplace_back("values", *request.values);
  v1::SortResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::Sort, request, fields, call, &response);
  if (!stats.ok()) return stats.status();
  ColumnSortResult result;
  for (v1::SortedColumn& column : *response.mutable_key_columns()) {
    auto data = Required(column.has_data() ? column.mutable_data() : nullptr);
    if (!data.ok()) return data.status();
    auto offsets = Optional(column.has_offsets() ? column.mutable_offsets() : nullptr);
    if (!offsets.ok()) return offsets.status();
    SortedColumn& to = result.columns.emplace_back();
    to.data = *std::move(data);
    if (!offsets->has_value()) continue;
    auto typed = ToVector<int64_t>(**offsets);
    if (!typed.ok()) return typed.status();
    to.offsets = *std::move(typed);
  }
  auto values = Optional(response.has_values() ? response.mutable_values() : nullptr);
  if (!values.ok()) return values.status();
  auto indices = Optional(response.has_indices() ? response.mutable_indices() : nullptr);
  if (!indices.ok()) return indices.status();
  result.values = *std::move(values);
  result.indices = *std::move(indices);
  result.algorithm = FromWire(response.algorithm()).value_or(SortAlgorithm::kAuto);
  result.stats = *std::move(stats);
  return result;
}

absl::StatusOr<RawMergeResult> Client::Merge(const MergeRequest& request, const CallOptions& call) const {
  std::vector<std::pair<absl::string_view, ArrayView>> fields;
  for (const ArrayView& keys : request.keys) fields.emplace_back("keys", keys);
  for (const ArrayView& values : request.values) fields.emplace_back("values", values);
  v1::MergeResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::Merge, request, fields, call, &response);
  if (!stats.ok()) return stats.status();
  absl::StatusOr<Array> keys = Required(response.has_keys() ? response.mutable_keys() : nullptr);
  if (!keys.ok()) return keys.status();
  auto values = Optional(response.has_values() ? response.mutable_values() : nullptr);
  if (!values.ok()) return values.status();
  return RawMergeResult{*std::move(keys), *std::move(values),
                        FromWire(response.algorithm()).value_or(MergeAlgorithm::kAuto), *std::move(stats)};
}

absl::StatusOr<RawResult> Client::ExpandIntervals(const ExpandRequest& request, const CallOptions& call) const {
  v1::ExpandIntervalsResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::ExpandIntervals, request,
                                {{"values", request.values}, {"counts", ViewOf(request.counts)}}, call, &response);
  return SingleArray(std::move(stats), response.has_values() ? response.mutable_values() : nullptr);
}

absl::StatusOr<RawResult> Client::MoveIntervals(const MoveRequest& request, const CallOptions& call) const {
  v1::MoveIntervalsResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::MoveIntervals, request,
                                WithInitial({{"source", request.source},
                                             {"source_offsets", ViewOf(request.source_offsets)},
                                             {"destination_offsets", ViewOf(request.destination_offsets)},
                                             {"counts", ViewOf(request.counts)}},
                                            request.destination),
                                call, &response);
  return SingleArray(std::move(stats), response.has_result() ? response.mutable_result() : nullptr);
}

absl::StatusOr<RawResult> Client::GatherIntervals(const GatherRequest& request, const CallOptions& call) const {
  v1::GatherIntervalsResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::GatherIntervals, request,
                                {{"source", request.source},
                                 {"source_offsets", ViewOf(request.source_offsets)},
                                 {"counts", ViewOf(request.counts)}},
                                call, &response);
  return SingleArray(std::move(stats), response.has_result() ? response.mutable_result() : nullptr);
}

absl::StatusOr<RawResult> Client::ScatterIntervals(const ScatterRequest& request, const CallOptions& call) const {
  v1::ScatterIntervalsResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::ScatterIntervals, request,
                                WithInitial({{"source", request.source},
                                             {"destination_offsets", ViewOf(request.destination_offsets)},
                                             {"counts", ViewOf(request.counts)}},
                                            request.destination),
                                call, &response);
  return SingleArray(std::move(stats), response.has_result() ? response.mutable_result() : nullptr);
}

absl::StatusOr<RawLoadBalanceResult> Client::LoadBalance(const LoadBalanceRequest& request,
                                                         const CallOptions& call) const {
  v1::LoadBalanceResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::LoadBalance, request, {{"counts", ViewOf(request.counts)}},
                                call, &response);
  if (!stats.ok()) return stats.status();
  absl::StatusOr<Array> objects = Required(response.has_objects() ? response.mutable_objects() : nullptr);
  if (!objects.ok()) return objects.status();
  absl::StatusOr<Array> ranks = Required(response.has_ranks() ? response.mutable_ranks() : nullptr);
  if (!ranks.ok()) return ranks.status();
  return RawLoadBalanceResult{*std::move(objects), *std::move(ranks), *std::move(stats)};
}

absl::StatusOr<RawResult> Client::Search(const SearchRequest& request, const CallOptions& call) const {
  v1::SearchResponse response;
  auto stats = connection_->Run(&v1::CorankService::Stub::Search, request,
                                {{"haystack", request.haystack}, {"needles", request.needles}}, call, &response);
  return SingleArray(std::move(stats), response.has_positions() ? response.mutable_positions() : nullptr);
}

absl::StatusOr<ServerInfo> Client::GetServerInfo(const CallOptions& call) const {
  v1::GetServerInfoResponse response;
  const auto cost = connection_->Call(&v1::CorankService::Stub::GetServerInfo, v1::GetServerInfoRequest(),
                                      connection_->Deadline(call), &response);
  if (!cost.ok()) return cost.status();
  return FromProto(response);
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

absl::StatusOr<IndicesResult> Client::TypedIndices(const Array& indices, RequestStats stats) {
  absl::StatusOr<std::vector<int64_t>> widened = ToIndices(indices);
  if (!widened.ok()) return widened.status();
  return IndicesResult{*std::move(widened), std::move(stats)};
}

}  // namespace corank::client
