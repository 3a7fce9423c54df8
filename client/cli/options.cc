#include "client/cli/options.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/failure.h"
#include "spelling/nearest.h"

namespace corank::cli {
namespace {

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

/// The option that sort(1) has for a letter, which its users type from habit; empty if the command has none like it.
absl::string_view MeantBySort(const CommandSpec& spec, char letter) {
  const absl::string_view name = letter == 'r' ? "descending" : letter == 'k' ? "column" : "";
  return Find(spec, name) == nullptr ? "" : name;
}

/// Whether the word names an option of the command, so that it cannot be the value of another one.
bool IsOption(const CommandSpec& spec, absl::string_view word) {
  return absl::StartsWith(word, "--") || (word.size() > 1 && word[0] == '-' && FindShort(spec, word[1]) != nullptr);
}

absl::Status Unknown(const CommandSpec& spec, absl::string_view word, absl::string_view name) {
  const bool is_global = spec.name[0] == 0;
  std::vector<std::string> known;
  for (const OptionSpec& option : spec.options) known.push_back(option.name);
  if (const std::string hint = DidYouMean(name, known, "--"); !hint.empty()) {
    return UsageError(absl::StrCat("unknown option ", word, hint));
  }
  if (is_global) {
    return UsageError(absl::StrCat("unknown option ", word, " before the command; options of a command follow its ",
                                   "name: corank COMMAND ", word.substr(0, word.find(' ')), "; see corank --help"));
  }
  return UsageError(absl::StrCat("unknown option ", word, "; see corank ", spec.name, " --help"));
}

}  // namespace

absl::Status Arguments::Add(const OptionSpec& option, std::string value) {
  std::vector<std::string>& values = values_[option.name];
  if (!values.empty() && !option.repeated && option.value_name != nullptr) {
    return UsageError(absl::StrCat("--", option.name, " is given twice"));
  }
  values.push_back(std::move(value));
  return absl::OkStatus();
}

absl::Status Arguments::TakeOption(const CommandSpec& spec, absl::Span<const std::string> words, size_t* i) {
  const absl::string_view word = words[*i];
  const auto take_next = [&](const OptionSpec& option) -> absl::Status {
    if (*i + 1 == words.size() || IsOption(spec, words[*i + 1])) {
      return UsageError(absl::StrCat("--", option.name, " needs a value: --", option.name, " ", option.value_name));
    }
    return Add(option, words[++*i]);
  };
  if (absl::StartsWith(word, "--")) {
    const std::vector<std::string> parts = absl::StrSplit(word.substr(2), absl::MaxSplits('=', 1));
    const OptionSpec* const option = Find(spec, parts[0]);
    if (option == nullptr) return Unknown(spec, absl::StrCat("--", parts[0]), parts[0]);
    if (option->value_name == nullptr) {
      if (parts.size() == 2) return UsageError(absl::StrCat("--", option->name, " takes no value"));
      return Add(*option, "");
    }
    return parts.size() == 2 ? Add(*option, parts[1]) : take_next(*option);
  }
  // -output means --output, not -o with the value utput.
  if (word.size() > 2 && Find(spec, word.substr(1)) != nullptr) return Unknown(spec, word, word.substr(1));
  for (size_t letter = 1; letter < word.size(); ++letter) {
    const OptionSpec* const option = FindShort(spec, word[letter]);
    if (option == nullptr) {
      return Unknown(spec, word.size() > 2 ? absl::StrCat("-", word.substr(letter, 1), " in ", word) : word,
                     MeantBySort(spec, word[letter]));
    }
    if (option->value_name == nullptr) {
      if (const absl::Status added = Add(*option, ""); !added.ok()) return added;
      continue;
    }
    const absl::string_view rest = word.substr(letter + 1);
    return rest.empty() ? take_next(*option) : Add(*option, std::string(rest));
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandLine> Arguments::Split(const CommandSpec& globals, absl::Span<const std::string> words) {
  CommandLine line;
  size_t i = 0;
  for (; i < words.size() && words[i].size() > 1 && words[i][0] == '-'; ++i) {
    if (const absl::Status taken = line.globals.TakeOption(globals, words, &i); !taken.ok()) return taken;
  }
  line.global_words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
  if (i == words.size()) return line;
  line.command = words[i];
  line.command_words.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return line;
}

absl::StatusOr<Arguments> Arguments::Parse(const CommandSpec& spec, absl::Span<const std::string> words) {
  Arguments arguments;
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    if (options_end || word == "-" || !absl::StartsWith(word, "-")) {
      arguments.positional_.emplace_back(word);
    } else if (word == "--") {
      options_end = true;
    } else if (const absl::Status taken = arguments.TakeOption(spec, words, &i); !taken.ok()) {
      return taken;
    }
  }
  if (arguments.Has("help") || arguments.Has("version")) return arguments;
  const int count = static_cast<int>(arguments.positional_.size());
  if (count < spec.min_arguments) {
    return UsageError(absl::StrCat(count == 0 ? "missing arguments" : "too few arguments", "; usage: corank ",
                                   spec.name, " ", spec.arguments, " [options]"));
  }
  if (spec.max_arguments >= 0 && count > spec.max_arguments) {
    return UsageError(absl::StrCat("unexpected argument '", arguments.positional_[spec.max_arguments],
                                   "'; usage: corank ", spec.name, spec.arguments[0] == 0 ? "" : " ", spec.arguments,
                                   " [options]"));
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

}  // namespace corank::cli
