// Failures of `corank`: exit codes, one helpful line, and never half a file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/client/cli_fixture.h"
#include "tests/client/local_socket.h"

namespace corank::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CliFailure = CliTest;

void ExpectOneLine(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, AnyOf(::testing::StartsWith("corank"), ::testing::StartsWith("{\"error\": {")));
}

TEST_F(CliFailure, WrongUsageIsExitCode2WithWhatToDo) {
  const std::string keys = Path("keys.bin");
  WriteFile(keys, "12345678");
  const std::string out = Path("out.bin");
  const struct {
    std::vector<std::string> words;
    const char* message;
  } cases[] = {
      {{"srot", keys}, "corank: unknown command 'srot'; did you mean sort?"},
      {{"help", "mrege"}, "did you mean merge?"},
      {{"info", "--server", "localhost"},
       "--server, CORANK_SERVER: 'localhost' has no port; give host:port, such as localhost:50051"},
      {{"sort"}, "usage: corank sort INPUT"},
      {{"sort", keys, "-o", out}, "give --type"},
      {{"sort", keys, "--type", "u32"}, "give --output FILE"},
      {{"sort", keys, "--type", "uint33", "-o", out}, "unknown type 'uint33'; the types are int8,"},
      {{"sort", keys, "--tpye", "u32", "-o", out}, "did you mean --type?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--algorithm", "mergsort"}, "did you mean mergesort?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--order", "up"}, "--order is one of ascending, descending"},
      {{"sort", keys, "-t", "u32", "-o", out, "--order", "ascending", "-d"}, "contradicts"},
      {{"sort", keys, "-t", "u32", "-o", out, "--limit", "-1"}, "--limit must be a whole number"},
      {{"sort", keys, "-t", "u32", "-o", out, "--values", keys}, "--values-output FILE go together"},
      {{"sort", keys, "-t", "u32", "-o", out, "--values", keys, "--values-output", out, "--values-type", "u32"},
       "two outputs go to"},
      {{"sort", keys, "-t", "u32", "-o", "-", "--json"}, "cannot both go to standard output"},
      {{"sort", keys, "-t", "u32", "-o", "/dev/stdout", "--force", "--json"}, "cannot both go to standard output"},
      {{"sort", keys, "-t", "u32", "-o", ""}, "--output needs a name"},
      {{"sort", keys, "-t", "u32", "-o", out, "--deadline", "soon"}, "--deadline must be a positive time"},
      {{"merge", "-", "-", "-t", "u32", "-o", out}, "only one input can come from standard input"},
      {{"merge", keys, keys, "-t", "u32", "-o", out, "--values", keys, "--values-output", Path("v")},
       "once for each of the 2 inputs"},
      {{"gather", keys, "-t", "u8", "-o", out}, "--source-offsets FILE is required"},
      {{"expand", keys, "-t", "u8", "--record-bytes", "4", "-o", out}, "not both"},
      {{"expand", keys, "--record-bytes", "257", "-o", out}, "must be 1 to 256"},
      {{"bench", "--operator", "sorted"}, "did you mean sort?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--place", "steam"}, "not 'steam'; did you mean stream?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--connections", "65"}, "--connections must be 1 to 64"},
      {{"arrays", "lst"}, "unknown action 'lst'; corank arrays has list, store, fetch, delete; did you mean list?"},
      {{"arrays", "store", "name"}, "usage: corank arrays store NAME FILE"},
      {{"arrays", "fetch", "name"}, "give --output FILE"},
      {{"arrays", "list", "name"}, "usage: corank arrays list"},
      {{"regions", "lst"}, "corank regions has list"},
  };
  for (const auto& c : cases) {
    const Finished done = Corank(c.words);
    EXPECT_EQ(done.exit_code, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.message));
    ExpectOneLine(done.err);
    EXPECT_THAT(done.out, IsEmpty());
    EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin")) << c.message;
  }
  EXPECT_EQ(Corank({}).exit_code, 2);
}

TEST_F(CliFailure, ATimeThatIsNoneIsExitCode2AndAGreatOneIsTaken) {
  for (const char* none : {"0", "-1", "-inf", "nan", "1e-300", "soon", ""}) {
    const Finished done = Corank({"info", "--deadline", none});
    EXPECT_EQ(done.exit_code, 2) << none;
    EXPECT_THAT(done.err, HasSubstr("--deadline must be a positive time"));
    ExpectOneLine(done.err);
  }
  for (const char* great : {"1e10", "1e300", "1e400", "inf", "2562047h"}) {
    EXPECT_EQ(Corank({"info", "--deadline", great}).exit_code, 0) << great;
    EXPECT_EQ(Corank({"health", "--wait", great}).exit_code, 0) << great;
  }
}

// One output would overwrite the other.
TEST_F(CliFailure, TwoOutputsThatAreOneFileAreExitCode2) {
  WriteFile(Path("k.npy"), Npy("<i4", std::vector<int32_t>{3, 1, 2}));
  WriteFile(Path("v.npy"), Npy("<i8", std::vector<int64_t>{30, 10, 20}));
  WriteFile(Path("old"), "old");
  std::filesystem::create_symlink("old", Path("link"));
  std::filesystem::create_hard_link(Path("old"), Path("other"));
  std::filesystem::create_directory(Path("folder"));
  std::filesystem::create_directory_symlink("folder", Path("way"));
  const std::vector<std::string> before = folder_.Names();
  const struct {
    const char *keys, *values;
  } cases[] = {{"new", "./new"},          {"new", "folder/../new"}, {"folder/new", "way/new"},   {"old", "link"},
               {"old", "folder/../link"}, {"old", "other"},         {"/dev/null", "/dev/./null"}};
  for (const auto& c : cases) {
    for (const bool force : {false, true}) {
      std::vector<std::string> words = {"-c", "cd \"$0\" && exec \"$@\"", Path(""), CORANK_BINARY, "sort", "k.npy"};
      words.insert(words.begin(), "/bin/sh");
      words.insert(words.end(), {"-o", c.keys, "--values", "v.npy", "--values-output", c.values});
      if (force) words.push_back("--force");
      const Finished done = RunToEnd(words, "", {"CORANK_SERVER=" + server_->address()});
      const bool is_taken = !force && std::string(c.keys) == "old";
      EXPECT_EQ(done.exit_code, is_taken ? 3 : 2) << c.keys << " " << c.values << done.err;
      if (!is_taken) {
        EXPECT_THAT(done.err,
                    HasSubstr(std::string("two outputs go to ") + c.values + ", which is also " + c.keys + ";"));
      }
      ExpectOneLine(done.err);
      EXPECT_EQ(folder_.Names(), before);
      EXPECT_EQ(ReadFile(Path("old")), "old");
    }
  }
  // Standard output, and the file to which the shell redirects it.
  const Finished done =
      RunToEnd({"/bin/sh", "-c",
                "exec \"$1\" sort \"$0/k.npy\" -f -o - --values \"$0/v.npy\" --values-output \"$0/o\" >\"$0/o\"",
                Path(""), CORANK_BINARY},
               "", {"CORANK_SERVER=" + server_->address()});
  EXPECT_EQ(done.exit_code, 2) << done.err;
}

TEST_F(CliFailure, AnOutputMayBeAnInput) {
  const std::vector<std::string> names = {"k.npy", "./k.npy", "link.npy", "other.npy"};
  for (const std::string& name : names) {
    std::filesystem::remove(Path("k.npy"));
    std::filesystem::remove(Path("link.npy"));
    std::filesystem::remove(Path("other.npy"));
    std::vector<int32_t> keys(1 << 20);  // enough for a mapped output
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>((i * 7919) % keys.size());
    WriteFile(Path("k.npy"), Npy("<i4", keys));
    std::filesystem::create_symlink("k.npy", Path("link.npy"));
    std::filesystem::create_hard_link(Path("k.npy"), Path("other.npy"));
    EXPECT_EQ(Corank({"sort", Path("k.npy"), "-o", Path(name)}).exit_code, 3);
    const Finished done = Corank({"sort", Path("k.npy"), "-f", "-o", Path(name)});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(FromNpy<int32_t>(ReadFile(Path(name)), "<i4"), keys) << name;
  }
}

// No output is lost silently.
TEST_F(CliFailure, AFullStandardOutputIsExitCode3) {
  for (const char* words : {"help", "help sort", "sort --help", "version", "info", "info --json", "health",
                            "arrays list --json", "bench --seconds 0.01 --json"}) {
    const Finished done =
        RunToEnd({"/bin/sh", "-c", std::string("exec \"$0\" ") + words + " >/dev/full", CORANK_BINARY}, "",
                 {"CORANK_SERVER=" + server_->address()});
    EXPECT_EQ(done.exit_code, 3) << words;
    EXPECT_THAT(done.err, HasSubstr("cannot write standard output")) << words;
  }
}

// Otherwise the next file or connection would get their numbers, and messages would go into it.
TEST_F(CliFailure, ClosedStandardStreamsHarmNothing) {
  WriteFile(Path("k.npy"), Npy("<i4", std::vector<int32_t>{3, 1, 2}));
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    const Finished done = RunToEnd({"/bin/sh", "-c", std::string("exec \"$0\" sort \"$1\" -f -o \"$2\" ") + closed,
                                    CORANK_BINARY, Path("k.npy"), Path("out.npy")},
                                   "", {"CORANK_SERVER=" + server_->address()});
    EXPECT_EQ(done.exit_code, 0) << closed << done.err;
    EXPECT_THAT(FromNpy<int32_t>(ReadFile(Path("out.npy")), "<i4"), ElementsAre(1, 2, 3)) << closed;
    EXPECT_THAT(folder_.Names(), ElementsAre("k.npy", "out.npy")) << closed;
    std::filesystem::remove(Path("out.npy"));
  }
  const Finished info =
      RunToEnd({"/bin/sh", "-c", "exec \"$0\" info >&-", CORANK_BINARY}, "", {"CORANK_SERVER=" + server_->address()});
  EXPECT_EQ(info.exit_code, 3) << info.err;
}

TEST_F(CliFailure, AFileSizeLimitIsExitCode3AndLeavesNoOutput) {
  WriteFile(Path("k.bin"), std::string(4 << 20, 'k'));
  const Finished done = RunToEnd({"/bin/sh", "-c", "ulimit -f 100; exec \"$0\" sort \"$1\" -t u8 -o \"$2\"",
                                  CORANK_BINARY, Path("k.bin"), Path("out.bin")},
                                 "", {"CORANK_SERVER=" + server_->address()});
  EXPECT_EQ(done.exit_code, 3) << done.err;
  EXPECT_THAT(done.err, HasSubstr("File too large"));
  EXPECT_THAT(folder_.Names(), ElementsAre("k.bin"));
}

TEST_F(CliFailure, MoveNeedsExactlyOneDestination) {
  WriteFile(Path("source.bin"), "abc");
  PutInt64s("zero.npy", {0});
  for (const bool both : {false, true}) {
    std::vector<std::string> words = {"move",
                                      Path("source.bin"),
                                      "-t",
                                      "u8",
                                      "--source-offsets",
                                      Path("zero.npy"),
                                      "--destination-offsets",
                                      Path("zero.npy"),
                                      "--counts",
                                      Path("zero.npy"),
                                      "-o",
                                      Path("out.bin")};
    if (both) words.insert(words.end(), {"--destination", Path("source.bin"), "--destination-count", "3"});
    const Finished done = Corank(words);
    EXPECT_EQ(done.exit_code, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr("--destination FILE (what the result holds before) or --destination-count N"));
  }
}

TEST_F(CliFailure, FilesThatDoNotServeAreExitCode3) {
  WriteFile(Path("odd.bin"), "12345");
  WriteFile(Path("big.npy"), Npy(">u4", std::vector<uint32_t>{1}));
  WriteFile(Path("half.npy"), Npy("<u4", std::vector<uint32_t>{1, 2}).substr(0, 70));
  WriteFile(Path("zip.npy"), "PK");
  WriteFile(Path("good.npy"), Npy("<u4", std::vector<uint32_t>{2, 1}));
  WriteFile(Path("int32.npy"), Npy("<i4", std::vector<int32_t>{1, 1}));
  WriteFile(Path("taken.npy"), "mine");
  const std::vector<std::string> before = folder_.Names();
  const std::string out = Path("out.npy");
  const struct {
    std::vector<std::string> words;
    const char* message;
  } cases[] = {
      {{"sort", Path("none.npy"), "-o", out}, "none.npy: No such file or directory"},
      {{"sort", Path("none.npy")}, "none.npy: No such file or directory"},
      {{"sort", Path("none.bin")}, "none.bin: No such file or directory"},
      {{"sort", Path("none.csv")}, "none.csv: No such file or directory"},
      {{"merge", Path("good.npy"), Path("none.npy"), "-o", out}, "none.npy: No such file or directory"},
      {{"sort", Path("odd.bin"), "-t", "u32", "-o", out}, "5 bytes, which is not a whole number of elements"},
      {{"sort", Path("big.npy"), "-o", out}, "big-endian; convert it with array.astype('<u4')"},
      {{"sort", Path("half.npy"), "-o", out}, "half.npy: its header says 2 elements"},
      {{"sort", Path("zip.npy"), "-o", out}, "zip.npy: it is not a .npy file"},
      {{"sort", Path("good.npy"), "-t", "f32", "-o", out}, "holds elements of type uint32, not float32"},
      {{"sort", Path("good.npy"), "-o", Path("no/out.npy")}, "cannot write"},
      {{"sort", Path("good.npy"), "-o", "/proc/corank.npy"}, "cannot write /proc/corank.npy"},
      {{"sort", Path("good.npy"), "-o", "/dev/full"}, "No space left on device"},
      {{"sort", Path("good.npy"), "-o", Path("taken.npy")}, "exists already; choose another name, or give --force"},
      {{"sort", "-", "-t", "bf16", "-o", out}, "the .npy format has no bfloat16"},
      {{"expand", Path("good.npy"), "--counts", Path("int32.npy"), "-o", out}, "offsets and counts are int64"},
  };
  for (const auto& c : cases) {
    const Finished done = Corank(c.words);
    EXPECT_EQ(done.exit_code, 3) << done.err;
    EXPECT_THAT(done.err, HasSubstr(c.message));
    ExpectOneLine(done.err);
    EXPECT_EQ(folder_.Names(), before) << c.message;
  }
  EXPECT_EQ(ReadFile(Path("taken.npy")), "mine");
  const Finished forced = Corank({"sort", Path("good.npy"), "-o", Path("taken.npy"), "--force"});
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_THAT(FromNpy<uint32_t>(ReadFile(Path("taken.npy")), "<u4"), ElementsAre(1, 2));
}

TEST_F(CliFailure, ARefusedRequestIsExitCode1AndNamesTheInput) {
  WriteFile(Path("sorted.npy"), Npy("<u4", std::vector<uint32_t>{1, 2, 3}));
  WriteFile(Path("unsorted.npy"), Npy("<u4", std::vector<uint32_t>{1, 3, 2}));
  const std::vector<std::string> before = folder_.Names();
  const Finished done = Corank({"merge", Path("sorted.npy"), Path("unsorted.npy"), "-o", Path("out.npy")});
  EXPECT_EQ(done.exit_code, 1) << done.err;
  EXPECT_THAT(done.err, HasSubstr("corank merge: keys[1]"));
  EXPECT_THAT(done.err, HasSubstr("index 2"));
  ExpectOneLine(done.err);
  EXPECT_EQ(folder_.Names(), before);
}

TEST_F(CliFailure, NoServerIsExitCode4) {
  WriteFile(Path("keys.npy"), Npy("<u4", std::vector<uint32_t>{1}));
  // A system port that nothing on the loopback interface serves.
  const Finished done = Corank({"sort", Path("keys.npy"), "-o", Path("out.npy"), "--server", "127.0.0.1:1"});
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("no corank server answers at 127.0.0.1:1 (Connection refused) (tried 6 times in "));
  EXPECT_THAT(done.err, HasSubstr("no more than 6 tries are allowed); start corankd"));
  ExpectOneLine(done.err);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.npy"));
}

TEST_F(CliFailure, AServerThatNeverSpeaksIsExitCode4) {
  const LocalSocket silent(/*listens=*/true);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"info", "--deadline", "300ms"}, {"health", "--wait", "300ms"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--server", silent.address()});
    const Finished done = Corank(all);
    EXPECT_EQ(done.exit_code, 4) << done.err;
    EXPECT_THAT(done.err, HasSubstr("the deadline passed before there was a connection to " + silent.address()));
    ExpectOneLine(done.err);
  }
}

// Sanitizers reserve more addresses than such a limit allows, and end a process that is short of memory.
TEST_F(CliFailure, AnInputThatNoMemoryHoldsIsExitCode3AndLeavesNoOutput) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "this build has a sanitizer";
#endif
  const Finished done =
      RunToEnd({"/bin/sh", "-c", "head -c 500000000 /dev/zero | (ulimit -v 700000; exec \"$0\" sort - -t u8 -o \"$1\")",
                CORANK_BINARY, Path("out.bin")},
               "", {"CORANK_SERVER=" + server_->address()});
  EXPECT_EQ(done.exit_code, 3) << done.err;
  EXPECT_THAT(done.err, HasSubstr("cannot read standard input: Cannot allocate memory"));
  ExpectOneLine(done.err);
  EXPECT_THAT(folder_.Names(), IsEmpty());
}

TEST_F(CliFailure, AKeptArrayThatIsNotThereIsExitCode1) {
  for (const char* action : {"fetch", "delete"}) {
    std::vector<std::string> words = {"arrays", action, "nobody"};
    if (std::string(action) == "fetch") words.insert(words.end(), {"-o", Path("out.npy")});
    const Finished done = Corank(words);
    EXPECT_EQ(done.exit_code, 1) << done.err;
    EXPECT_THAT(done.err, HasSubstr("nobody"));
    ExpectOneLine(done.err);
  }
  EXPECT_THAT(folder_.Names(), IsEmpty());
}

// The first input is mapped while the command waits for the second one from a pipe.
TEST_F(CliFailure, AnInputThatIsMadeShorterIsExitCode3AndLeavesNoOutput) {
  WriteFile(Path("keys.bin"), std::string(1 << 20, 'k'));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  Process cli({CORANK_BINARY, "sort", Path("keys.bin"), "-t", "u8", "-o", Path("out.bin"), "--values", Path("pipe"),
               "--values-type", "u8", "--values-output", Path("values.bin"), "--server", server_->address()});
  const int pipe = open(Path("pipe").c_str(), O_WRONLY);  // returns once the other end is open
  ASSERT_GE(pipe, 0);
  ASSERT_EQ(truncate(Path("keys.bin").c_str(), 0), 0);
  const std::string values(1 << 20, 'v');
  for (size_t written = 0; written < values.size();) {
    const ssize_t count = write(pipe, values.data() + written, values.size() - written);
    ASSERT_GT(count, 0);
    written += static_cast<size_t>(count);
  }
  close(pipe);
  const Finished done = cli.Wait();
  EXPECT_EQ(done.exit_code, 3) << done.err;
  EXPECT_THAT(done.err, HasSubstr("an input file was made shorter while it was in use"));
  ExpectOneLine(done.err);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin", "pipe"));
}

// The server is stopped, so that the request stays in flight while the test acts.
class CliUnderWay : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(server_.address(), "");
    WriteFile(folder_.Path("keys.bin"), "12345678");
    server_.process().Signal(SIGSTOP);
    cli_ = std::make_unique<Process>(std::vector<std::string>{CORANK_BINARY, "sort", folder_.Path("keys.bin"), "-t",
                                                              "u32", "-o", folder_.Path("out.bin"), "--server",
                                                              server_.address()});
    // The temporary output exists before the request is sent.
    ASSERT_TRUE(Eventually([&] { return folder_.Names().size() == 2; }));
  }

  TemporaryFolder folder_;
  Server server_;
  std::unique_ptr<Process> cli_;
};

TEST_F(CliUnderWay, AKilledServerIsExitCode4AndLeavesNoOutput) {
  server_.process().Signal(SIGKILL);
  const Finished done = cli_->Wait();
  EXPECT_EQ(done.exit_code, 4) << done.err;
  // The kernel may have accepted the connection before the server died.
  EXPECT_THAT(done.err, AnyOf(HasSubstr("no corank server answers at"), HasSubstr("closed the connection")));
  ExpectOneLine(done.err);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin"));
}

TEST_F(CliUnderWay, AnInterruptEndsItAndLeavesNoOutput) {
  cli_->Signal(SIGINT);
  EXPECT_EQ(cli_->Wait().exit_code, -SIGINT);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin"));
}

TEST_F(CliUnderWay, ATerminationEndsItAndLeavesNoOutput) {
  cli_->Signal(SIGTERM);
  EXPECT_EQ(cli_->Wait().exit_code, -SIGTERM);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin"));
}

TEST_F(CliUnderWay, AQuitEndsItAndLeavesNoOutput) {
  cli_->Signal(SIGQUIT);
  EXPECT_EQ(cli_->Wait().exit_code, -SIGQUIT);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin"));
}

TEST_F(CliUnderWay, AServerThatWakesUpStillAnswers) {
  server_.process().Signal(SIGCONT);
  EXPECT_EQ(cli_->Wait().exit_code, 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin", "out.bin"));
}

}  // namespace
}  // namespace corank::testing
