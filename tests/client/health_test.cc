// Waiting for a server that is not there yet.
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "grpcpp/grpcpp.h"
#include "tests/client/puppet_service.h"

namespace corank::client {
namespace {

/// An address of this host that nobody listens at.
std::string FreeAddress() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(probe);
  return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
}

// gRPC by itself would wait for seconds before it asks again.
TEST(AwaitHealth, HearsSoonOfAServerThatComesUpLate) {
  ClientOptions options;
  options.address = FreeAddress();
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
  ASSERT_NE(server, nullptr);
  server->GetHealthCheckService()->SetServingStatus("ready", true);
  const absl::Time up = absl::Now();
  waiting.join();
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(*heard, Health::kServing);
  EXPECT_LT(when - up, absl::Seconds(1));
}

}  // namespace
}  // namespace corank::client
