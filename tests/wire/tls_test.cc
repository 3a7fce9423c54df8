#include "server/wire/tls.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "tests/server/test_certificates.h"
#include "tests/wire/grpc_peer.h"
#include "tests/wire/raw_peer.h"
#include "tests/wire/wire_server.h"

namespace corank::wire::testing {
namespace {

using corank::testing::CertificateRequest;
using corank::testing::TestAuthority;
using corank::testing::TestCertificate;
using corank::testing::TestFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const TlsContext> Context(const TestCertificate& own, const std::string& client_ca = "") {
  auto made = TlsContext::Create(own.certificate, own.key, client_ca);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(const TestAuthority& root, const TestCertificate& own = {}) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = root.certificate();
  options.pem_cert_chain = own.certificate;
  options.pem_private_key = own.key;
  return grpc::SslCredentials(options);
}

TEST(TlsTest, ServesCallersThatTrustItsAuthority) {
  const TestAuthority authority("authority");
  WireServer server({}, Context(authority.IssueServer()));
  const auto channel = Connect(server.port(), Credentials(authority));
  const std::string message(3 << 20, 'x');
  const Answer answer = Ask(channel, "/test/Echo", message);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_EQ(answer.messages.size(), 1);
  EXPECT_TRUE(answer.messages[0] == message);
  EXPECT_THAT(Ask(channel, "/test/Names", "").messages, ElementsAre("anyone|||"));
}

TEST(TlsTest, NamesCallersWithACertificate) {
  const TestAuthority authority("authority"), clients("clients");
  WireServer server({}, Context(authority.IssueServer(), clients.certificate()));
  CertificateRequest request;
  request.common_name = "worker";
  request.alternative_names = {"URI:spiffe://example/node", "DNS:node.example"};
  const auto channel = Connect(server.port(), Credentials(authority, clients.Issue(request)));
  EXPECT_THAT(Ask(channel, "/test/Names", "").messages,
              ElementsAre("verified|spiffe://example/node|node.example|worker"));
}

TEST(TlsTest, RefusesCallersWithoutARightCertificate) {
  const TestAuthority authority("authority"), clients("clients"), others("others");
  WireServer server({}, Context(authority.IssueServer(), clients.certificate()));
  CertificateRequest request;
  request.common_name = "worker";
  EXPECT_FALSE(Ask(Connect(server.port(), Credentials(authority)), "/test/Echo", "x").status.ok());
  EXPECT_FALSE(
      Ask(Connect(server.port(), Credentials(authority, others.Issue(request))), "/test/Echo", "x").status.ok());
  request.begins_in = -absl::Hours(48);
  request.ends_in = -absl::Hours(24);
  EXPECT_FALSE(
      Ask(Connect(server.port(), Credentials(authority, clients.Issue(request))), "/test/Echo", "x").status.ok());
  EXPECT_EQ(server.seen().done, 0);
}

// Connects to a port of this host by TLS 1.2, and offers the session of an earlier connection, unless null. Null: the
// server refuses.
std::unique_ptr<SSL, decltype(&SSL_free)> ConnectBy12(SSL_CTX* context, int port, SSL_SESSION* earlier) {
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context), &SSL_free);
  const std::string address = absl::StrCat("127.0.0.1:", port);
  BIO* const socket = BIO_new_connect(address.c_str());
  SSL_set_bio(ssl.get(), socket, socket);
  SSL_set_session(ssl.get(), earlier);
  if (SSL_connect(ssl.get()) != 1) ssl.reset();
  return ssl;
}

TEST(TlsTest, ChecksTheCertificateOfEachConnectionByTls12) {
  const TestAuthority authority("authority"), clients("clients");
  WireServer server({}, Context(authority.IssueServer(), clients.certificate()));
  CertificateRequest request;
  request.common_name = "worker";
  const TestCertificate own = clients.Issue(request);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  const TestFolder folder;
  folder.Write("own.pem", own.certificate);
  folder.Write("own.key", own.key);
  ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context.get(), folder.Path("own.pem").c_str()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), folder.Path("own.key").c_str(), SSL_FILETYPE_PEM), 1);
  const auto first = ConnectBy12(context.get(), server.port(), nullptr);
  ASSERT_NE(first, nullptr);
  const std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(SSL_get1_session(first.get()),
                                                                          &SSL_SESSION_free);
  const auto second = ConnectBy12(context.get(), server.port(), session.get());
  ASSERT_NE(second, nullptr) << "a caller that offers its session is refused";
  EXPECT_EQ(SSL_session_reused(second.get()), 0);
}

TEST(TlsTest, EndsConnectionsWithoutTls) {
  const TestAuthority authority("authority");
  WireServer server({}, Context(authority.IssueServer()));
  RawPeer peer(server.port());
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
  EXPECT_TRUE(Ask(Connect(server.port(), Credentials(authority)), "/test/Echo", "x").status.ok());
}

TEST(TlsTest, EndsConnectionsThatDoNotAskForHttp2) {
  const TestAuthority authority("authority");
  WireServer server({}, Context(authority.IssueServer()));
  for (const char* const protocol : {"", "http/1.1"}) {
    RawPeer peer(server.port(), true, true, protocol);
    EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(5))) << protocol;  // no handshake takes that long
  }
  RawPeer peer(server.port(), true, true);
  EXPECT_TRUE(peer.AnswersPing());
}

// Connections have the server's two loops in turn. One that stays occupied lets bytes of others come whole.
class OccupiedLoopTest : public ::testing::Test {
 protected:
  OccupiedLoopTest() {
    // The server has ended their handshakes, too.
    for (RawPeer* const peer : {&first_, &second_}) EXPECT_TRUE(peer->AnswersPing());
    occupant_.SendHeaders(1, CallFields("/test/Block"));
    occupant_.SendData(1, Message(""), true);
    server_.seen().blocked.WaitForNotification();
  }

  const TestAuthority authority_{"authority"};
  WireServer server_{{}, Context(authority_.IssueServer())};
  RawPeer occupant_{server_.port(), true, true}, elsewhere_{server_.port(), true, true};
  RawPeer first_{server_.port(), true, true}, elsewhere_too_{server_.port(), true, true};
  RawPeer second_{server_.port(), true, true};
};

// nghttp2 resets a call whose data have more bytes than its content-length says, and drops the rest of the frame. The
// frame after it ends the call, and with it the memory that the dropped bytes must not be read into.
TEST_F(OccupiedLoopTest, ReadsNothingIntoTheMemoryOfACallThatIsReset) {
  constexpr size_t kMessageBytes = 60'000, kFrameBytes = 1000, kPriorities = 33;
  Fields fields = CallFields("/test/Echo");
  fields.emplace_back("content-length", "100");
  first_.SendHeaders(1, fields);
  first_.SendData(1, Message(std::string(kMessageBytes, 'm')).substr(0, 20));
  const std::string frame = FrameOf(NGHTTP2_DATA, 0, 1, std::string(kFrameBytes, 'd'));
  first_.Send(frame.substr(0, frame.size() / 2));
  std::string rest = frame.substr(frame.size() / 2) + FrameOf(NGHTTP2_RST_STREAM, 0, 1, std::string(4, '\0'));
  for (size_t i = 0; i < kPriorities; ++i) rest += FrameOf(NGHTTP2_PRIORITY, 0, 3, std::string(5, '\0'));
  rest += FrameOf(NGHTTP2_PING, 0, 0, "01234567");
  ASSERT_LE(rest.size(), kFrameBytes) << "one read could take all of it for the rest of the frame";
  first_.Send(rest);
  server_.seen().unblock.Notify();
  ASSERT_TRUE(first_.ReadsPing());
  EXPECT_TRUE(server_.seen().AwaitNoHandlers());
}

TEST_F(OccupiedLoopTest, ReadsOneConnectionOnlyForAWhileBeforeItReadsOthers) {
  constexpr uint8_t kUnknown = 0x42;
  constexpr size_t kFrames = 24, kFrameBytes = 16'000;
  for (size_t i = 0; i < kFrames; ++i) first_.SendFrame(kUnknown, 0, 0, std::string(kFrameBytes, 'u'));
  first_.SendHeaders(1, CallFields("/test/Echo"));
  first_.SendData(1, Message("first"), true);
  second_.SendHeaders(1, CallFields("/test/Total"));
  second_.SendData(1, Message("second"), true);
  ASSERT_TRUE(second_.AwaitDelivery());  // the server reads it only after a round of the first one
  server_.seen().unblock.Notify();
  EXPECT_EQ(ValueOf(first_.ReadCall(1), "grpc-status"), "0");
  EXPECT_EQ(ValueOf(second_.ReadCall(1), "grpc-status"), "0");
  absl::MutexLock lock(&server_.seen().mutex);
  EXPECT_THAT(server_.seen().paths, ElementsAre("/test/Block", "/test/Total", "/test/Echo"));
}

TEST(TlsTest, RefusesMaterialThatDoesNotFit) {
  const TestAuthority authority("authority");
  const TestCertificate one = authority.IssueServer(), other = authority.IssueServer("another");
  EXPECT_THAT(TlsContext::Create("no certificate", one.key, "").status().message(), HasSubstr("certificate"));
  EXPECT_THAT(TlsContext::Create(one.certificate, "no key", "").status().message(), HasSubstr("key"));
  EXPECT_THAT(TlsContext::Create(one.certificate, other.key, "").status().message(), HasSubstr("key"));
  EXPECT_THAT(TlsContext::Create(one.certificate, one.key, "no authority").status().message(),
              HasSubstr("authorities"));
}

}  // namespace
}  // namespace corank::wire::testing
