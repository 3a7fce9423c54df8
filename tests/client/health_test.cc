// Waiting for a server that does not run yet.
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

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

// How late a waiting client notices a server that comes up after five seconds.
void HearOfALateServer(absl::Duration* late) {
  ClientOptions options;
  options.address = testing::LocalSocket(/*listens=*/false).address();  // closed again
  const absl::StatusOr<Client> client = Client::Create(options);
  ASSERT_TRUE(client.ok()) << client.status();
  absl::StatusOr<Health> heard = Health::kUnknown;
  absl::Time when;
  std::thread waiting([&] {
    CallOptions call;
    call.deadline = absl::Seconds(30);
    heard = client->AwaitHealth("ready", call);
    when = absl::Now();
  });
  absl::SleepFor(absl::Seconds(5));
  grpc::EnableDefaultHealthCheckService(true);
  PuppetService service;  // a server also answers calls
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::EnableDefaultHealthCheckService(false);
  if (server != nullptr) server->GetHealthCheckService()->SetServingStatus("ready", true);
  const absl::Time up = absl::Now();
  waiting.join();
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(*heard, Health::kServing);
  *late = when - up;
}

// On its own, gRPC would wait for seconds before each new attempt. A machine is slow only from time to time.
TEST(AwaitHealth, HearsSoonOfAServerThatComesUpLate) {
  absl::Duration late = absl::InfiniteDuration();
  for (int tries = 0; tries < 3 && late >= absl::Seconds(1) && !HasFailure(); ++tries) HearOfALateServer(&late);
  EXPECT_LT(late, absl::Seconds(1));
}

}  // namespace
}  // namespace corank::client
