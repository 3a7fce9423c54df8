// How `corank` fails: exit codes, one helpful line, and never half a file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/client/cli_fixture.h"

namespace corank::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CliFailure = CliTest;

void ExpectOneLine(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, ::testing::StartsWith("corank"));
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
      {{"sort"}, "usage: corank sort KEYS"},
      {{"sort", keys, "-o", out}, "give --type"},
      {{"sort", keys, "--type", "u32"}, "give --output FILE"},
      {{"sort", keys, "--type", "uint33", "-o", out}, "unknown type 'uint33'; the types are int8,"},
      {{"sort", keys, "--tpye", "u32", "-o", out}, "did you mean --type?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--algorithm", "mergsort"}, "did you mean mergesort?"},
      {{"sort", keys, "-t", "u32", "-o", out, "--order", "up"}, "--order is one of ascending, descending"},
      {{"sort", keys, "-t", "u32", "-o", out, "--order", "ascending", "-d"}, "contradicts"},
      {{"sort", keys, "-t", "u32", "-o", out, "--limit", "-1"}, "--limit must be a whole number"},
      {{"sort", keys, "-t", "u32", "-o", out, "--limit", "1", "--segments", keys}, "--limit does not go together"},
      {{"sort", keys, "-t", "u32", "-o", out, "--values", keys}, "--values-output FILE go together"},
      {{"sort", keys, "-t", "u32", "-o", out, "--values", keys, "--values-output", out, "--values-type", "u32"},
       "two outputs go to"},
      {{"sort", keys, "-t", "u32", "-o", "-", "--json"}, "cannot both go to standard output"},
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
  // A port of the system range that nothing serves on the loopback interface.
  const Finished done = Corank({"sort", Path("keys.npy"), "-o", Path("out.npy"), "--server", "127.0.0.1:1"});
  EXPECT_EQ(done.exit_code, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("no corank server answers at 127.0.0.1:1 (Connection refused) (tried 6 times in "));
  EXPECT_THAT(done.err, HasSubstr("no more than 6 tries are allowed); start corankd"));
  ExpectOneLine(done.err);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.npy"));
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

// The first input is mapped while the second one is awaited from a pipe.
TEST_F(CliFailure, AnInputThatIsMadeShorterIsExitCode3AndLeavesNoOutput) {
  WriteFile(Path("keys.bin"), std::string(1 << 20, 'k'));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  Process cli({CORANK_BINARY, "sort", Path("keys.bin"), "-t", "u8", "-o", Path("out.bin"), "--values", Path("pipe"),
               "--values-type", "u8", "--values-output", Path("values.bin"), "--server", server_->address()});
  const int pipe = open(Path("pipe").c_str(), O_WRONLY);  // returns once the other end is open too
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

// The server is stopped, so that the request stays under way until the test has done what it wants to do.
class CliUnderWay : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(server_.address(), "");
    WriteFile(folder_.Path("keys.bin"), "12345678");
    server_.process().Signal(SIGSTOP);
    cli_ = std::make_unique<Process>(std::vector<std::string>{CORANK_BINARY, "sort", folder_.Path("keys.bin"), "-t",
                                                              "u32", "-o", folder_.Path("out.bin"), "--server",
                                                              server_.address()});
    // The temporary output is there before the request goes out.
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
  // The kernel may have taken the connection before the server died.
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

TEST_F(CliUnderWay, AServerThatWakesUpStillAnswers) {
  server_.process().Signal(SIGCONT);
  EXPECT_EQ(cli_->Wait().exit_code, 0);
  EXPECT_THAT(folder_.Names(), ElementsAre("keys.bin", "out.bin"));
}

}  // namespace
}  // namespace corank::testing
