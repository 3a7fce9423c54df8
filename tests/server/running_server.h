// A server in this process, and a client of it over loopback.
#ifndef CORANK_TESTS_SERVER_RUNNING_SERVER_H_
#define CORANK_TESTS_SERVER_RUNNING_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corank/v1/corank_service.grpc.pb.h"
#include "corank/wire/v1/rpc_status.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "server/model/operator.h"
#include "server/server.h"
#include "tests/server/doubles.h"

namespace corank::testing {

/// A CPU engine of two threads.
ChosenEngine CpuEngine();

/// Free ports, no metrics endpoint, one lane.
Server::Options TestOptions();

/// The same with shared memory, where long requests work in small pieces, and streams, on one long lane, with this much
/// device memory for a request.
Server::Options PiecesOptions(int64_t max_device_bytes);

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
#define CORANK_ROW(Name, name)                                      \
  template <>                                                       \
  struct Unary<v1::Name##Request> {                                 \
    using Response = v1::Name##Response;                            \
    static constexpr auto kMethod = &v1::CorankService::Stub::Name; \
  };
CORANK_OPERATORS(CORANK_ROW)
#undef CORANK_ROW

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

/// Expects that soon no call is in progress, and that requests have given back their memory.
void ExpectAllFreed(const Server& server);

}  // namespace corank::testing

#endif  // CORANK_TESTS_SERVER_RUNNING_SERVER_H_
