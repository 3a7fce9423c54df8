#include "server/wire/tls.h"

#include <memory>
#include <string>

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

TEST(TlsTest, EndsConnectionsWithoutTls) {
  const TestAuthority authority("authority");
  WireServer server({}, Context(authority.IssueServer()));
  RawPeer peer(server.port());
  EXPECT_TRUE(peer.IsClosedWithin(absl::Seconds(10)));
  EXPECT_TRUE(Ask(Connect(server.port(), Credentials(authority)), "/test/Echo", "x").status.ok());
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
