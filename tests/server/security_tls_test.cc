// TLS on a port: which handshakes succeed, which tenant a certificate names, and renewal while the server runs.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/rpc/health.h"
#include "server/rpc_endpoint.h"
#include "tests/server/raw_stream.h"
#include "tests/server/secured_server.h"
#include "tests/server/streamed_call.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TlsFiles WriteFiles(const TestFolder& folder, const TestCertificate& server, const std::string& client_ca = "") {
  TlsFiles files{folder.Write("tls.crt", server.certificate), folder.Write("tls.key", server.key), ""};
  if (!client_ca.empty()) files.client_ca = folder.Write("ca.crt", client_ca);
  return files;
}

// The common name in the certificate of a handshake with at most this version of TLS; empty if the handshake fails.
std::string ServedName(const std::string& address, int most_version) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(ListenAddress::Parse(address)->port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) return "";
  const timeval patience = {20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context, 0);  // so that this side does not refuse old versions
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, most_version);
  SSL* const ssl = SSL_new(context);
  const unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl, kHttp2, sizeof(kHttp2));
  SSL_set_fd(ssl, fd);
  char name[256] = "";
  if (SSL_connect(ssl) == 1) {
    X509* const certificate = SSL_get1_peer_certificate(ssl);
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof(name));
    X509_free(certificate);
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  close(fd);
  return name;
}

class SecurityTlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<RunningServer> Serve(const TlsFiles& files, const std::string& tokens = "") {
    Server::Options options = SecuredOptions();
    options.security.tls = files;
    if (!tokens.empty()) options.security.tokens_file = folder_.Write("tokens", tokens);
    return std::make_unique<RunningServer>(options);
  }
  static grpc::Status SortAt(const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                             const std::string& host = "", const std::string& token = "") {
    return TestCaller(ConnectWith(address, credentials, host), token).Sort();
  }

  const TestFolder folder_;
  const TestAuthority authority_{"authority"};
  const TestAuthority stranger_{"stranger"};
};

TEST_F(SecurityTlsTest, OnlyThoseWhoTrustTheServerGetThrough) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer()));
  const std::string& address = running->server().address();
  EXPECT_TRUE(SortAt(address, TlsClient(authority_)).ok());
  EXPECT_TRUE(SortAt(address, TlsClient(authority_), "localhost").ok());
  EXPECT_EQ(SortAt(address, TlsClient(authority_), "other.example").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(SortAt(address, TlsClient(stranger_)).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(SortAt(address, grpc::InsecureChannelCredentials()).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(SortAt(address, TlsClient(authority_)).ok());
}

TEST_F(SecurityTlsTest, VersionsBeforeOnePointTwoAreRefused) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer()));
  const std::string& address = running->server().address();
  EXPECT_EQ(ServedName(address, TLS1_VERSION), "");
  EXPECT_EQ(ServedName(address, TLS1_1_VERSION), "");
  EXPECT_EQ(ServedName(address, TLS1_2_VERSION), "the server");
  EXPECT_EQ(ServedName(address, TLS1_3_VERSION), "the server");
}

TEST_F(SecurityTlsTest, ACertificateThatExpiredIsNotServed) {
  Server::Options options = SecuredOptions();
  options.security.tls =
      WriteFiles(folder_, authority_.Issue({"late", {"IP:127.0.0.1"}, -absl::Hours(2), -absl::Hours(1)}));
  const Logger logger(LogLevel::kError);
  EXPECT_THAT(Security::Create(options.security, &logger).status().message(), HasSubstr("not now"));
}

TEST_F(SecurityTlsTest, ClientCertificatesAreAskedForAndVerified) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer(), authority_.certificate()));
  const std::string& address = running->server().address();
  const auto status_with = [&](const TestCertificate& own) {
    return SortAt(address, TlsClient(authority_, own)).error_code();
  };
  EXPECT_EQ(status_with(authority_.Issue({"node", {"DNS:node.example"}})), grpc::StatusCode::OK);
  EXPECT_EQ(status_with({}), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_with(stranger_.Issue({"node", {"DNS:node.example"}})), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_with(authority_.Issue({"node", {}, -absl::Hours(2), -absl::Hours(1)})),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_with(authority_.Issue({"node", {}, absl::Hours(1), absl::Hours(2)})), grpc::StatusCode::UNAVAILABLE);
}

// The first URI, otherwise the first DNS name, otherwise the common name. Arrays kept under a certificate show its
// tenant.
TEST_F(SecurityTlsTest, ACertificateNamesTheTenant) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer(), authority_.certificate()));
  const auto caller = [&](const std::string& name, const std::vector<std::string>& alternatives) {
    const TestCertificate own = authority_.Issue({name, alternatives});
    return TestCaller(ConnectWith(running->server().address(), TlsClient(authority_, own)), "");
  };
  ASSERT_TRUE(caller("x", {"DNS:dns.example", "URI:spiffe://example/a"}).Store("a", 1).ok());
  ASSERT_TRUE(caller("x", {"DNS:dns.example"}).Store("a", 2).ok());
  ASSERT_TRUE(caller("x", {}).Store("a", 3).ok());
  const auto value_for = [](const TestCaller& reader) {
    int32_t value = 0;
    EXPECT_TRUE(reader.Fetch("a", &value).ok());
    return value;
  };
  EXPECT_EQ(value_for(caller("y", {"URI:spiffe://example/a"})), 1);
  EXPECT_EQ(value_for(caller("y", {"DNS:dns.example", "DNS:more.example"})), 2);
  EXPECT_EQ(value_for(caller("x", {})), 3);
  EXPECT_FALSE(caller("", {}).Sort().ok()) << "contains no name";
}

TEST_F(SecurityTlsTest, WithATokensFileACertificateMustBeInIt) {
  const auto running =
      Serve(WriteFiles(folder_, authority_.IssueServer(), authority_.certificate()),
            absl::StrCat("node certificate:node.example sort\n", TokenLine("left", "l-token", "stored-arrays")));
  const auto with = [&](const std::string& dns, const std::string& token) {
    const TestCertificate own = authority_.Issue({"x", {"DNS:" + dns}});
    return TestCaller(ConnectWith(running->server().address(), TlsClient(authority_, own)), token);
  };
  EXPECT_TRUE(with("node.example", "").Sort().ok());
  EXPECT_EQ(with("node.example", "").Store("a", 1).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(with("stranger.example", "").Sort().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(with("node.example", "wrong").Sort().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(with("node.example", "l-token").Store("a", 1).ok()) << "a token comes first";
  EXPECT_EQ(with("node.example", "l-token").Sort().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(SecurityTlsTest, ACommonNameIsNoDisguise) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer(), authority_.certificate()),
                             "node certificate:node.example all\n");
  const auto status_of = [&](const CertificateRequest& request) {
    return SortAt(running->server().address(), TlsClient(authority_, authority_.Issue(request))).error_code();
  };
  EXPECT_EQ(status_of({"x", {"DNS:other.example", "DNS:node.example"}}), grpc::StatusCode::OK);
  EXPECT_EQ(status_of({"node.example", {}}), grpc::StatusCode::OK);
  EXPECT_EQ(status_of({"x", {"email:node.example@node.example"}}), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(status_of({"node.example", {"DNS:other.example"}}), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(status_of({"node.example", {"URI:spiffe://example/other"}}), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(SecurityTlsTest, ANewCertificateIsForNewConnectionsAndOldOnesGoOn) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer("the first")));
  const std::string& address = running->server().address();
  const TestCaller before(ConnectWith(address, TlsClient(authority_)), "");
  const auto context = before.Context();
  const auto stream = before.stub().Execute(context.get());
  v1::ExecuteRequest message;
  *message.mutable_plan() = SortPlan(v1::ELEMENT_TYPE_INT32, 1);
  ASSERT_TRUE(stream->Write(message));
  EXPECT_EQ(ServedName(address, TLS1_3_VERSION), "the first");

  WriteFiles(folder_, stranger_.IssueServer("the second"));
  EXPECT_TRUE(Eventually([&] { return ServedName(address, TLS1_3_VERSION) == "the second"; }));
  EXPECT_TRUE(SortAt(address, TlsClient(stranger_)).ok());
  EXPECT_EQ(SortAt(address, TlsClient(authority_)).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(before.Sort().ok()) << "on the connection from before";
  ASSERT_TRUE(stream->Write(Chunk(0, 0, std::string(4, '\1'))));
  stream->WritesDone();
  v1::ExecuteResponse answer;
  while (stream->Read(&answer)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(SecurityTlsTest, NewRootsHoldForNewConnections) {
  const auto running = Serve(WriteFiles(folder_, authority_.IssueServer(), authority_.certificate()));
  const std::string& address = running->server().address();
  const auto status_of = [&](const TestAuthority& issuer) {
    return SortAt(address, TlsClient(authority_, issuer.Issue({"node", {}}))).error_code();
  };
  EXPECT_EQ(status_of(authority_), grpc::StatusCode::OK);
  EXPECT_EQ(status_of(stranger_), grpc::StatusCode::UNAVAILABLE);
  folder_.Write("ca.crt", stranger_.certificate());
  EXPECT_TRUE(Eventually([&] { return status_of(stranger_) == grpc::StatusCode::OK; }));
  EXPECT_EQ(status_of(authority_), grpc::StatusCode::UNAVAILABLE);
}

// A bare port, so that the test sees the log and decides when files are read again.
TEST_F(SecurityTlsTest, ABrokenRenewalKeepsTheOldCertificateAndSaysSo) {
  absl::Mutex mutex;
  std::string log;
  const Logger logger(LogLevel::kInfo, [&](absl::string_view line) {
    absl::MutexLock lock(&mutex);
    absl::StrAppend(&log, line);
  });
  const TlsFiles files = WriteFiles(folder_, authority_.IssueServer("the first"));
  const auto credentials = TlsCredentials::Create(files, &logger);
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  HealthBoard board;
  board.Set("", true);
  Methods methods;
  AddHealth(&board, &methods);
  RpcEndpoint::Options options;
  options.listen = *ListenAddress::Parse("127.0.0.1:0");
  options.tls = credentials->get();
  const auto endpoint = RpcEndpoint::Start(options, methods.router(), &logger);
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const std::string& address = (*endpoint)->address();
  EXPECT_EQ(ServedName(address, TLS1_3_VERSION), "the first");

  const TestCertificate good = authority_.IssueServer("the second");
  const TestCertificate late = authority_.Issue({"late", {"IP:127.0.0.1"}, -absl::Hours(2), -absl::Hours(1)});
  const std::pair<TestCertificate, const char*> kBroken[] = {{{"junk", good.key}, "no certificate"},
                                                             {{good.certificate, "junk"}, "no private key"},
                                                             {{good.certificate, late.key}, "does not match"},
                                                             {late, "not now"}};
  for (const auto& [broken, reason] : kBroken) {
    {
      absl::MutexLock lock(&mutex);
      log.clear();
    }
    WriteFiles(folder_, broken);
    EXPECT_FALSE((*credentials)->Reload());
    EXPECT_EQ(ServedName(address, TLS1_3_VERSION), "the first");
    absl::MutexLock lock(&mutex);
    EXPECT_THAT(log, HasSubstr("tls_kept"));
    EXPECT_THAT(log, HasSubstr(reason));
    EXPECT_THAT(log, Not(HasSubstr("PRIVATE")));
  }
  WriteFiles(folder_, good);
  EXPECT_TRUE((*credentials)->Reload());
  EXPECT_EQ(ServedName(address, TLS1_3_VERSION), "the second");
}

TEST_F(SecurityTlsTest, TheHealthPortIsPlainAndServesNothingElse) {
  Server::Options options = SecuredOptions();
  options.security.tls = WriteFiles(folder_, authority_.IssueServer(), authority_.certificate());
  options.health_listen = "127.0.0.1:0";
  const RunningServer running(options);
  const auto channel = Connect(running.server().health_address());
  const auto code_of = [&](const std::string& method) {
    grpc::ClientContext context;
    return CallRaw(channel, method, &context, "").error_code();
  };
  EXPECT_EQ(code_of("/grpc.health.v1.Health/Check"), grpc::StatusCode::OK);
  for (const char* method :
       {"/corank.v1.CorankService/Sort", "/corank.v1.CorankService/GetServerInfo",
        "/corank.v1.MemoryService/ListArrays", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    EXPECT_EQ(code_of(method), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
  RawStream watch(channel, "/grpc.health.v1.Health/Watch", HealthRequest(""));
  EXPECT_EQ(watch.Read(), kServing);
  running.server().Drain([] {});
  EXPECT_EQ(watch.Read(), kNotServing);
}

TEST_F(SecurityTlsTest, AUnixDomainSocketServesToo) {
  Server::Options options = SecuredOptions();
  options.listen = "unix:" + folder_.Path("socket");
  const RunningServer running(options);
  EXPECT_EQ(running.server().address(), options.listen);
  EXPECT_TRUE(TestCaller(Connect(options.listen), "").Sort().ok());
}

TEST_F(SecurityTlsTest, ConnectionsOverTheLimitAreClosedUntilThereIsRoom) {
  Server::Options options = SecuredOptions();
  options.connections.max_connections = 2;
  const RunningServer running(options);
  const std::string& address = running.server().address();
  const auto plain = grpc::InsecureChannelCredentials();
  auto first = std::make_unique<TestCaller>(ConnectWith(address, plain), "");
  const TestCaller second(ConnectWith(address, plain), "");
  EXPECT_TRUE(first->Sort().ok());
  EXPECT_TRUE(second.Sort().ok());
  EXPECT_EQ(SortAt(address, plain).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_GE(running.server().rpc().refused_connections(), 1);
  EXPECT_TRUE(second.Sort().ok()) << "those that are open are not touched";
  first.reset();
  EXPECT_TRUE(Eventually([&] { return SortAt(address, plain).ok(); }));
}

}  // namespace
}  // namespace corank::testing
