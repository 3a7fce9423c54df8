// A server in this process, and a client of it over loopback.
#ifndef CORANK_TESTS_SERVER_RUNNING_SERVER_H_
#define CORANK_TESTS_SERVER_RUNNING_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corank/v1/corank_service.grpc.pb.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "server/server.h"
#include "tests/server/doubles.h"

namespace corank::testing {

/// A CPU engine of two threads.
ChosenEngine CpuEngine();

/// Free ports, no metrics endpoint, one lane.
Server::Options TestOptions();

class RunningServer {
 public:
  /// Uses the CPU engine.
  explicit RunningServer(const Server::Options& options = TestOptions());
  RunningServer(const Server::Options& options, ChosenEngine engine, const Clock* clock = &Clock::Steady());
  /// Uses several devices with the ordinals 0, 1 and so on.
  RunningServer(const Server::Options& options, std::vector<ChosenEngine> engines,
                const Clock* clock = &Clock::Steady());

  Server& server() const { return *server_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::CorankService::Stub& stub() const { return *stub_; }

 private:
  const Logger logger_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CorankService::Stub> stub_;
};

/// A channel without limits on messages.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);

/// The response and the method of a request.
template <typename Request>
struct Unary;
template <>
struct Unary<v1::SortRequest> {
  using Response = v1::SortResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Sort;
};
template <>
struct Unary<v1::MergeRequest> {
  using Response = v1::MergeResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Merge;
};
template <>
struct Unary<v1::ExpandIntervalsRequest> {
  using Response = v1::ExpandIntervalsResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::ExpandIntervals;
};
template <>
struct Unary<v1::MoveIntervalsRequest> {
  using Response = v1::MoveIntervalsResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::MoveIntervals;
};
template <>
struct Unary<v1::GatherIntervalsRequest> {
  using Response = v1::GatherIntervalsResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::GatherIntervals;
};
template <>
struct Unary<v1::ScatterIntervalsRequest> {
  using Response = v1::ScatterIntervalsResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::ScatterIntervals;
};
template <>
struct Unary<v1::LoadBalanceRequest> {
  using Response = v1::LoadBalanceResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::LoadBalance;
};
template <>
struct Unary<v1::SearchRequest> {
  using Response = v1::SearchResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Search;
};
template <>
struct Unary<v1::GroupRequest> {
  using Response = v1::GroupResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Group;
};
template <>
struct Unary<v1::SelectRequest> {
  using Response = v1::SelectResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Select;
};
template <>
struct Unary<v1::RankRequest> {
  using Response = v1::RankResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Rank;
};
template <>
struct Unary<v1::JoinRequest> {
  using Response = v1::JoinResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::Join;
};
template <>
struct Unary<v1::CombineSetsRequest> {
  using Response = v1::CombineSetsResponse;
  static constexpr auto kMethod = &v1::CorankService::Stub::CombineSets;
};

/// Calls the method of the request.
template <typename Request>
grpc::Status Call(v1::CorankService::Stub& stub, grpc::ClientContext* context, const Request& request,
                  typename Unary<Request>::Response* response) {
  return (stub.*Unary<Request>::kMethod)(context, request, response);
}

/// The field that a status's BadRequest names; empty if there is none.
std::string BadField(const grpc::Status& status);

/// A status's ErrorInfo; empty if there is none.
wire::v1::ErrorInfo InfoOf(const grpc::Status& status);

/// The delay of a status's RetryInfo; negative if there is none.
absl::Duration RetryDelay(const grpc::Status& status);

/// A counter or gauge of the server. `label`: the value of one of its labels, if it has any. -1 if it does not exist.
double MetricOf(const Server& server, absl::string_view name, absl::string_view label = "");

/// Waits until the condition holds. Returns false after half a minute.
bool Eventually(const std::function<bool()>& condition);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_RUNNING_SERVER_H_
