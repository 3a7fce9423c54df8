// TLS, tokens and traces on the wire, and the error messages about them.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "corank/client.h"
#include "tests/client/puppet_service.h"
#include "tests/client/puppet_sort.h"
#include "tests/client/virtual_clock.h"
#include "tests/server/test_certificates.h"

namespace corank::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTrace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() { service_.on_sort = StandInSort; }

  std::shared_ptr<grpc::ServerCredentials> Credentials(const testing::TestCertificate& own, bool is_mutual = false) {
    grpc::SslServerCredentialsOptions ssl(is_mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    ssl.pem_key_cert_pairs.push_back({own.key, own.certificate});
    if (is_mutual) ssl.pem_root_certs = authority_.certificate();
    return grpc::SslServerCredentials(ssl);
  }
  TlsOptions Trusting(const testing::TestAuthority& authority) {
    TlsOptions tls;
    tls.ca_file = folder_.Write("ca.pem", authority.certificate());
    return tls;
  }
  TlsOptions With(TlsOptions tls, const testing::TestCertificate& own) {
    tls.certificate_file = folder_.Write("own.pem", own.certificate);
    tls.key_file = folder_.Write("own.key", own.key);
    return tls;
  }
  absl::Status Sort(const PuppetServer& server, std::optional<TlsOptions> tls) {
    ClientOptions options;
    options.address = server.address();
    options.tls = std::move(tls);
    options.retry.clock = clock_;
    absl::StatusOr<Client> client = Client::Create(options);
    if (!client.ok()) return client.status();
    return client->Sort(std::vector<uint32_t>{2, 1}).status();
  }

  const testing::TestFolder folder_;
  const testing::TestAuthority authority_{"the authority"}, stranger_{"a stranger"};
  const testing::TestCertificate own_ = authority_.IssueServer();
  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>(0.0);
  PuppetService service_;
};

TEST_F(TlsTest, EitherSideKnowsTheOther) {
  PuppetServer server(&service_, nullptr, Credentials(own_));
  EXPECT_TRUE(Sort(server, Trusting(authority_)).ok());
  PuppetServer mutual(&service_, nullptr, Credentials(own_, true));
  testing::CertificateRequest request;
  request.common_name = "a client";
  const absl::Status status = Sort(mutual, With(Trusting(authority_), authority_.Issue(request)));
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(TlsTest, TheNameToExpectMayBeAnother) {
  testing::CertificateRequest request;
  request.common_name = request.alternative_names.emplace_back("DNS:gpu.example");
  PuppetServer server(&service_, nullptr, Credentials(authority_.Issue(request)));
  TlsOptions tls = Trusting(authority_);
  EXPECT_TRUE(absl::IsUnavailable(Sort(server, tls)));
  tls.server_name = "gpu.example";
  EXPECT_TRUE(Sort(server, tls).ok());
}

TEST_F(TlsTest, WhatIsWrongIsSaidWithWhatToChange) {
  testing::CertificateRequest expired, elsewhere;
  expired.alternative_names = {"IP:127.0.0.1"};
  expired.begins_in = -absl::Hours(48);
  expired.ends_in = -absl::Hours(24);
  elsewhere.alternative_names = {"DNS:gpu.example"};
  const testing::TestCertificate client = authority_.Issue({"a client", {}});
  const testing::TestCertificate strange = stranger_.Issue({"a client", {}});
  const std::string broken_ca =
      folder_.Write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  TlsOptions broken;
  broken.ca_file = broken_ca;
  const auto tls = [this](const testing::TestCertificate& own) { return Credentials(own); };
  const struct {
    const char* name;
    std::shared_ptr<grpc::ServerCredentials> server;
    std::function<std::optional<TlsOptions>()> client;
    const char* words;
    bool is_tried;
  } cases[] = {
      {"another authority", tls(own_), [&] { return Trusting(stranger_); },
       "is not signed by an authority in FOLDER/ca.pem; give the certificate of the authority that signed it "
       "(--tls-ca)",
       false},
      {"expired", tls(authority_.Issue(expired)), [&] { return Trusting(authority_); }, "it has expired, or", false},
      {"another name", tls(authority_.Issue(elsewhere)), [&] { return Trusting(authority_); },
       "does not hold the name that was asked for; use an address that it holds, or say which name to expect "
       "(--tls-server-name)",
       false},
      {"no TLS in the client", tls(own_), [] { return std::nullopt; },
       "closed the connection before any call: it may want TLS (--tls-ca)", true},
      {"no TLS in the server", grpc::InsecureServerCredentials(), [&] { return Trusting(authority_); },
       "does not speak TLS on this port; use its TLS port, or no TLS", false},
      {"no client certificate", Credentials(own_, true), [&] { return Trusting(authority_); },
       "it may want a certificate that it trusts (--tls-certificate, --tls-key)", true},
      {"a strange client certificate", Credentials(own_, true), [&] { return With(Trusting(authority_), strange); },
       "it may want a certificate that it trusts (--tls-certificate, --tls-key)", true},
      {"another's key", Credentials(own_, true),
       [&] {
         return With(Trusting(authority_), {client.certificate, strange.key});
       },
       "--tls-key is not the key of --tls-certificate", false},
      {"a broken authority", tls(own_), [&] { return broken; }, "there is no valid certificate in --tls-ca", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    PuppetServer server(&service_, nullptr, c.server);
    const size_t before = clock_->sleeps().size();
    const absl::Status status = Sort(server, c.client());
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(absl::StrReplaceAll(cli::InFlags(status.message()), {{folder_.Path("ca.pem"), "FOLDER/ca.pem"}}),
                HasSubstr(c.words));
    EXPECT_EQ(clock_->sleeps().size() - before, c.is_tried ? 5u : 0u) << status;
  }
}

/// The value of a header that came with a call. Empty if there was none.
std::string Header(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

class HeadersTest : public TlsTest {
 protected:
  HeadersTest() {
    service_.info = InfoOfAllPlaces();
    options_.address = server_.address();
    options_.retry.clock = clock_;
  }
  PuppetServer server_{&service_};
  ClientOptions options_;
};

TEST_F(HeadersTest, TokenAndTraceGoWithEveryKindOfCall) {
  std::atomic<int> seen{0};
  const auto check = [&seen](grpc::ServerContext* context) {
    EXPECT_EQ(Header(*context, "authorization"), "Bearer s3cret");
    EXPECT_EQ(Header(*context, "traceparent"), kTrace);
    ++seen;
  };
  service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
    check(context);
    return StandInSort(context, request, response);
  };
  options_.token = "s3cret";
  CallOptions call;
  call.traceparent = kTrace;
  const Client client = *Client::Create(options_);
  for (const Place place : {Place::kInline, Place::kStream}) {
    call.place = place;
    ASSERT_TRUE(client.Sort(std::vector<uint32_t>{2, 1}, {}, call).ok());
  }
  EXPECT_EQ(seen, 2);
  call.traceparent = "nonsense";
  EXPECT_TRUE(absl::IsInvalidArgument(client.Sort(std::vector<uint32_t>{1}, {}, call).status()));
}

TEST_F(HeadersTest, AnErrorNamesRequestAndTrace) {
  service_.on_sort = [](grpc::ServerContext* context, const v1::SortRequest&, v1::SortResponse*) {
    context->AddTrailingMetadata("x-request-id", "abc");
    return InvalidField("limit", "must not be negative");
  };
  options_.traceparent = kTrace;
  const auto sorted = Client::Create(options_)->Sort(std::vector<uint32_t>{1});
  EXPECT_EQ(sorted.status().message(),
            "limit: must not be negative [request abc, trace 4bf92f3577b34da6a3ce929d0e0e4736]");
}

TEST_F(HeadersTest, ATokenThatWasReplacedIsReadAgain) {
  std::vector<std::string> seen;
  service_.on_sort = [&](grpc::ServerContext* context, const v1::SortRequest& request, v1::SortResponse* response) {
    seen.push_back(Header(*context, "authorization"));
    if (seen.back() != "Bearer new") return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the token is not known");
    return StandInSort(context, request, response);
  };
  options_.token_file = folder_.Write("token", "old");
  const Client client = *Client::Create(options_);
  folder_.Write("token", "new");
  EXPECT_TRUE(client.Sort(std::vector<uint32_t>{1}).ok());
  EXPECT_THAT(seen, ::testing::ElementsAre("Bearer old", "Bearer new"));
  folder_.Write("token", "third");
  EXPECT_TRUE(client.Sort(std::vector<uint32_t>{1}).ok());  // the current token is still valid
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(HeadersTest, WhoIsNotKnownOrNotAllowedIsToldWhatToDo) {
  const struct {
    grpc::StatusCode code;
    const char* words;
  } cases[] = {
      {grpc::StatusCode::UNAUTHENTICATED, "; give a token that the server knows (--token-file or CORANK_TOKEN)"},
      {grpc::StatusCode::PERMISSION_DENIED, "; the operator of the server can allow it"}};
  for (const auto& c : cases) {
    service_.on_sort = [&c](grpc::ServerContext*, const v1::SortRequest&, v1::SortResponse*) {
      return grpc::Status(c.code, "the server's words");
    };
    options_.token = "s3cret";
    const absl::Status status = Client::Create(options_)->Sort(std::vector<uint32_t>{1}).status();
    EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(c.code));
    EXPECT_THAT(cli::InFlags(status.message()), HasSubstr(std::string("the server's words") + c.words));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("s3cret")));
    EXPECT_THAT(clock_->sleeps(), ::testing::IsEmpty());
  }
}

/// Runs the command line against a server that requires TLS, and records the headers of its last call.
class CommandLineTest : public TlsTest {
 protected:
  CommandLineTest() {
    service_.info = InfoOfAllPlaces();
    keys_ = folder_.Write("keys", std::string("\2\0\0\0\1\0\0\0", 8));
    service_.on_sort = [this](grpc::ServerContext* context, const v1::SortRequest& request,
                              v1::SortResponse* response) {
      authorization_ = Header(*context, "authorization");
      traceparent_ = Header(*context, "traceparent");
      return StandInSort(context, request, response);
    };
  }
  ~CommandLineTest() override {
    for (const char* name : {"CORANK_SERVER_CA", "CORANK_TOKEN", "TRACEPARENT"}) unsetenv(name);
  }

  /// `corank sort` with these options: exit code and standard error.
  std::pair<int, std::string> Sort(const std::vector<std::string>& options) {
    std::vector<std::string> words = {
        "sort", keys_, "-t", "u32", "-o", folder_.Path("sorted"), "-f", "-q", "--server", server_.address()};
    words.insert(words.end(), options.begin(), options.end());
    ::testing::internal::CaptureStderr();
    const int code = cli::RunCommandLine(words);
    return {code, ::testing::internal::GetCapturedStderr()};
  }

  const std::string ca_ = folder_.Write("ca.pem", authority_.certificate());
  std::string keys_, authorization_, traceparent_;
  PuppetServer server_{&service_, nullptr, Credentials(own_)};
};

TEST_F(CommandLineTest, FlagsSayWhoIsWho) {
  EXPECT_EQ(Sort({"--tls-ca", ca_, "--token-file", folder_.Write("token", "s3cret\n")}).first, 0);
  EXPECT_EQ(authorization_, "Bearer s3cret");
  EXPECT_EQ(traceparent_, "");
  const auto [code, error] = Sort({"--retries", "0"});
  EXPECT_EQ(code, 4);
  EXPECT_THAT(error, HasSubstr("it may want TLS (--tls-ca)"));
  EXPECT_EQ(Sort({"--tls-ca", folder_.Path("missing")}).first, 2);
  EXPECT_EQ(Sort({"--retries", "1000"}).first, 2);
}

TEST_F(CommandLineTest, TheEnvironmentSaysItToo) {
  setenv("CORANK_SERVER_CA", ca_.c_str(), 1);
  setenv("CORANK_TOKEN", "s3cret", 1);
  setenv("TRACEPARENT", kTrace, 1);
  EXPECT_EQ(Sort({}).first, 0);
  EXPECT_EQ(authorization_, "Bearer s3cret");
  EXPECT_EQ(traceparent_, kTrace);
  const auto [code, error] = Sort({"--tls-server-name", "gpu.example"});
  EXPECT_EQ(code, 4);
  EXPECT_THAT(error, HasSubstr("(--tls-server-name)"));
  EXPECT_EQ(Sort({"--token-file", folder_.Write("token", "other")}).first, 0);
  EXPECT_EQ(authorization_, "Bearer other");
}

TEST_F(CommandLineTest, ATokenDoesNotLeaveThisHostInTheClear) {
  setenv("CORANK_TOKEN", "s3cret", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cli::RunCommandLine({"info", "--server", "gpu-host:50051"}), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("switch TLS on (--tls, --tls-ca)"));
}

}  // namespace
}  // namespace corank::client
