// How `corank` is typed: options before and after the command, errors as JSON, pipes that close, addresses, completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/client/cli_fixture.h"

namespace corank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using CliUsage = CliTest;

google::protobuf::Struct ErrorOf(const std::string& text) {
  google::protobuf::Struct json;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &json);
  EXPECT_TRUE(parsed.ok()) << parsed << "\n" << text;
  return json.fields().at("error").struct_value();
}

TEST_F(CliUsage, GlobalOptionsStandBeforeOrAfterTheCommand) {
  const std::string address = server_->address();
  const std::vector<std::vector<std::string>> cases = {{"--server", address, "--quiet", "info", "--json"},
                                                       {"info", "--json", "--server", address},
                                                       {"--json", "-qs", address, "info"},
                                                       {"-qs" + address, "--json", "--retries=0", "info"}};
  for (std::vector<std::string> words : cases) {
    words.insert(words.begin(), CORANK_BINARY);
    const Finished done = RunToEnd(words, "", {"CORANK_SERVER=127.0.0.1:1"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("\"engine\": \"cpu\""));
  }
  EXPECT_THAT(Corank({"--server", "a:1", "info", "--server", "b:1"}).err, HasSubstr("--server is given twice"));
  EXPECT_EQ(Corank({"--help"}).out, Corank({"help"}).out);
  EXPECT_EQ(Corank({"--help", "sort"}).out, Corank({"sort", "-h"}).out);
  EXPECT_EQ(Corank({"sort", "-V"}).out, Corank({"--version"}).out);
  EXPECT_EQ(Corank({"--server", "a:1", "version"}).out, Corank({"version"}).out);
}

TEST_F(CliUsage, AFileInPlaceOfACommandIsNoticed) {
  WriteFile(Path("nums.txt"), "1\n");
  EXPECT_THAT(Corank({Path("nums.txt")}).err,
              HasSubstr("that is a file: did you mean corank sort " + Path("nums.txt")));
}

TEST_F(CliUsage, JsonMakesErrorsJson) {
  WriteFile(Path("up.npy"), Npy("<i4", std::vector<int32_t>{1, 2}));
  WriteFile(Path("down.npy"), Npy("<i4", std::vector<int32_t>{2, 1}));
  const struct {
    std::vector<std::string> words;
    int exit_code;
    const char *code, *field;
  } cases[] = {
      {{"merge", Path("up.npy"), Path("down.npy"), "-o", Path("m.npy"), "--json"}, 1, "INVALID_ARGUMENT", "keys[1]"},
      {{"--json", "sort"}, 2, "USAGE", ""},
      {{"sort", "--tpye", "u32", "--json"}, 2, "USAGE", ""},
      {{"--json", "srot"}, 2, "USAGE", ""},
      {{"sort", Path("none.npy"), "-o", Path("m.npy"), "--json"}, 3, "FILE", ""},
      {{"info", "--server", "127.0.0.1:1", "--retries", "0", "--json"}, 4, "UNAVAILABLE", ""},
  };
  for (const auto& c : cases) {
    const Finished done = Corank(c.words);
    EXPECT_EQ(done.exit_code, c.exit_code) << done.err;
    EXPECT_THAT(done.out, IsEmpty());
    const google::protobuf::Struct error = ErrorOf(done.err);
    EXPECT_EQ(error.fields().at("code").string_value(), c.code);
    EXPECT_THAT(error.fields().at("message").string_value(), Not(IsEmpty()));
    EXPECT_EQ(error.fields().at("field").string_value(), c.field);
    EXPECT_EQ(error.fields().at("field").has_null_value(), c.field[0] == 0);
    EXPECT_TRUE(error.fields().at("retry_after_seconds").has_null_value());
  }
}

/// A line for bash: runs `corank WORDS` once the reader of its pipe has gone, and prints its exit code.
std::string IntoAClosedPipe(const std::string& words, const std::string& marker) {
  return "rm -f '" + marker + "'; { until [ -e '" + marker + "' ]; do sleep 0.01; done; exec \"$0\" " + words +
         "; } | { exec <&-; : >'" + marker + "'; }; echo \"${PIPESTATUS[0]}\"";
}

// The shell reports 128 + SIGPIPE, as it does for other tools.
TEST_F(CliUsage, AClosedPipeEndsItSilently) {
  std::string numbers;
  for (int i = 0; i < 200'000; ++i) numbers += std::to_string(i) + "\n";
  WriteFile(Path("nums.txt"), numbers);
  const std::vector<std::string> environment = {"CORANK_SERVER=" + server_->address()};
  for (const std::string& words : {std::string("help"), std::string("info --json"), "sort " + Path("nums.txt")}) {
    const Finished done =
        RunToEnd({"/bin/bash", "-c", IntoAClosedPipe(words, Path("closed")), CORANK_BINARY}, "", environment);
    EXPECT_EQ(done.out, std::to_string(128 + SIGPIPE) + "\n") << words;
    EXPECT_THAT(done.err, IsEmpty()) << words;
  }
  const Finished ignored = RunToEnd(
      {"/bin/bash", "-c", "trap '' PIPE; " + IntoAClosedPipe("help", Path("closed")), CORANK_BINARY}, "", environment);
  EXPECT_EQ(ignored.out, "3\n");
  EXPECT_THAT(ignored.err, HasSubstr("cannot write standard output: Broken pipe"));
}

TEST_F(CliUsage, ABadAddressIsRefusedAtOnceWithOneToType) {
  const struct {
    const char *address, *message;
  } cases[] = {
      {"localhost", "--server, CORANK_SERVER: 'localhost' has no port; give host:port, such as localhost:50051"},
      {":50051", "has no host; give host:port, such as localhost:50051"},
      {"http://gpu:50051", "is a URL; give host:port, such as gpu:50051"},
      {"gpu :50051", "holds a space"},
      {"gpu:5O051", "must be 1 to 65535"},
      {"gpu:99999", "must be 1 to 65535"},
      {"", "must not be empty"}};
  for (const auto& c : cases) {
    const Finished done = Corank({"info", "--server", c.address});
    EXPECT_EQ(done.exit_code, 2) << c.address;
    EXPECT_THAT(done.err, HasSubstr(c.message));
  }
}

/// What bash offers for a command line whose last word is still being typed.
std::vector<std::string> Completed(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"/bin/bash", "-c",
                                      "set -eu; source <(\"$0\" completion bash); complete -p corank >/dev/null; "
                                      "COMP_WORDS=(corank \"$@\"); COMP_CWORD=$#; _corank; "
                                      "printf '%s\\n' \"${COMPREPLY[@]}\"",
                                      CORANK_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  const Finished done = RunToEnd(command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = done.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (end > begin) lines.push_back(done.out.substr(begin, end - begin));
  }
  return lines;
}

TEST_F(CliUsage, BashCompletesCommandsOptionsValuesAndFiles) {
  using ::testing::Contains;
  using ::testing::ElementsAre;
  EXPECT_THAT(Completed({"so"}), ElementsAre("sort"));
  EXPECT_THAT(Completed({""}), Contains("merge"));
  EXPECT_THAT(Completed({"--serv"}), ElementsAre("--server"));
  EXPECT_THAT(Completed({"--server", "a:1", "-q", "so"}), ElementsAre("sort"));
  EXPECT_THAT(Completed({"sort", "--val"}),
              ElementsAre("--values", "--values-type", "--values-record-bytes", "--values-output"));
  EXPECT_THAT(Completed({"sort", "--type", "uint"}), ElementsAre("uint8", "uint16", "uint32", "uint64"));
  EXPECT_THAT(Completed({"sort", "--order", "d"}), ElementsAre("descending"));
  EXPECT_THAT(Completed({"sort", "--limit", ""}), IsEmpty());
  EXPECT_THAT(Completed({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Completed({"help", "mer"}), ElementsAre("merge"));
  WriteFile(Path("nums.txt"), "1\n");
  EXPECT_THAT(Completed({"sort", Path("nu")}), ElementsAre(Path("nums.txt")));
  EXPECT_THAT(Completed({"sort", "-o", Path("nu")}), ElementsAre(Path("nums.txt")));
}

TEST_F(CliUsage, OtherShellsHaveCompletionToo) {
  EXPECT_THAT(Corank({"completion", "zsh"}).out, StartsWith("#compdef corank\n"));
  EXPECT_THAT(Corank({"completion", "fish"}).out, HasSubstr("complete -c corank"));
  const Finished unknown = Corank({"completion", "tcsh"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the shells are bash, zsh and fish"));
}

TEST_F(CliUsage, InfoMarksWhatDiffersFromTheDefault) {
  const Finished brief = Corank({"info"});
  ASSERT_EQ(brief.exit_code, 0) << brief.err;
  EXPECT_THAT(brief.out, HasSubstr("\n* kept-bytes"));
  EXPECT_THAT(brief.out, HasSubstr("100000000 (95.4 MiB)"));
  EXPECT_THAT(brief.out, Not(HasSubstr("slow-request")));
  EXPECT_LE(std::count(brief.out.begin(), brief.out.end(), '\n'), 40);
  const Finished all = Corank({"info", "--all"});
  EXPECT_THAT(all.out, HasSubstr("\n* kept-bytes"));
  EXPECT_THAT(all.out, HasSubstr("\n  slow-request"));
}

}  // namespace
}  // namespace corank::testing
