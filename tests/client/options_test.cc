// The option parser, its help, and the format of numbers in messages.
#include "client/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/progress.h"
#include "client/cli/session.h"
#include "client/cli/text.h"
#include "client/cpp/retry.h"

namespace corank::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const CommandSpec kSpec = {"paint",
                           "paint things",
                           "THING",
                           1,
                           2,
                           "",
                           "corank paint door",
                           {{"output", 'o', "FILE", "where to"},
                            {"layer", 0, "N", "a layer", true},
                            {"wait", 0, "TIME", "how long"},
                            {"force", 'f', nullptr, "do it anyway"},
                            {"help", 'h', nullptr, "this"}}};

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) { return Arguments::Parse(kSpec, words); }

TEST(Arguments, TakesEveryWayToGiveAValue) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"door", "--output", "x"},
                                                {"--output=x", "door"},
                                                {"-o", "x", "door"},
                                                {"door", "-ox"}}) {
    const auto arguments = Parse(words);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    EXPECT_THAT(arguments->positional(), ElementsAre("door"));
    EXPECT_EQ(arguments->Get("output"), "x");
    EXPECT_FALSE(arguments->Has("force"));
  }
}

TEST(Arguments, ADashIsAnArgumentAndAValue) {
  const auto arguments = Parse({"-", "-o", "-"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->positional(), ElementsAre("-"));
  EXPECT_EQ(arguments->Get("output"), "-");
}

TEST(Arguments, AfterTwoDashesEverythingIsAnArgument) {
  const auto arguments = Parse({"--force", "--", "--output"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->positional(), ElementsAre("--output"));
  EXPECT_TRUE(arguments->Has("force"));
}

TEST(Arguments, ARepeatedOptionKeepsItsOrder) {
  const auto arguments = Parse({"door", "--layer", "2", "--layer=1", "--layer", "3"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->GetAll("layer"), ElementsAre("2", "1", "3"));
  EXPECT_THAT(arguments->GetAll("output"), IsEmpty());
}

TEST(Arguments, HelpNeedsNothingElse) { EXPECT_TRUE(Parse({"--help"}).ok()); }

TEST(Arguments, RefusesWithWhatToDo) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } cases[] = {
      {{}, "missing arguments; usage: corank paint THING"},
      {{"a", "b", "c"}, "unexpected argument 'c'"},
      {{"door", "--ouptut", "x"}, "unknown option --ouptut; did you mean --output?"},
      {{"door", "--out=x"}, "did you mean --output?"},
      {{"door", "--zzzzzzzz"}, "see corank paint --help"},
      {{"door", "-x"}, "unknown option -x"},
      {{"door", "--output"}, "--output needs a value: --output FILE"},
      {{"door", "--output", "--force"}, "--output needs a value"},
      {{"door", "--force=1"}, "--force takes no value"},
      {{"door", "-oa", "-ob"}, "--output is given twice"},
  };
  for (const auto& c : cases) {
    const auto arguments = Parse(c.words);
    ASSERT_FALSE(arguments.ok()) << c.message;
    EXPECT_THAT(std::string(arguments.status().message()), HasSubstr(c.message));
    EXPECT_EQ(ExitCodeOf(arguments.status()), kExitUsage);
  }
}

TEST(Arguments, CountsAndTimesAreChecked) {
  const auto good = Parse({"door", "--layer", "9007199254740993", "--wait", "1m30s"});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(**good->GetCount("layer"), 9007199254740993);
  EXPECT_EQ(**good->GetDuration("wait"), absl::Seconds(90));
  EXPECT_EQ(**Parse({"door", "--wait", "2.5"})->GetDuration("wait"), absl::Milliseconds(2500));
  EXPECT_EQ(*good->GetCount("output"), std::nullopt);
  for (const char* count : {"-1", "x", "1.5", "", "99999999999999999999"}) {
    EXPECT_EQ(ExitCodeOf(Parse({"door", "--layer", count})->GetCount("layer").status()), kExitUsage) << count;
  }
  for (const char* time : {"0", "-1s", "soon", "nan"}) {
    EXPECT_EQ(ExitCodeOf(Parse({"door", "--wait", time})->GetDuration("wait").status()), kExitUsage) << time;
  }
}

TEST(Nearest, FindsSlipsAndPrefixesButNotStrangers) {
  const std::vector<std::string> known = {"sort", "argsort", "search", "scatter"};
  EXPECT_EQ(Nearest("srot", known), "sort");
  EXPECT_EQ(Nearest("sort1", known), "sort");
  EXPECT_EQ(Nearest("scat", known), "scatter");
  EXPECT_EQ(Nearest("serch", known), "search");
  EXPECT_EQ(Nearest("deploy", known), "");
}

TEST(CommandTable, EveryCommandExplainsItself) {
  for (const Command& command :
       {SortCommand(), ArgsortCommand(), MergeCommand(), ExpandCommand(), MoveCommand(), GatherCommand(),
        ScatterCommand(), LoadBalanceCommand(), SearchCommand(), InfoCommand(), BenchCommand()}) {
    const std::string help = CommandHelp(command.spec);
    EXPECT_THAT(help, HasSubstr(std::string("Usage: corank ") + command.spec.name));
    EXPECT_THAT(help, HasSubstr(std::string("Examples:\n  corank ") + command.spec.name));
    for (const OptionSpec& option : command.spec.options) {
      EXPECT_THAT(help, HasSubstr(std::string("--") + option.name)) << command.spec.name;
      // No two options of a command may share a letter.
      int same = 0;
      for (const OptionSpec& other : command.spec.options) same += other.short_name == option.short_name;
      EXPECT_TRUE(option.short_name == 0 || same == 1) << command.spec.name << " -" << option.short_name;
    }
  }
}

TEST(Text, NumbersReadWell) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(-1234567), "-1,234,567");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(64.0 * 1024 * 1024), "64.0 MiB");
  EXPECT_EQ(TimeText(850), "850 ns");
  EXPECT_EQ(TimeText(4.56e6), "4.56 ms");
}

TEST(Text, JsonQuotesWhatMustBe) {
  JsonObject json;
  json.Add("path", "a\"b\\c\n").Add("n", int64_t{7}).Add("yes", true).Add("x", 0.5);
  EXPECT_EQ(json.Text(), R"({"path": "a\"b\\c\u000a", "n": 7, "yes": true, "x": 0.5})");
}

TEST(ProgressText, ShowsShareRateAndTimeWithinALine) {
  const std::string line = ProgressLine("reading", 512 << 20, 1 << 30, absl::Seconds(2));
  EXPECT_EQ(line, "reading   [##########..........]  50 %  512.0 MiB  256.0 MiB/s  2.0 s, 2 s left");
  EXPECT_EQ(ProgressLine("server", 0, 0, absl::Milliseconds(1500)), "server     1.5 s");
}

TEST(ProgressText, OfACallSaysWhichWayTheBytesGo) {
  client::TransferProgress call;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(1)), "server     1.0 s");
  call.bytes_to_send = 100 << 20;
  call.bytes_to_receive = 100 << 20;
  call.bytes_sent = 50 << 20;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(1)),
            "sending   [#####...............]  25 %  50.0 MiB  50.0 MiB/s  1.0 s, 3 s left");
  call.bytes_sent = 100 << 20;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(2)),
            "server    [##########..........]  50 %  100.0 MiB  50.0 MiB/s  2.0 s, 2 s left");
  call.bytes_received = 100 << 20;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(4)),
            "receiving [####################] 100 %  200.0 MiB  50.0 MiB/s  4.0 s");
  call.bytes_received = 0;
  call.bytes_sent = 0;
  call.attempt = 2;
  call.is_waiting = true;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(5)), "waiting for try 2 [....................]   0 %  5.0 s");
  call.is_waiting = false;
  call.bytes_sent = 50 << 20;
  EXPECT_EQ(CallProgressLine(call, absl::Seconds(10)),
            "try 2     [#####...............]  25 %  50.0 MiB  5.0 MiB/s  10.0 s, 30 s left");
}

TEST(Text, JsonIsUtf8WhateverItIsMadeOf) {
  EXPECT_EQ(JsonString("a\"\n\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"a\\\"\\u000a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  // Isolated, truncated, overlong, a surrogate, and above the last code point.
  EXPECT_EQ(JsonString("\xFF"), R"("\ufffd")");
  EXPECT_EQ(JsonString("\xE2\x82x"), R"("\ufffd\ufffdx")");
  EXPECT_EQ(JsonString("\xC0\xAF"), R"("\ufffd\ufffd")");
  EXPECT_EQ(JsonString("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(JsonString("\xF4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

// A retry budget is for programs with many calls.
TEST(ReadClientOptions, TriesAsOftenAsTheUserSays) {
  const CommandSpec spec = {"info", "", "", 0, 0, "", "", WithCommonOptions({})};
  const auto options = ReadClientOptions(*Arguments::Parse(spec, {"--retries", "50"}));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->retry.max_attempts, 51);
  client::RetryBudget budget(options->retry);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(budget.Take()) << i;
}

}  // namespace
}  // namespace corank::cli
