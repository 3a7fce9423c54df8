#include "client/cli/help.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace corank::cli {
namespace {

constexpr char kSummary[] = "sorts, merges and moves arrays in files on a corank server";
constexpr char kUsage[] = "corank [global options] COMMAND [arguments] [options]";

/// A name and what it means, for both help and manual page.
struct Term {
  const char* name;
  const char* text;
};

constexpr Term kFormats[] = {
    {".npy", "NumPy array, one-dimensional"},
    {".txt", "text, one number per line"},
    {".csv, .tsv", "table; only sort takes it: corank sort FILE --column NAME"},
    {".bin, .raw", "raw little-endian elements; --type names their type"},
    {"-", "standard input or output"},
};

constexpr Term kExitCodes[] = {{"0", "success"},
                               {"1", "the server refused the request, or it failed"},
                               {"2", "wrong usage"},
                               {"3", "a file cannot be read, used or written"},
                               {"4", "no server answers"}};

constexpr Term kEnvironment[] = {
    {"CORANK_SERVER", "the address of the server, as with --server"},
    {"CORANK_TOKEN", "the token that authenticates you; without TLS, corank sends it to this host only"},
    {"CORANK_SERVER_CA", "PEM file of the authorities that corank trusts; switches TLS on, as --tls-ca does"},
    {"CORANK_CLIENT_CERTIFICATE", "this client's certificate, as with --tls-certificate"},
    {"CORANK_CLIENT_KEY", "the key of that certificate, as with --tls-key"},
    {"TRACEPARENT", "the W3C trace context that corank passes on to the server's log"},
};

std::string Flag(const OptionSpec& option) {
  std::string flag = option.short_name != 0 ? absl::StrCat("-", std::string(1, option.short_name), ", ") : "    ";
  absl::StrAppend(&flag, "--", option.name);
  if (option.value_name != nullptr) absl::StrAppend(&flag, " ", option.value_name);
  return flag;
}

void AppendOptions(const CommandSpec& spec, bool common, size_t width, std::string* help) {
  for (const OptionSpec& option : spec.options) {
    if (option.common != common) continue;
    const std::string flag = Flag(option);
    const std::vector<std::string> lines = absl::StrSplit(option.help, '\n');
    absl::StrAppend(help, "  ", flag, std::string(width - flag.size() + 2, ' '), lines[0], "\n");
    for (size_t i = 1; i < lines.size(); ++i) {
      absl::StrAppend(help, std::string(width + 4, ' '), lines[i], "\n");
    }
  }
}

/// Text for troff: backslashes and hyphens escaped, and no line that begins with a control character.
std::string Troff(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  escaped = absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  return absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'") ? absl::StrCat("\\&", escaped) : escaped;
}

/// Details keep their paragraphs.
std::string TroffParagraphs(absl::string_view text) {
  std::vector<std::string> paragraphs;
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n")) paragraphs.push_back(Troff(paragraph));
  return absl::StrJoin(paragraphs, "\n.PP\n");
}

void AppendTroffOption(const OptionSpec& option, std::string* page) {
  absl::StrAppend(page, ".TP\n\\fB");
  if (option.short_name != 0) absl::StrAppend(page, "\\-", std::string(1, option.short_name), "\\fR, \\fB");
  absl::StrAppend(page, Troff(absl::StrCat("--", option.name)), "\\fR");
  if (option.value_name != nullptr) absl::StrAppend(page, " \\fI", Troff(option.value_name), "\\fR");
  absl::StrAppend(page, "\n", Troff(option.help), "\n");
}

template <typename Entries>
void AppendTroffEntries(const Entries& entries, std::string* page) {
  for (const Term& entry : entries) {
    absl::StrAppend(page, ".TP\n\\fB", Troff(entry.name), "\\fR\n", Troff(entry.text), "\n");
  }
}

}  // namespace

std::string GeneralHelp(const std::vector<Command>& commands) {
  std::string help = absl::StrCat("corank ", kSummary, ".\n\nUsage: ", kUsage, "\n\nCommands:\n");
  for (const Command& command : commands) {
    absl::StrAppendFormat(&help, "  %-15s %s\n", command.spec.name, command.spec.summary);
  }
  absl::StrAppend(&help, "\nFiles, by the end of their names or by --format:\n");
  for (const Term& format : kFormats) absl::StrAppendFormat(&help, "  %-15s %s\n", format.name, format.text);
  absl::StrAppend(&help,
                  "\nServer: --server HOST:PORT, else $CORANK_SERVER, else 127.0.0.1:50051.\n"
                  "Exit codes: 0 success, 1 request failed, 2 usage, 3 file error, 4 no server.\n"
                  "Options and examples: corank COMMAND --help. TLS and tokens: corank info --help.\n");
  return help;
}

std::string CommandHelp(const CommandSpec& spec) {
  std::string help = absl::StrCat("corank ", spec.name, ": ", spec.summary, "\n\nUsage: corank ", spec.name,
                                  spec.arguments[0] == 0 ? "" : " ", spec.arguments, " [options]\n");
  if (spec.details[0] != 0) absl::StrAppend(&help, "\n", spec.details, "\n");
  size_t width = 0;
  bool has_own = false;
  for (const OptionSpec& option : spec.options) {
    width = std::max(width, Flag(option).size());
    has_own = has_own || !option.common;
  }
  if (has_own) absl::StrAppend(&help, "\nOptions:\n");
  AppendOptions(spec, false, width, &help);
  absl::StrAppend(&help, has_own ? "\nCommon options:\n" : "\nOptions:\n");
  AppendOptions(spec, true, width, &help);
  absl::StrAppend(&help, "\nExamples:\n");
  for (const absl::string_view line : absl::StrSplit(spec.examples, '\n')) absl::StrAppend(&help, "  ", line, "\n");
  return help;
}

std::string ManPage(const std::vector<Command>& commands, const std::string& version) {
  std::string page = absl::StrCat(
      ".TH CORANK 1 \"\" \"corank ", Troff(version), "\" \"User Commands\"\n.SH NAME\ncorank \\- ", kSummary,
      "\n.SH SYNOPSIS\n.B corank\n[global options] \\fICOMMAND\\fR [arguments] ", "[options]\n.SH DESCRIPTION\n");
  absl::StrAppend(&page,
                  "Each command reads its input from files, lets a corank server do the work, and writes the result to "
                  "a file.\nGlobal options may stand before or after the command.\nAn output file appears once it is "
                  "complete; a failure leaves no output.\n.SH FILES\n",
                  "The end of a name decides the format of a file. For other names and for standard input, the content "
                  "decides;\nthe option \\-\\-format overrides both.\n");
  AppendTroffEntries(kFormats, &page);
  absl::StrAppend(&page, ".SH GLOBAL OPTIONS\n");
  for (const OptionSpec& option : GlobalOptions()) AppendTroffOption(option, &page);
  absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const Command& command : commands) {
    const CommandSpec& spec = command.spec;
    absl::StrAppend(&page, ".SS corank ", Troff(spec.name), spec.arguments[0] == 0 ? "" : " ", Troff(spec.arguments),
                    "\n", Troff(spec.summary), ".\n");
    if (spec.details[0] != 0) absl::StrAppend(&page, ".PP\n", TroffParagraphs(spec.details), "\n");
    const std::vector<OptionSpec> globals = GlobalOptions();
    for (const OptionSpec& option : spec.options) {
      const bool is_global = std::any_of(globals.begin(), globals.end(), [&](const OptionSpec& global) {
        return std::string(global.name) == option.name && option.common;
      });
      if (!is_global) AppendTroffOption(option, &page);
    }
    absl::StrAppend(&page, ".PP\nExamples:\n.PP\n.nf\n");
    for (const absl::string_view line : absl::StrSplit(spec.examples, '\n')) {
      absl::StrAppend(&page, "    ", Troff(line), "\n");
    }
    absl::StrAppend(&page, ".fi\n");
  }
  absl::StrAppend(&page, ".SH EXIT STATUS\n");
  AppendTroffEntries(kExitCodes, &page);
  absl::StrAppend(&page, ".PP\nIf the reader of its output has gone, corank ends by SIGPIPE, without a message.\n",
                  ".SH ENVIRONMENT\nAn option overrides its variable. corankd reads none of these.\n");
  AppendTroffEntries(kEnvironment, &page);
  absl::StrAppend(
      &page, ".SH ERRORS AS JSON\nWith \\-\\-json, an error is one line on standard error:\n.PP\n.nf\n    ",
      Troff("{\"error\": {\"code\": ..., \"message\": ..., \"reason\": ..., \"field\": ..., \"retry_after_seconds\": "
            "...}}"),
      "\n.fi\n.PP\nThe code is USAGE, FILE, or the server's status code. The reason, the field and the time to ",
      "wait are null where the server names none.\n");
  return page;
}

}  // namespace corank::cli
