// A corank server in this process with scripted responses. Tests see what the client sends, and how it handles any
// response. Handlers run on gRPC's threads.
#ifndef CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_
#define CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"
#include "tests/client/puppet_arrays.h"
#include "tests/client/puppet_execute.h"
#include "tests/client/puppet_memory.h"

namespace corank::client {

grpc::Status InvalidField(const std::string& field, const std::string& message);
/// The reason is DRAINING for UNAVAILABLE, else QUEUE_FULL.
grpc::Status RetryLater(grpc::StatusCode code, const std::string& message, absl::Duration delay);
/// What the other parts of a job get when part 1 ended with the reason `cause`.
grpc::Status PartLost(const std::string& cause);

/// The unary methods return the results of the handlers. Execute runs the same handlers on the data that it collects,
/// unless `on_execute` is set. With a PuppetMemory, handlers see arrays in regions and kept arrays inline, and their
/// inline results go to the destinations of the request. Methods without a handler return UNIMPLEMENTED.
class PuppetService final : public v1::CorankService::Service {
 public:
  template <typename Request, typename Response>
  using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;

  PuppetService()
      : execute([this](grpc::ServerContext* context, v1::Operation* operation, v1::OperationResult* result) {
          return Run(context, operation, result);
        }) {}

  Handler<v1::SortRequest, v1::SortResponse> on_sort;
  Handler<v1::MergeRequest, v1::MergeResponse> on_merge;
  Handler<v1::MoveIntervalsRequest, v1::MoveIntervalsResponse> on_move;
  Handler<v1::GatherIntervalsRequest, v1::GatherIntervalsResponse> on_gather;
  Handler<v1::LoadBalanceRequest, v1::LoadBalanceResponse> on_load_balance;
  Handler<v1::SearchRequest, v1::SearchResponse> on_search;
  std::function<grpc::Status(grpc::ServerContext*, ExecuteStream*)> on_execute;
  std::optional<v1::GetServerInfoResponse> info;  // unset: UNIMPLEMENTED
  PuppetMemory* memory = nullptr;
  PuppetExecute execute;
  std::atomic<int> unary_calls{0}, execute_calls{0}, info_calls{0};

  grpc::Status Sort(grpc::ServerContext* context, const v1::SortRequest* request, v1::SortResponse* response) override {
    return Unary(context, on_sort, request, response);
  }
  grpc::Status Merge(grpc::ServerContext* context, const v1::MergeRequest* request,
                     v1::MergeResponse* response) override {
    return Unary(context, on_merge, request, response);
  }
  grpc::Status MoveIntervals(grpc::ServerContext* context, const v1::MoveIntervalsRequest* request,
                             v1::MoveIntervalsResponse* response) override {
    return Unary(context, on_move, request, response);
  }
  grpc::Status GatherIntervals(grpc::ServerContext* context, const v1::GatherIntervalsRequest* request,
                               v1::GatherIntervalsResponse* response) override {
    return Unary(context, on_gather, request, response);
  }
  grpc::Status Search(grpc::ServerContext* context, const v1::SearchRequest* request,
                      v1::SearchResponse* response) override {
    return Unary(context, on_search, request, response);
  }
  grpc::Status Execute(grpc::ServerContext* context, ExecuteStream* stream) override {
    ++execute_calls;
    return on_execute != nullptr ? on_execute(context, stream) : execute.Serve(context, stream);
  }
  grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    ++info_calls;
    if (!info.has_value()) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    *response = *info;
    return grpc::Status::OK;
  }

 private:
  template <typename Request, typename Response>
  grpc::Status Unary(grpc::ServerContext* context, const Handler<Request, Response>& handler, const Request* request,
                     Response* response) {
    ++unary_calls;
    Request local = *request;
    return Handle(context, handler, &local, response);
  }

  template <typename Request, typename Response>
  grpc::Status Handle(grpc::ServerContext* context, const Handler<Request, Response>& handler, Request* request,
                      Response* response) {
    if (handler == nullptr) return {grpc::StatusCode::UNIMPLEMENTED, "no handler"};
    for (v1::Array* array : ArraysOf(request)) {
      if (memory == nullptr) break;
      if (const grpc::Status found = memory->Inline(array); !found.ok()) return found;
    }
    if (const grpc::Status handled = handler(context, *request, response); !handled.ok()) return handled;
    for (const auto& [array, destination] : ResultsOf(*request, response)) {
      if (memory == nullptr) break;
      if (const grpc::Status placed = memory->Place(*destination, array); !placed.ok()) return placed;
    }
    return grpc::Status::OK;
  }

  grpc::Status Run(grpc::ServerContext* context, v1::Operation* operation, v1::OperationResult* result) {
    switch (operation->operation_case()) {
      case v1::Operation::kSort:
        return Handle(context, on_sort, operation->mutable_sort(), result->mutable_sort());
      case v1::Operation::kMerge:
        return Handle(context, on_merge, operation->mutable_merge(), result->mutable_merge());
      case v1::Operation::kGatherIntervals:
        return Handle(context, on_gather, operation->mutable_gather_intervals(), result->mutable_gather_intervals());
      case v1::Operation::kLoadBalance:
        return Handle(context, on_load_balance, operation->mutable_load_balance(), result->mutable_load_balance());
      default:
        return {grpc::StatusCode::UNIMPLEMENTED, "no handler"};
    }
  }
};

/// Serves a puppet on a free port of the loopback interface until it is destroyed.
class PuppetServer {
 public:
  /// Without `memory` (null), there is no MemoryService.
  explicit PuppetServer(
      PuppetService* service, PuppetMemory* memory = nullptr,
      const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials());
  ~PuppetServer();

  const std::string& address() const { return address_; }

 private:
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_
