// The guards of the ports, without a server: tokens file, TLS files, the rule for plaintext.
#include "server/security/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/rpc/credentials.h"
#include "server/security/authenticator.h"
#include "server/security/permissions.h"
#include "server/security/token_table.h"
#include "server/wire/call.h"
#include "tests/server/doubles.h"
#include "tests/server/running_server.h"
#include "tests/server/test_certificates.h"

namespace corank::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ParseError(absl::string_view text) { return std::string(TokenTable::Parse(text).status().message()); }

TEST(TokenTable, FindsTheHolderOfAToken) {
  const auto table =
      TokenTable::Parse(absl::StrCat("# who may call\n\n", "left \t", HashOf("secret"), "  all # until May\n", "right ",
                                     HashOf("other"), " sort,stored-arrays\r\n"));
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_NE((*table)->FindToken("secret"), nullptr);
  EXPECT_EQ((*table)->FindToken("secret")->tenant, "left");
  EXPECT_EQ((*table)->FindToken("other")->tenant, "right");
  EXPECT_EQ((*table)->FindToken("secret "), nullptr);
  EXPECT_EQ((*table)->FindToken(HashOf("secret")), nullptr) << "the hash is no token";
  EXPECT_EQ((*table)->FindToken(""), nullptr);
}

// The digest of the FIPS 180-4 example "abc", which does not come from the code under test.
TEST(TokenTable, HashesWithSha256) {
  const auto table = TokenTable::Parse("t BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD all");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_NE((*table)->FindToken("abc"), nullptr);
}

TEST(TokenTable, GrantsWhatIsListedAndNothingElse) {
  const auto table = TokenTable::Parse(absl::StrCat("a ", HashOf("a"), " move-intervals,cuda-ipc\nb ", HashOf("b"),
                                                    " operators\nc certificate:node.example all\n"));
  ASSERT_TRUE(table.ok()) << table.status();
  const Caller a = *(*table)->FindToken("a");
  EXPECT_TRUE(CheckOperator(a, Operator::kMoveIntervals).ok());
  EXPECT_TRUE(CheckCudaIpc(a).ok());
  EXPECT_EQ(CheckOperator(a, Operator::kSort).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(CheckOperator(a, Operator::kSort).message(), HasSubstr("'sort'"));
  EXPECT_THAT(CheckSharedMemory(a).message(), HasSubstr("'shared-memory'"));
  EXPECT_THAT(CheckStoredArrays(a).message(), HasSubstr("'stored-arrays'"));
  const Caller b = *(*table)->FindToken("b");
  for (int i = 0; i < kOperatorCount; ++i) EXPECT_TRUE(b.MayUse(static_cast<Operator>(i)));
  EXPECT_FALSE(b.may_use_shared_memory || b.may_use_cuda_ipc || b.may_keep_arrays);
  const Caller c = *(*table)->FindCertificate("node.example");
  EXPECT_TRUE(c.may_use_shared_memory && c.may_use_cuda_ipc && c.may_keep_arrays && c.MayUse(Operator::kSearch));
}

TEST(TokenTable, SaysWhatIsWrongInWhichLine) {
  const std::string good = absl::StrCat("a ", HashOf("a"), " all\n");
  const struct {
    std::string text, line, reason;
  } kCases[] = {
      {"", "", "no line with a credential"},
      {"# only\n", "", "no line with a credential"},
      {good + "b " + HashOf("b") + "\n", "line 2", "not 2 words"},
      {good + "b " + HashOf("b") + " all all\n", "line 2", "not 4 words"},
      {good + "\nb 1234 all\n", "line 3", "64 hexadecimal digits"},
      {good + "b " + std::string(64, 'g') + " all\n", "line 2", "64 hexadecimal digits"},
      {good + "b! " + HashOf("b") + " all\n", "line 2", "tenant's name"},
      {good + "b " + HashOf("b") + " everything\n", "line 2", "permission 1 of the list must be all"},
      {good + "b " + HashOf("b") + " sort,\n", "line 2", "permission 2 of the list must be all"},
      {good + "b " + HashOf("b") + " \x1b[2J\n", "line 2", "permission 1 of the list must be all"},
      {good + "b " + HashOf("a") + " all\n", "line 2", "same token"},
      {good + "b " + HashOf("") + " all\n", "line 2", "SHA-256 of empty input"},
      {good + "b E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855 all\n", "line 2", "of empty input"},
      {"b certificate: all\n", "line 1", "without a name"},
      {"b certificate:x all\nc certificate:x all\n", "line 2", "same certificate"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(ParseError(bad.text), AllOf(HasSubstr(bad.line), HasSubstr(bad.reason))) << bad.text;
  }
}

TEST(TokenTable, AnErrorDoesNotRepeatWhatMayBeASecret) {
  EXPECT_THAT(ParseError("a my-own-secret all\n"), Not(HasSubstr("my-own-secret")));
}

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthenticatorTest() : logger_(LogLevel::kInfo, [this](absl::string_view line) { Keep(line); }) {}
  void Keep(absl::string_view line) {
    absl::MutexLock lock(&mutex_);
    absl::StrAppend(&log_, line);
  }
  std::string log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }
  std::unique_ptr<Authenticator> Make(absl::string_view text) {
    auto made = Authenticator::Create(folder_.Write("tokens", text), &logger_);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  static std::string Tenant(const Authenticator& authenticator, const Credentials& credentials) {
    const auto caller = authenticator.Authenticate(credentials);
    if (caller.ok()) return (*caller)->tenant;
    EXPECT_EQ(caller.status().code(), absl::StatusCode::kUnauthenticated);
    return absl::StrCat("refused: ", caller.status().message());
  }

  absl::Mutex mutex_;
  std::string log_;
  const Logger logger_;
  const TestFolder folder_;
};

TEST_F(AuthenticatorTest, ATokenNamesTheTenant) {
  const auto authenticator = Make(absl::StrCat("left ", HashOf("secret"), " all\nnode certificate:node.example all\n"));
  EXPECT_EQ(Tenant(*authenticator, {{"Bearer secret"}, {}}), "left");
  EXPECT_EQ(Tenant(*authenticator, {{"bearer  secret "}, {}}), "left") << "schemes have no case";
  EXPECT_EQ(Tenant(*authenticator, {{"Bearer secret"}, {"node.example"}}), "left") << "a token comes first";
  EXPECT_EQ(Tenant(*authenticator, {{}, {"uri:x", "node.example"}}), "node");
  EXPECT_THAT(Tenant(*authenticator, {{}, {}}), HasSubstr("credentials are missing"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer wrong"}, {}}), HasSubstr("token is not known"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer wrong"}, {"node.example"}}), HasSubstr("token is not known"));
  EXPECT_THAT(Tenant(*authenticator, {{"Basic secret"}, {}}), HasSubstr("'Bearer <token>'"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer "}, {}}), HasSubstr("is empty"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer  \t"}, {"node.example"}}), HasSubstr("is empty"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer secret", "Bearer secret"}, {}}), HasSubstr("more than once"));
  EXPECT_THAT(Tenant(*authenticator, {{}, {"stranger.example"}}), HasSubstr("'stranger.example' is not known"));
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer wr0ng"}, {}}), Not(HasSubstr("wr0ng")));
}

TEST_F(AuthenticatorTest, WithoutATokensFileACertificateNamesTheTenant) {
  const auto made = Authenticator::Create("", &logger_);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(Tenant(**made, {{}, {"spiffe://x/node", "node.example"}}), "spiffe://x/node");
  EXPECT_THAT(Tenant(**made, {{"Bearer secret"}, {"node.example"}}), HasSubstr("no tokens"));
  EXPECT_THAT(Tenant(**made, {{}, {}}), HasSubstr("contains no name"));
}

TEST_F(AuthenticatorTest, CertificateNamesWithControlCharactersNameNobody) {
  const auto made = Authenticator::Create("", &logger_);
  ASSERT_TRUE(made.ok());
  const auto tenant_of = [&made](std::vector<std::string> uris, std::string common_name) {
    const auto peer = std::make_shared<wire::Peer>();
    peer->is_verified = true;
    peer->uris = std::move(uris);
    peer->common_names = {std::move(common_name)};
    wire::CallHead head;
    head.peer = peer;
    const auto caller = CallerOf(made->get(), head);
    return caller.ok() ? (*caller)->tenant : std::string(caller.status().message());
  };
  EXPECT_EQ(tenant_of({}, "node"), "node");
  EXPECT_EQ(tenant_of({"spiffe://a\xC2\x85", "spiffe://b"}, ""), "spiffe://b");
  // C0, DEL, NEL, CSI (both of C1) and an override of direction.
  for (const char* const control : {"\n", "\x1b", "\x7f", "\xC2\x85", "\xC2\x9B", "\xE2\x80\xAE"}) {
    EXPECT_THAT(tenant_of({}, absl::StrCat("a", control, "b")), HasSubstr("contains no name")) << control;
  }
}

TEST_F(AuthenticatorTest, WarnsOfATokensFileThatEverybodyMayReadOrChange) {
  const std::string path = folder_.Write("tokens", absl::StrCat("left ", HashOf("secret"), " all\n"));
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  auto made = Authenticator::Create(path, &logger_);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(log(), Not(HasSubstr("tokens_file_open")));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE((*made)->Reload());
  EXPECT_THAT(log(), AllOf(HasSubstr("tokens_file_open"), HasSubstr("read it"), HasSubstr("chmod o= ")));
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  made = Authenticator::Create(path, &logger_);
  EXPECT_THAT(log(), HasSubstr("change it"));
}

TEST_F(AuthenticatorTest, ReadsTheFileAgainAndKeepsWhatItHasWhereThatIsBroken) {
  const auto authenticator = Make(absl::StrCat("left ", HashOf("old"), " all\n"));
  folder_.Write("tokens", absl::StrCat("left ", HashOf("new"), " all\nright ", HashOf("second"), " all\n"));
  EXPECT_TRUE(authenticator->Reload());
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer old"}, {}}), HasSubstr("not known"));
  EXPECT_EQ(Tenant(*authenticator, {{"Bearer new"}, {}}), "left");
  EXPECT_THAT(log(), AllOf(HasSubstr("tokens_read"), HasSubstr("\"credentials\":2")));
  folder_.Write("tokens", absl::StrCat("left ", HashOf("newer"), " all\nbroken\n"));
  EXPECT_FALSE(authenticator->Reload());
  EXPECT_EQ(Tenant(*authenticator, {{"Bearer new"}, {}}), "left");
  EXPECT_THAT(Tenant(*authenticator, {{"Bearer newer"}, {}}), HasSubstr("not known"));
  EXPECT_THAT(log(), AllOf(HasSubstr("tokens_kept"), HasSubstr("line 2")));
  unlink(folder_.Path("tokens").c_str());
  EXPECT_FALSE(authenticator->Reload());
  EXPECT_EQ(Tenant(*authenticator, {{"Bearer new"}, {}}), "left");
}

TEST_F(AuthenticatorTest, AFileThatIsBrokenAtTheStartIsRefused) {
  const auto made = Authenticator::Create(folder_.Write("tokens", "left\n"), &logger_);
  EXPECT_THAT(made.status().message(),
              AllOf(HasSubstr("--tokens-file"), HasSubstr(folder_.Path("tokens")), HasSubstr("line 1")));
  EXPECT_THAT(Authenticator::Create(folder_.Path("none"), &logger_).status().message(), HasSubstr("No such file"));
}

TEST_F(AuthenticatorTest, TheWatcherSeesRenamedFilesAndTurnedLinks) {
  const std::string real = folder_.Write("one", "1");
  folder_.Write("two", "2");
  const std::string link = folder_.Path("link");
  ASSERT_EQ(symlink("one", link.c_str()), 0);
  std::atomic<int> of_file{0}, of_link{0};
  FileWatcher::Options options;
  options.interval = absl::Milliseconds(5);
  FileWatcher watcher(options);
  const auto counting = [](std::atomic<int>* changes) {
    return [changes] {
      ++*changes;
      return true;
    };
  };
  watcher.Watch({real}, counting(&of_file));
  watcher.Watch({link}, counting(&of_link));
  watcher.Start();
  ASSERT_EQ(symlink("two", folder_.Path("next").c_str()), 0);
  ASSERT_EQ(rename(folder_.Path("next").c_str(), link.c_str()), 0);
  EXPECT_TRUE(Eventually([&of_link] { return of_link == 1; }));
  EXPECT_EQ(of_file, 0);
  folder_.Write("one", "3");
  EXPECT_TRUE(Eventually([&of_file] { return of_file == 1; }));
}

// A certificate that becomes valid tomorrow, or a folder that is unreadable for a while: time makes them good, without
// a change of a file.
TEST_F(AuthenticatorTest, TheWatcherOffersAgainWhatWasNotTaken) {
  const std::string file = folder_.Write("one", "1");
  FakeClock clock;
  FileWatcher::Options options;
  options.interval = absl::Milliseconds(1);
  options.clock = &clock;
  std::atomic<int> offers{0}, looks{0};
  std::atomic<bool> is_good{false};
  FileWatcher watcher(options);
  watcher.Watch({file}, [&] {
    ++offers;
    return is_good.load();
  });
  // Changes with every look, which counts the looks at the other file.
  const std::string restless = folder_.Write("two", "0");
  watcher.Watch({restless}, [&looks] {
    ++looks;
    return true;
  });
  const auto look_twice = [&] {
    for (const int end = looks + 2; looks < end;) {
      const int before = looks;
      folder_.Write("two", absl::StrCat("x", looks.load()));
      ASSERT_TRUE(Eventually([&] { return looks > before; }));
    }
  };
  watcher.Start();
  look_twice();
  EXPECT_EQ(offers, 0) << "it was read before";
  folder_.Write("one", "2");
  ASSERT_TRUE(Eventually([&] { return offers == 1; }));
  clock.Advance(std::chrono::seconds(59));
  look_twice();
  EXPECT_EQ(offers, 1) << "not every time";
  for (int minute = 2; minute < 5; ++minute) {
    clock.Advance(std::chrono::minutes(1));
    ASSERT_TRUE(Eventually([&] { return offers == minute; })) << offers;
  }
  is_good = true;
  folder_.Write("one", "3");
  ASSERT_TRUE(Eventually([&] { return offers == 5; })) << "a change is offered at once";
  clock.Advance(std::chrono::hours(1));
  look_twice();
  EXPECT_EQ(offers, 5) << "it was taken";
}

class TlsMaterialTest : public ::testing::Test {
 protected:
  TlsFiles Files(const TestCertificate& pair, const std::string& client_ca = "") const {
    TlsFiles files{folder_.Write("crt", pair.certificate), folder_.Write("key", pair.key), ""};
    if (!client_ca.empty()) files.client_ca = folder_.Write("ca", client_ca);
    return files;
  }
  static std::string Error(const TlsFiles& files) {
    return std::string(TlsMaterial::Read(files, absl::Now()).status().message());
  }
  const TestFolder folder_;
  const TestAuthority authority_{"authority"};
  const TestCertificate server_ = authority_.IssueServer();
};

TEST_F(TlsMaterialTest, TakesAChainAndItsKey) {
  TestCertificate chain = server_;
  chain.certificate += authority_.certificate();
  const auto material = TlsMaterial::Read(Files(chain, authority_.certificate()), absl::Now());
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_THAT(material->subject, HasSubstr("the server"));
  EXPECT_LT(absl::AbsDuration(material->expiry - absl::Now() - absl::Hours(24)), absl::Minutes(1));
}

TEST_F(TlsMaterialTest, SaysWhatIsWrongWithAFile) {
  const TestCertificate other = authority_.IssueServer();
  const TestCertificate expired = authority_.Issue({"x", {}, -absl::Hours(2), -absl::Hours(1)});
  const TestCertificate early = authority_.Issue({"x", {}, absl::Hours(1), absl::Hours(2)});
  const std::string damaged =
      absl::StrReplaceAll(server_.certificate, {{server_.certificate.substr(100, 20), "AAAAAAAAAAAAAAAAAAAA"}});
  EXPECT_THAT(Error(Files({"", server_.key})), AllOf(HasSubstr("--tls-certificate"), HasSubstr("no certificate")));
  EXPECT_THAT(Error(Files({"junk", server_.key})), HasSubstr("no certificate"));
  EXPECT_THAT(Error(Files({server_.certificate + damaged, server_.key})), HasSubstr("damaged"));
  EXPECT_THAT(Error(Files({server_.certificate, "junk"})), AllOf(HasSubstr("--tls-key"), HasSubstr("no private key")));
  EXPECT_THAT(Error(Files({server_.certificate, other.key})), HasSubstr("does not match the certificate"));
  EXPECT_THAT(Error(Files(expired)), HasSubstr("not now"));
  EXPECT_THAT(Error(Files(early)), HasSubstr("not now"));
  EXPECT_THAT(Error(Files(server_, "junk")), AllOf(HasSubstr("--tls-client-ca"), HasSubstr("no certificate")));
  EXPECT_THAT(Error({folder_.Path("none"), folder_.Path("key"), ""}), HasSubstr("No such file"));
  EXPECT_THAT(Error({folder_.Path("."), folder_.Path("key"), ""}), HasSubstr("directory"));
}

TEST(Plaintext, IsForThisHostOnlyUnlessTheOperatorSaysOtherwise) {
  const TestFolder folder;
  const TestCertificate server = TestAuthority("authority").IssueServer();
  SecurityOptions with_tls;
  with_tls.tls = {folder.Write("crt", server.certificate), folder.Write("key", server.key), ""};
  SecurityOptions insecure;
  insecure.insecure = true;
  for (const char* local : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/tmp/x"}) {
    EXPECT_TRUE(CheckSecurity({}, *ListenAddress::Parse(local)).ok()) << local;
  }
  for (const char* open : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "host.example:1", "[fe80::1]:1", "127.example:1"}) {
    const auto address = *ListenAddress::Parse(open);
    EXPECT_THAT(CheckSecurity({}, address).message(), AllOf(HasSubstr("--listen"), HasSubstr("--insecure"))) << open;
    EXPECT_TRUE(CheckSecurity(insecure, address).ok()) << open;
    EXPECT_TRUE(CheckSecurity(with_tls, address).ok()) << open;
  }
}

TEST(Plaintext, HalfOfTlsIsRefused) {
  SecurityOptions options;
  options.tls.certificate = "/some";
  const auto here = *ListenAddress::Parse("127.0.0.1:1");
  EXPECT_THAT(CheckSecurity(options, here).message(), HasSubstr("--tls-key"));
  options.tls = {"", "/some", ""};
  EXPECT_THAT(CheckSecurity(options, here).message(), HasSubstr("--tls-certificate"));
  options.tls = {"", "", "/some"};
  EXPECT_THAT(CheckSecurity(options, here).message(), HasSubstr("--tls-client-ca"));
}

}  // namespace
}  // namespace corank::testing
