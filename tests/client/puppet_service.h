// A corank server in this process whose answers a test scripts, to see what the client sends and what it makes of any
// answer. Handlers run on gRPC's threads.
#ifndef CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_
#define CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "corank/v1/corank_service.grpc.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"

namespace corank::client {

/// A gRPC status with one google.rpc detail.
grpc::Status StatusWithDetail(grpc::StatusCode code, const std::string& message,
                              const google::protobuf::Message& detail);
grpc::Status InvalidField(const std::string& field, const std::string& message);
grpc::Status RetryLater(grpc::StatusCode code, const std::string& message, absl::Duration delay);

class PuppetService final : public v1::CorankService::Service {
 public:
  template <typename Request, typename Response>
  using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;

  Handler<v1::SortRequest, v1::SortResponse> on_sort;
  Handler<v1::MoveIntervalsRequest, v1::MoveIntervalsResponse> on_move;
  Handler<v1::SearchRequest, v1::SearchResponse> on_search;

  grpc::Status Sort(grpc::ServerContext* context, const v1::SortRequest* request, v1::SortResponse* response) override {
    return on_sort(context, *request, response);
  }
  grpc::Status MoveIntervals(grpc::ServerContext* context, const v1::MoveIntervalsRequest* request,
                             v1::MoveIntervalsResponse* response) override {
    return on_move(context, *request, response);
  }
  grpc::Status Search(grpc::ServerContext* context, const v1::SearchRequest* request,
                      v1::SearchResponse* response) override {
    return on_search(context, *request, response);
  }
};

/// Serves a puppet on a free port of the loopback interface for as long as it lives.
class PuppetServer {
 public:
  explicit PuppetServer(PuppetService* service);
  ~PuppetServer();

  const std::string& address() const { return address_; }

 private:
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace corank::client

#endif  // CORANK_TESTS_CLIENT_PUPPET_SERVICE_H_
