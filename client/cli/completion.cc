#include "client/cli/completion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace corank::cli {
namespace {

std::string FirstLine(absl::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string CommandNames(const std::vector<Command>& commands) {
  return absl::StrJoin(commands, " ",
                       [](std::string* to, const Command& command) { absl::StrAppend(to, command.spec.name); });
}

/// "--output -o --type -t", of one command.
std::string Flags(const std::vector<OptionSpec>& options) {
  std::vector<std::string> flags;
  for (const OptionSpec& option : options) {
    flags.push_back(absl::StrCat("--", option.name));
    if (option.short_name != 0) flags.push_back(absl::StrCat("-", std::string(1, option.short_name)));
  }
  return absl::StrJoin(flags, " ");
}

/// The patterns of a shell's `case` for an option: "--output|-o".
std::string Pattern(const OptionSpec& option) {
  return option.short_name == 0 ? absl::StrCat("--", option.name)
                                : absl::StrCat("--", option.name, "|-", std::string(1, option.short_name));
}

/// Lines of a `case` in bash that complete the values of options.
std::string BashValues(const std::vector<OptionSpec>& options, absl::string_view indent) {
  std::string lines;
  for (const OptionSpec& option : options) {
    if (option.value_name == nullptr) continue;
    const std::string words = option.choices != nullptr                      ? absl::StrCat("-W '", option.choices, "'")
                              : absl::StrContains(option.value_name, "FILE") ? "-f"
                                                                             : "-W ''";
    absl::StrAppend(&lines, indent, Pattern(option), ") mapfile -t COMPREPLY < <(compgen ", words,
                    " -- \"$word\"); return ;;\n");
  }
  return lines;
}

/// The text in single quotes of zsh and fish. In zsh's _arguments, brackets and colons have a meaning.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}
std::string ZshText(absl::string_view text) {
  return absl::StrReplaceAll(FirstLine(text), {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

/// One argument of zsh's _arguments for each spelling of the option.
void AppendZshOption(const OptionSpec& option, std::string* script) {
  std::vector<std::string> spellings = {absl::StrCat("--", option.name)};
  if (option.short_name != 0) spellings.push_back(absl::StrCat("-", std::string(1, option.short_name)));
  for (const std::string& spelling : spellings) {
    std::string spec = absl::StrCat(option.repeated ? "*" : "", spelling, "[", ZshText(option.help), "]");
    if (option.value_name != nullptr) {
      absl::StrAppend(&spec, ":", option.value_name, ":",
                      option.choices != nullptr                      ? absl::StrCat("(", option.choices, ")")
                      : absl::StrContains(option.value_name, "FILE") ? "_files"
                                                                     : " ");
    }
    absl::StrAppend(script, " \\\n        ", Quoted(spec));
  }
}

void AppendFishOption(const OptionSpec& option, absl::string_view condition, std::string* script) {
  absl::StrAppend(script, "complete -c corank -n ", Quoted(condition), " -l ", option.name);
  if (option.short_name != 0) absl::StrAppend(script, " -s ", std::string(1, option.short_name));
  if (option.choices != nullptr) {
    absl::StrAppend(script, " -x -a ", Quoted(option.choices));
  } else if (option.value_name != nullptr) {
    absl::StrAppend(script, absl::StrContains(option.value_name, "FILE") ? " -r -F" : " -x");
  }
  absl::StrAppend(script, " -d ", Quoted(FirstLine(option.help)), "\n");
}

/// The words that may stand first behind the command, if there are few.
std::string ArgumentChoices(const CommandSpec& spec, const std::vector<Command>& commands) {
  const absl::string_view name = spec.name;
  if (name == "completion") return "bash zsh fish";
  if (name == "help") return CommandNames(commands);
  if (name == "arrays") return "list store fetch delete";
  return name == "regions" ? "list" : "";
}

/// Globals that take a value, as a pattern: the word after one of them is not the command.
std::string GlobalsWithValue() {
  std::vector<std::string> patterns;
  for (const OptionSpec& option : GlobalOptions()) {
    if (option.value_name != nullptr) patterns.push_back(Pattern(option));
  }
  return absl::StrJoin(patterns, "|");
}

}  // namespace

std::string BashCompletion(const std::vector<Command>& commands) {
  std::string script = absl::StrCat(
      "# bash completion for corank. Load it with: source <(corank completion bash)\n"
      "_corank() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      ",
      GlobalsWithValue(),
      ") ((++i)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  local flags=''\n"
      "  case $command in\n");
  absl::StrAppend(&script, "    '')\n      case $previous in\n", BashValues(GlobalOptions(), "        "),
                  "      esac\n      if [[ $word != -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W '",
                  CommandNames(commands), "' -- \"$word\")\n        return\n      fi\n      flags='",
                  Flags(GlobalOptions()), "' ;;\n");
  for (const Command& command : commands) {
    absl::StrAppend(&script, "    ", command.spec.name, ")\n      case $previous in\n",
                    BashValues(command.spec.options, "        "), "      esac\n      flags='",
                    Flags(command.spec.options), "'");
    if (const std::string choices = ArgumentChoices(command.spec, commands); !choices.empty()) {
      absl::StrAppend(&script, "\n      if [[ $previous == ", command.spec.name,
                      " && $word != -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W '", choices,
                      "' -- \"$word\")\n        return\n      fi");
    }
    absl::StrAppend(&script, " ;;\n");
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "  if [[ $word == -* ]]; then\n"
                  "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
                  "  else\n"
                  "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                  "  fi\n"
                  "}\n"
                  "complete -o filenames -o bashdefault -F _corank corank\n");
  return script;
}

std::string ZshCompletion(const std::vector<Command>& commands) {
  std::string script =
      "#compdef corank\n"
      "# zsh completion for corank. Save it as _corank in a folder of $fpath, or load it with:\n"
      "#   source <(corank completion zsh)\n"
      "_corank() {\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n"
      "  local -a commands\n"
      "  commands=(";
  for (const Command& command : commands) {
    absl::StrAppend(&script, "\n    ", Quoted(absl::StrCat(command.spec.name, ":", ZshText(command.spec.summary))));
  }
  absl::StrAppend(&script, "\n  )\n  _arguments -C");
  for (const OptionSpec& option : GlobalOptions()) AppendZshOption(option, &script);
  absl::StrAppend(&script,
                  " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n"
                  "  if [[ $state == command ]]; then\n"
                  "    _describe command commands\n"
                  "    return\n"
                  "  fi\n"
                  "  case $line[1] in\n");
  for (const Command& command : commands) {
    absl::StrAppend(&script, "    ", command.spec.name, ")\n      _arguments -s");
    for (const OptionSpec& option : command.spec.options) AppendZshOption(option, &script);
    const std::string choices = ArgumentChoices(command.spec, commands);
    if (!choices.empty()) absl::StrAppend(&script, " \\\n        ", Quoted(absl::StrCat("1:argument:(", choices, ")")));
    absl::StrAppend(&script, " \\\n        '*:file:_files' ;;\n");
  }
  absl::StrAppend(&script,
                  "  esac\n"
                  "}\n"
                  "if [[ $funcstack[1] == _corank ]]; then\n"
                  "  _corank \"$@\"\n"
                  "else\n"
                  "  compdef _corank corank\n"
                  "fi\n");
  return script;
}

std::string FishCompletion(const std::vector<Command>& commands) {
  std::string script =
      "# fish completion for corank. Load it with: corank completion fish | source\n"
      "complete -c corank -e\n";
  constexpr char kNoCommand[] = "__fish_use_subcommand";
  for (const Command& command : commands) {
    absl::StrAppend(&script, "complete -c corank -f -n ", kNoCommand, " -a ", command.spec.name, " -d ",
                    Quoted(command.spec.summary), "\n");
  }
  for (const OptionSpec& option : GlobalOptions()) AppendFishOption(option, kNoCommand, &script);
  for (const Command& command : commands) {
    const std::string seen = absl::StrCat("__fish_seen_subcommand_from ", command.spec.name);
    for (const OptionSpec& option : command.spec.options) AppendFishOption(option, seen, &script);
    if (const std::string choices = ArgumentChoices(command.spec, commands); !choices.empty()) {
      absl::StrAppend(&script, "complete -c corank -f -n ", Quoted(seen), " -a ", Quoted(choices), "\n");
    }
  }
  return script;
}

}  // namespace corank::cli
