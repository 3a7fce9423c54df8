// Waiting for a server that does not run yet.
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "corank/client.h"
#include "grpcpp/grpcpp.h"
#include "tests/client/local_socket.h"
#include "tests/client/puppet_service.h"

namespace corank::client {
namespace {

// Accepts connections and closes them at once.
class ClosingPort {
 public:
  ~ClosingPort() {
    shutdown(socket_.descriptor(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& address() const { return socket_.address(); }
  int connections() const { return connections_; }

 private:
  const testing::LocalSocket socket_{/*listens=*/true};
  std::atomic<int> connections_ = 0;
  std::thread thread_{[this] {
    for (int accepted; (accepted = accept(socket_.descriptor(), nullptr, nullptr)) >= 0; close(accepted)) {
      ++connections_;
    }
  }};
};

// On its own, gRPC would wait for seconds before each new attempt.
TEST(AwaitHealth, HearsSoonOfAServerThatComesUpLate) {
  constexpr int kAttempts = 30;
  ClientOptions options;
  absl::StatusOr<Health> heard = Health::kUnknown;
  std::thread waiting;
  {
    const ClosingPort port, other_port;
    options.address = port.address();
    waiting = std::thread([&heard, options] {
      CallOptions call;
      call.deadline = absl::Hours(1);
      heard = Client::Create(options)->AwaitHealth("ready", call);
    });
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
    const auto on_its_own =
        grpc::CreateCustomChannel(other_port.address(), grpc::InsecureChannelCredentials(), arguments);
    while (port.connections() < kAttempts) {
      on_its_own->WaitForStateChange(on_its_own->GetState(/*try_to_connect=*/true),
                                     absl::ToChronoTime(absl::Now() + absl::Milliseconds(10)));
    }
    EXPECT_LT(other_port.connections(), kAttempts / 2);
  }
  grpc::EnableDefaultHealthCheckService(true);
  PuppetService service;  // a server also answers calls
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::EnableDefaultHealthCheckService(false);
  ASSERT_NE(server, nullptr);
  server->GetHealthCheckService()->SetServingStatus("ready", true);
  waiting.join();
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(*heard, Health::kServing);
}

}  // namespace
}  // namespace corank::client
