// Waiting for a server that is not there yet.
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "grpcpp/grpcpp.h"
#include "tests/client/local_socket.h"
#include "tests/client/puppet_service.h"

namespace corank::client {
namespace {

// How late a waiting client hears of a server that comes up after five seconds.
void HearOfALateServer(absl::Duration* late) {
  ClientOptions options;
  options.address = testing::LocalSocket(/*listens=*/false).address();  // free again
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
  PuppetService service;  // a server is one of calls, too
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

// gRPC by itself would wait for seconds before it asks again, each time; a machine is only busy now and then.
TEST(AwaitHealth, HearsSoonOfAServerThatComesUpLate) {
  absl::Duration late = absl::InfiniteDuration();
  for (int tries = 0; tries < 3 && late >= absl::Seconds(1) && !HasFailure(); ++tries) HearOfALateServer(&late);
  EXPECT_LT(late, absl::Seconds(1));
}

}  // namespace
}  // namespace corank::client
