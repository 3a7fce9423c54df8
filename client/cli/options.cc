#include "client/cli/options.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/failure.h"

namespace corank::cli {
namespace {

/// Least number of inserted, removed and changed characters between two words (Levenshtein), two rows at a time.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
    }
    std::swap(previous, current);
  }
  return previous[b.size()];
}

const OptionSpec* Find(const CommandSpec& spec, absl::string_view name) {
  for (const OptionSpec& option : spec.options) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

const OptionSpec* FindShort(const CommandSpec& spec, char name) {
  for (const OptionSpec& option : spec.options) {
    if (name == option.short_name) return &option;
  }
  return nullptr;
}

absl::Status Unknown(const CommandSpec& spec, absl::string_view word, absl::string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& option : spec.options) known.push_back(option.name);
  const std::string nearest = Nearest(name, known);
  return UsageError(absl::StrCat("unknown option ", word,
                                 nearest.empty() ? absl::StrCat("; see corank ", spec.name, " --help")
                                                 : absl::StrCat("; did you mean --", nearest, "?")));
}

std::string Flag(const OptionSpec& option) {
  std::string flag = option.short_name != 0 ? absl::StrCat("-", std::string(1, option.short_name), ", ") : "    ";
  absl::StrAppend(&flag, "--", option.name);
  if (option.value_name != nullptr) absl::StrAppend(&flag, " ", option.value_name);
  return flag;
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(const CommandSpec& spec, absl::Span<const std::string> words) {
  Arguments arguments;
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    if (options_end || word == "-" || !absl::StartsWith(word, "-")) {
      arguments.positional_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_end = true;
      continue;
    }
    const OptionSpec* option;
    std::optional<std::string> value;
    if (absl::StartsWith(word, "--")) {
      const std::vector<std::string> parts = absl::StrSplit(word.substr(2), absl::MaxSplits('=', 1));
      option = Find(spec, parts[0]);
      if (option == nullptr) return Unknown(spec, absl::StrCat("--", parts[0]), parts[0]);
      if (parts.size() == 2) value = parts[1];
    } else {
      option = FindShort(spec, word[1]);
      if (option == nullptr) return Unknown(spec, word, word.substr(1));
      if (word.size() > 2) value = std::string(word.substr(2));
    }
    if (option->value_name == nullptr) {
      if (value.has_value()) return UsageError(absl::StrCat("--", option->name, " takes no value"));
      value = "";
    } else if (!value.has_value()) {
      if (i + 1 == words.size() || absl::StartsWith(words[i + 1], "--")) {
        return UsageError(
            absl::StrCat("--", option->name, " needs a value: --", option->name, " ", option->value_name));
      }
      value = words[++i];
    }
    std::vector<std::string>& values = arguments.values_[option->name];
    if (!values.empty() && !option->repeated && option->value_name != nullptr) {
      return UsageError(absl::StrCat("--", option->name, " is given twice"));
    }
    values.push_back(*std::move(value));
  }
  if (arguments.Has("help")) return arguments;
  const int count = static_cast<int>(arguments.positional_.size());
  if (count < spec.min_arguments) {
    return UsageError(absl::StrCat(count == 0 ? "missing arguments" : "too few arguments", "; usage: corank ",
                                   spec.name, " ", spec.arguments, " [options]"));
  }
  if (spec.max_arguments >= 0 && count > spec.max_arguments) {
    return UsageError(absl::StrCat("unexpected argument '", arguments.positional_[spec.max_arguments],
                                   "'; usage: corank ", spec.name, " ", spec.arguments, " [options]"));
  }
  return arguments;
}

bool Arguments::Has(absl::string_view option) const { return values_.find(option) != values_.end(); }

std::optional<std::string> Arguments::Get(absl::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::string Arguments::GetOr(absl::string_view option, absl::string_view otherwise) const {
  return Get(option).value_or(std::string(otherwise));
}

std::vector<std::string> Arguments::GetAll(absl::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

absl::StatusOr<std::optional<int64_t>> Arguments::GetCount(absl::string_view option, int64_t least) const {
  const std::optional<std::string> text = Get(option);
  if (!text.has_value()) return std::optional<int64_t>();
  int64_t count;
  if (!absl::SimpleAtoi(*text, &count) || count < least) {
    return UsageError(absl::StrCat("--", option, " must be a whole number of ", least, " or more, not '", *text, "'"));
  }
  return std::optional<int64_t>(count);
}

absl::StatusOr<std::optional<absl::Duration>> Arguments::GetDuration(absl::string_view option) const {
  const std::optional<std::string> text = Get(option);
  if (!text.has_value()) return std::optional<absl::Duration>();
  absl::Duration duration;
  double seconds;
  if (absl::SimpleAtod(*text, &seconds)) {
    duration = seconds > 0 ? absl::Seconds(seconds) : absl::ZeroDuration();  // nan is not greater than 0
  } else if (!absl::ParseDuration(*text, &duration)) {
    duration = absl::ZeroDuration();
  }
  if (duration <= absl::ZeroDuration()) {
    return UsageError(
        absl::StrCat("--", option, " must be a positive time such as 30s, 1m30s or 500ms, not '", *text, "'"));
  }
  return std::optional<absl::Duration>(duration);
}

std::string Nearest(absl::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  int least = std::max<int>(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : known) {
    const bool is_prefix = word.size() >= 3 && absl::StartsWith(candidate, word);
    const int distance = is_prefix ? 1 : EditDistance(word, candidate);
    if (distance < least && distance < static_cast<int>(candidate.size())) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string CommandHelp(const CommandSpec& spec) {
  std::string help = absl::StrCat("corank ", spec.name, ": ", spec.summary, "\n\nUsage: corank ", spec.name,
                                  spec.arguments[0] == 0 ? "" : " ", spec.arguments, " [options]\n");
  if (spec.details[0] != 0) absl::StrAppend(&help, "\n", spec.details, "\n");
  size_t width = 0;
  for (const OptionSpec& option : spec.options) width = std::max(width, Flag(option).size());
  absl::StrAppend(&help, "\nOptions:\n");
  for (const OptionSpec& option : spec.options) {
    const std::string flag = Flag(option);
    const std::vector<std::string> lines = absl::StrSplit(option.help, '\n');
    absl::StrAppend(&help, "  ", flag, std::string(width - flag.size() + 2, ' '), lines[0], "\n");
    for (size_t i = 1; i < lines.size(); ++i) {
      absl::StrAppend(&help, std::string(width + 4, ' '), lines[i], "\n");
    }
  }
  absl::StrAppend(&help, "\nExamples:\n");
  for (const absl::string_view line : absl::StrSplit(spec.examples, '\n')) absl::StrAppend(&help, "  ", line, "\n");
  return help;
}

}  // namespace corank::cli
