// echo_server: the reference of service_bench. The same gRPC, callback API and messages as corankd's Sort; the payload
// goes straight back. What a sort costs above this is what the service adds to the transport.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/harness/flags.h"
#include "bench/harness/results.h"
#include "corank/v1/corank_service.grpc.pb.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "address to serve on; port 0 means a free one");
ABSL_FLAG(std::string, ports_file, "", "once it serves, its address is written here, as corankd does");

namespace corank::bench {
namespace {

class EchoService final : public v1::CorankService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Sort(grpc::CallbackServerContext* context, const v1::SortRequest* request,
                                 v1::SortResponse* response) override {
    // The request belongs to this call alone and is not read again: its payload is moved, which no server that returns
    // other bytes than it got could do.
    *response->mutable_keys() = std::move(*const_cast<v1::SortRequest*>(request)->mutable_keys());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Serve() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before gRPC starts threads, which inherit it

  EchoService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::GetFlag(FLAGS_listen), grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "echo_server: cannot serve on %s\n", absl::GetFlag(FLAGS_listen).c_str());
    return 1;
  }
  const std::string ports_file = absl::GetFlag(FLAGS_ports_file);
  if (!ports_file.empty()) {
    const absl::Status status = WriteFileAtomically(
        ports_file, absl::StrCat("{\"grpc\":\"127.0.0.1:", port, "\",\"pid\":", getpid(), ",\"engine\":\"echo\"}\n"));
    if (!status.ok()) {
      std::fprintf(stderr, "echo_server: %s\n", status.ToString().c_str());
      return 1;
    }
  }
  int received = 0;
  sigwait(&signals, &received);
  server->Shutdown();
  return 0;
}

}  // namespace
}  // namespace corank::bench

int main(int argc, char** argv) {
  corank::bench::ParseFlags("sends the keys of every Sort request straight back", argc, argv);
  return corank::bench::Serve();
}
