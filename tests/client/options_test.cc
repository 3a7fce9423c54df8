// The option parser, its help, and the format of numbers in messages.
#include "client/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/arrays.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/help.h"
#include "client/cli/progress.h"
#include "client/cli/session.h"
#include "client/cli/text.h"
#include "client/cpp/retry.h"
#include "client/cpp/status_conversion.h"
#include "tests/client/puppet_service.h"

namespace corank::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
                            {"quiet", 'q', nullptr, "say nothing"},
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
      {{"door", "-fxq"}, "unknown option -x in -fxq"},
      {{"door", "-output", "x"}, "unknown option -output; did you mean --output?"},
      {{"door", "-fo"}, "--output needs a value"},
      {{"door", "-o", "-f"}, "--output needs a value"},
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

TEST(Arguments, SwitchesShareAWord) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-fqo", "x", "door"}, {"-qfox", "door"}, {"-f", "-q", "-o", "x", "door"}}) {
    const auto arguments = Parse(words);
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    EXPECT_TRUE(arguments->Has("force") && arguments->Has("quiet"));
    EXPECT_EQ(arguments->Get("output"), "x");
    EXPECT_THAT(arguments->positional(), ElementsAre("door"));
  }
}

CommandSpec Globals() { return {"", "", "COMMAND", 0, -1, "", "", GlobalOptions()}; }

TEST(Arguments, GlobalOptionsStandBeforeTheCommand) {
  for (const std::vector<std::string>& globals :
       {std::vector<std::string>{"--server", "a:1", "-q"}, {"--server=a:1", "-q"}, {"-qsa:1"}, {"-qs", "a:1"}}) {
    std::vector<std::string> words = globals;
    words.insert(words.end(), {"sort", "-", "--server", "b:2"});
    const auto line = Arguments::Split(Globals(), words);
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->command, "sort");
    EXPECT_EQ(line->global_words, globals);
    EXPECT_EQ(line->globals.Get("server"), "a:1");
    EXPECT_THAT(line->command_words, ElementsAre("-", "--server", "b:2"));
  }
  EXPECT_EQ(Arguments::Split(Globals(), std::vector<std::string>{"-V"})->command, std::nullopt);
}

TEST(Arguments, AnUnknownOptionBeforeTheCommandSaysWhereItBelongs) {
  const auto line = Arguments::Split(Globals(), std::vector<std::string>{"--limit", "3", "sort"});
  EXPECT_EQ(ExitCodeOf(line.status()), kExitUsage);
  EXPECT_THAT(std::string(line.status().message()),
              HasSubstr("unknown option --limit before the command; options of a command follow its name"));
  EXPECT_THAT(std::string(Arguments::Split(Globals(), std::vector<std::string>{"--sever", "x"}).status().message()),
              HasSubstr("did you mean --server?"));
  EXPECT_THAT(std::string(Arguments::Split(Globals(), std::vector<std::string>{"-dq", "sort"}).status().message()),
              HasSubstr("unknown option -d in -dq before the command; options of a command follow its name: corank "
                        "COMMAND -d; see"));
}

TEST(CommandTable, EveryCommandExplainsItself) {
  for (const Command& command : Commands()) {
    const std::string help = CommandHelp(command.spec);
    EXPECT_THAT(help, HasSubstr(std::string("Usage: corank ") + command.spec.name));
    EXPECT_THAT(std::string(command.spec.examples), HasSubstr(std::string("corank ") + command.spec.name));
    for (const OptionSpec& option : command.spec.options) {
      EXPECT_THAT(help, HasSubstr(std::string("--") + option.name)) << command.spec.name;
      // No two options of a command share a letter or a name.
      int same = 0;
      int same_name = 0;
      for (const OptionSpec& other : command.spec.options) {
        same += other.short_name == option.short_name;
        same_name += std::string(other.name) == option.name;
      }
      EXPECT_TRUE(option.short_name == 0 || same == 1) << command.spec.name << " -" << option.short_name;
      EXPECT_EQ(same_name, 1) << command.spec.name << " --" << option.name;
    }
    for (const absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 120) << line;
  }
}

TEST(CommandTable, SortKnowsTheLettersOfSort1) {
  const auto message = [](const std::string& command, const std::string& option) {
    for (const Command& each : Commands()) {
      if (each.spec.name != command) continue;
      return std::string(Arguments::Parse(each.spec, std::vector<std::string>{"a.txt", option}).status().message());
    }
    return std::string("no such command");
  };
  EXPECT_EQ(message("sort", "-r"), "unknown option -r; did you mean --descending?");
  EXPECT_EQ(message("sort", "-qk2"), "unknown option -k in -qk2; did you mean --column?");
  EXPECT_EQ(message("health", "-r"), "unknown option -r; see corank health --help");
}

TEST(GeneralHelp, FitsOneScreen) {
  const std::string help = GeneralHelp(Commands());
  const auto lines = std::count(help.begin(), help.end(), '\n');
  EXPECT_GE(lines, 24);
  EXPECT_LE(lines, 40);
  for (const absl::string_view line : absl::StrSplit(help, '\n')) EXPECT_LE(line.size(), 80) << line;
  for (const Command& command : Commands()) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command.spec.name + " "));
  }
}

TEST(ManPage, NamesEveryCommandAndOptionInKnownMacros) {
  const std::string page = ManPage(Commands(), "1.2.3");
  EXPECT_THAT(page, ::testing::StartsWith(".TH CORANK 1 \"\" \"corank 1.2.3\""));
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    if (line.empty() || line[0] != '.') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    EXPECT_THAT((std::vector<std::string>{".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi", ".B"}),
                ::testing::Contains(words[0]));
  }
  for (const Command& command : Commands()) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat(".SS corank ", absl::StrReplaceAll(command.spec.name, {{"-", "\\-"}}))));
    for (const OptionSpec& option : command.spec.options) {
      EXPECT_THAT(page, HasSubstr(absl::StrCat("\\-\\-", absl::StrReplaceAll(option.name, {{"-", "\\-"}}))));
    }
  }
  EXPECT_THAT(page, Not(HasSubstr("--")));
}

TEST(ErrorJson, NamesCodeFieldAndTheTimeToWait) {
  EXPECT_EQ(ErrorJson(UsageError("x"), "say \"x\""),
            R"({"error": {"code": "USAGE", "message": "say \"x\"", "reason": null, )"
            R"("field": null, "retry_after_seconds": null}})");
  EXPECT_THAT(ErrorJson(FileError("x"), "x"), HasSubstr(R"("code": "FILE")"));
  EXPECT_EQ(ErrorJson(client::ToAbslStatus(client::InvalidField("keys[1]", "no")), "no"),
            R"({"error": {"code": "INVALID_ARGUMENT", "message": "no", "reason": "FIELD_INVALID", "field": "keys[1]", )"
            R"("retry_after_seconds": null}})");
  const absl::Status busy = client::ToAbslStatus(
      client::RetryLater(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full", absl::Milliseconds(250)));
  EXPECT_EQ(ErrorJson(busy, "full"),
            R"({"error": {"code": "RESOURCE_EXHAUSTED", "message": "full", "reason": "QUEUE_FULL", )"
            R"("field": null, )"
            R"("retry_after_seconds": 0.25}})");
}

TEST(ParseKeyType, TakesAnyCaseOfLetters) {
  for (const char* name : {"uint32", "UINT32", "Uint32", "u32", "U32"}) {
    EXPECT_EQ(*ParseKeyType(name), KeyType::kUint32) << name;
  }
  EXPECT_EQ(*ParseKeyType("BF16"), KeyType::kBfloat16);
  EXPECT_THAT(std::string(ParseKeyType("flaot32").status().message()), HasSubstr("did you mean float32?"));
  EXPECT_THAT(std::string(ParseKeyType("unit32").status().message()), HasSubstr("did you mean uint32?"));
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
