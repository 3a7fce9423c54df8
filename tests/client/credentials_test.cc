// Checks before a client connects: addresses, tokens, files, traces, the environment.
#include "client/cpp/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "client/cli/failure.h"
#include "client/cpp/address.h"
#include "corank/client.h"
#include "tests/server/test_certificates.h"

namespace corank::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(IsThisHost, OnlyWhatCannotLeaveIt) {
  for (const char* target : {"127.0.0.1:50051", "127.8.9.1:1", "localhost:50051", "LOCALHOST:1", "[::1]:50051", "::1",
                             "dns:///localhost:1", "dns:127.0.0.1:1", "ipv4:127.0.0.1:1,127.0.0.2:1", "ipv6:[::1]:1",
                             "unix:/run/corank.sock", "unix-abstract:corank", "localhost"}) {
    EXPECT_TRUE(IsThisHost(target)) << target;
  }
  for (const char* target :
       {"127.example.com:50051", "127.0.0.1.example.com:1", "localhost.example.com:1", "10.0.0.1:50051",
        "gpu-host:50051", "128.0.0.1:1", "[::2]:1", "ipv4:127.0.0.1:1,10.0.0.1:1", "dns://10.0.0.1/localhost:1",
        "xds:///localhost", "0.0.0.0:1", "", "127.1:1"}) {
    EXPECT_FALSE(IsThisHost(target)) << target;
  }
}

TEST(CheckAddress, EveryAddressHasHostAndPort) {
  for (const char* target :
       {"127.0.0.1:50051", "localhost:1", "gpu-host:65535", "[::1]:50051", "dns:///host:1", "dns:host:1",
        "dns://10.0.0.1/host:1", "ipv4:127.0.0.1:1,127.0.0.2:1", "ipv6:[::1]:1", "host:https", "unix:/run/corank.sock",
        "unix:///run/corank.sock", "unix-abstract:corank", "xds:///host", "passthrough:///host", "vsock:2:3",
        "10.0.0.1:1,10.0.0.2:2", "[::1]:1,[::2]:2"}) {
    EXPECT_TRUE(CheckAddress(target).ok()) << target << CheckAddress(target);
  }
  for (const auto& [target, words] : std::vector<std::pair<std::string, std::string>>{
           {"localhost", "'localhost' has no port; give host:port, such as localhost:50051"},
           {"localhost:", "such as localhost:50051"},
           {"10.0.0.1", "such as 10.0.0.1:50051"},
           {"::1", "such as [::1]:50051"},
           {"[::1]", "such as [::1]:50051"},
           {"fe80::1:50051", "such as [fe80::1:50051]:50051"},
           {"dns:///host", "'host' has no port"},
           {"dns://10.0.0.1/host", "'host' has no port"},
           {"dns:host", "'host' has no port"},
           {"ipv4:127.0.0.1:1,127.0.0.2", "'127.0.0.2' has no port"},
           {"127.0.0.1:1,127.0.0.2", "'127.0.0.2' has no port"},
           {"a:1,b:2", "must be numeric and of one family, as in 10.0.0.1:50051,10.0.0.2:50051, not a:1,b:2"},
           {"127.0.0.1:1,[::1]:1", "of one family"},
           {"host:0", "must be 1 to 65535"},
           {"host:65536", "must be 1 to 65535"},
           {"host:99999999999999999999", "must be 1 to 65535"},
           {"[::1", "has no port"},
           {"host:5005l", "must be 1 to 65535"},
           {":50051", "has no host; give host:port, such as localhost:50051"},
           {"host: 50051", "holds a space; give host:port"},
           {"http://gpu-host:50051/", "is a URL; give host:port, such as gpu-host:50051"},
           {"https://gpu-host", "is a URL; give host:port, such as gpu-host:50051"}}) {
    ClientOptions options;
    options.address = target;
    const absl::Status status = Client::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << target << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words)) << target;
  }
}

TEST(GrpcTarget, NamesTheFamilyOfAList) {
  for (const auto& [address, target] :
       std::vector<std::pair<std::string, std::string>>{{"10.0.0.1:1,10.0.0.2:2", "ipv4:10.0.0.1:1,10.0.0.2:2"},
                                                        {"[::1]:1,[::2]:2", "ipv6:[::1]:1,[::2]:2"},
                                                        {"ipv4:10.0.0.1:1,10.0.0.2:2", "ipv4:10.0.0.1:1,10.0.0.2:2"},
                                                        {"gpu-host:1", "gpu-host:1"},
                                                        {"unix:/tmp/a,b", "unix:/tmp/a,b"}}) {
    EXPECT_EQ(GrpcTarget(address), target);
  }
}

TEST(Traceparent, IsWhatTheStandardSays) {
  EXPECT_TRUE(IsTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  for (const char* text : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n"}) {
    EXPECT_FALSE(IsTraceparent(text)) << text;
  }
}

class CredentialsTest : public ::testing::Test {
 protected:
  static std::string Refusal(const ClientOptions& options) {
    const absl::Status status = Client::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }
  const testing::TestFolder folder_;
};

TEST_F(CredentialsTest, ATokenDoesNotLeaveThisHostInTheClear) {
  ClientOptions options;
  options.token = "s3cret";
  for (const char* address : {"gpu-host:50051", "127.0.0.1.example.com:1", "10.1.2.3:50051"}) {
    options.address = address;
    const std::string message = Refusal(options);
    EXPECT_THAT(message, HasSubstr("anyone on the way to"));
    EXPECT_THAT(message, HasSubstr(address));
    EXPECT_THAT(message, Not(HasSubstr("s3cret")));
    EXPECT_THAT(cli::InFlags(message), HasSubstr("--tls-ca"));
  }
  options.tls.emplace();
  EXPECT_TRUE(Client::Create(options).ok());
  options.tls.reset();
  options.address = "127.0.0.1:50051";
  EXPECT_TRUE(Client::Create(options).ok());
}

TEST_F(CredentialsTest, WhatNoHeaderHoldsIsNoTokenAndIsNotRepeated) {
  for (const char* token : {"two words", "line\nbreak", "\xc3\xa9t\xc3\xa9", " \n"}) {
    ClientOptions options;
    options.token_file = folder_.Write("token", token);
    const std::string message = Refusal(options);
    EXPECT_THAT(message, HasSubstr("token_file: a token must be one word"));
    EXPECT_THAT(message, Not(HasSubstr("words")));
  }
  ClientOptions options;
  options.token_file = folder_.Path("missing");
  EXPECT_THAT(Refusal(options), HasSubstr("missing: No such file or directory"));
  options.token = "a";
  EXPECT_THAT(Refusal(options), HasSubstr("set only one"));
}

TEST_F(CredentialsTest, ATokenFileIsReadAgainWhenAsked) {
  ClientOptions options;
  options.token_file = folder_.Write("token", "one\n");
  const auto credentials = Credentials::Create(options);
  ASSERT_TRUE(credentials.ok());
  EXPECT_EQ((*credentials)->authorization(), "Bearer one");
  EXPECT_FALSE((*credentials)->Reload("Bearer one"));
  folder_.Write("token", "two");
  EXPECT_TRUE((*credentials)->Reload("Bearer one"));
  EXPECT_EQ((*credentials)->authorization(), "Bearer two");
  folder_.Write("token", "");
  EXPECT_FALSE((*credentials)->Reload("Bearer two"));
  EXPECT_EQ((*credentials)->authorization(), "Bearer two");
}

TEST_F(CredentialsTest, FilesOfTlsAreCheckedAtOnce) {
  const testing::TestAuthority authority("an authority");
  const testing::TestCertificate own = authority.IssueServer();
  ClientOptions options;
  options.tls.emplace();
  options.tls->ca_file = folder_.Path("missing");
  EXPECT_THAT(Refusal(options), HasSubstr("tls.ca_file: cannot read"));
  options.tls->ca_file = folder_.Write("ca", "no certificate");
  EXPECT_THAT(Refusal(options), HasSubstr("it must be PEM"));
  EXPECT_THAT(cli::InFlags(Refusal(options)), HasSubstr("--tls-ca: "));
  options.tls->ca_file = folder_.Write("ca", authority.certificate());
  options.tls->certificate_file = folder_.Write("certificate", own.certificate);
  EXPECT_THAT(Refusal(options), HasSubstr("set both or neither"));
  options.tls->key_file = options.tls->certificate_file;
  EXPECT_THAT(Refusal(options), HasSubstr("tls.key_file: "));
  options.tls->key_file = folder_.Write("key", own.key);
  EXPECT_TRUE(Client::Create(options).ok());
  options.traceparent = "abc";
  EXPECT_THAT(Refusal(options), HasSubstr("traceparent"));
}

TEST(OptionsFromEnvironment, TakesWhatIsSet) {
  const char* const names[] = {"CORANK_SERVER",     "CORANK_TOKEN", "CORANK_SERVER_CA", "CORANK_CLIENT_CERTIFICATE",
                               "CORANK_CLIENT_KEY", "TRACEPARENT"};
  for (const char* name : names) unsetenv(name);
  EXPECT_FALSE(OptionsFromEnvironment().tls.has_value());
  EXPECT_EQ(OptionsFromEnvironment().address, ClientOptions().address);
  const char* const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const char* const values[] = {"host:1", "t", "ca.pem", "c.pem", "k.pem", parent};
  for (size_t i = 0; i < 6; ++i) setenv(names[i], values[i], 1);
  const ClientOptions options = OptionsFromEnvironment();
  EXPECT_EQ(options.address, "host:1");
  EXPECT_EQ(options.token, "t");
  ASSERT_TRUE(options.tls.has_value());
  EXPECT_EQ(options.tls->ca_file, "ca.pem");
  EXPECT_EQ(options.tls->certificate_file, "c.pem");
  EXPECT_EQ(options.tls->key_file, "k.pem");
  EXPECT_EQ(options.traceparent, parent);
  setenv("TRACEPARENT", "nonsense", 1);
  EXPECT_EQ(OptionsFromEnvironment().traceparent, "");
  for (const char* name : names) unsetenv(name);
}

}  // namespace
}  // namespace corank::client
