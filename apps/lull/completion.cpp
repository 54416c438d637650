// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/completion.hpp>

#include <vector>

#include <lull/apps/lull/command_walk.hpp>

namespace lull {
namespace {

/// As a shell takes it; fish reads '\'' as the others do.
std::string in_quotes(std::string_view text) {
  std::string made = "'";
  for (char const c : text) made += c == '\'' ? "'\\''" : std::string{c};
  return made + "'";
}

/// An entry of zsh's _describe: a name, a colon, and what it is.
std::string described(std::string const& name, std::string const& help) { return " " + in_quotes(name + ":" + help); }

/// Finds which command stands on the line; `word` is the shell's expression for one of its words.
std::string command_case(std::vector<named_command> const& commands, std::string const& word) {
  std::string patterns;
  for (named_command const& each : commands) {
    if (each.words.empty()) continue;
    std::string const pattern = each.words.find(' ') == std::string::npos ? " " + each.words : each.words;
    patterns += (patterns.empty() ? "" : " | ") + in_quotes(pattern);
  }
  return "    case \"$command " + word + "\" in\n      " + patterns + ") command=\"${command:+$command }" + word +
         "\" ;;\n    esac\n";
}

std::string bash(std::vector<named_command> const& commands) {
  std::string text =
      "# Completion of lull for bash.\n_lull() {\n  local command= i commands= options= words\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n" +
      command_case(commands, "${COMP_WORDS[i]}") + "  done\n  case $command in\n";
  for (named_command const& each : commands) {
    std::string names;
    for (CLI::App const* own : each.command->get_subcommands({})) names += own->get_name() + " ";
    std::string options;
    for (std::string const& name : option_names(*each.command)) options += name + " ";
    text +=
        "    " + in_quotes(each.words) + ") commands=" + in_quotes(names) + " options=" + in_quotes(options) + " ;;\n";
  }
  return text +
         "  esac\n  words=$commands\n  [[ ${COMP_WORDS[COMP_CWORD]} == -* ]] && words=$options\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
         "complete -o default -F _lull lull\n";
}

std::string zsh(std::vector<named_command> const& commands) {
  std::string text =
      "#compdef lull\n# Completion of lull for zsh.\n_lull() {\n  local command= word\n  local -a commands options\n"
      "  for word in ${words[2,CURRENT-1]}; do\n" +
      command_case(commands, "$word") + "  done\n  case $command in\n";
  for (named_command const& each : commands) {
    text += "    " + in_quotes(each.words) + ")\n      commands=(";
    for (CLI::App const* own : each.command->get_subcommands({}))
      text += described(own->get_name(), own->get_description());
    text += ")\n      options=(";
    for (CLI::Option const* option : shown_options(*each.command)) {
      for (std::string const& name : option->get_lnames()) text += described("--" + name, option->get_description());
    }
    text += ")\n      ;;\n";
  }
  return text +
         "  esac\n  if [[ ${words[CURRENT]} == -* ]]; then\n    _describe -o option options\n"
         "  elif (( $#commands )); then\n    _describe command commands\n  else\n    _files\n  fi\n}\n"
         "if [[ $funcstack[1] == _lull ]]; then _lull \"$@\"; else compdef _lull lull; fi\n";
}

std::string fish(std::vector<named_command> const& commands) {
  std::string text = "# Completion of lull for fish.\n";
  for (named_command const& each : commands) {
    std::string const last = each.words.substr(each.words.rfind(' ') + 1);
    std::string when = last.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + last;
    for (CLI::App const* own : each.command->get_subcommands({})) {
      text += "complete -c lull -n " + in_quotes(when) + " -f -a " + own->get_name() + " -d " +
              in_quotes(own->get_description()) + "\n";
    }
    for (CLI::Option const* option : shown_options(*each.command)) {
      for (std::string const& name : option->get_lnames()) {
        text += "complete -c lull -n " + in_quotes(when) + " -l " + name + (takes_value(*option) ? " -r" : "") +
                " -d " + in_quotes(option->get_description()) + "\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string completion_script(CLI::App const& program, std::string_view shell) {
  std::vector<named_command> const commands = commands_of(program);
  if (shell == "bash") return bash(commands);
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace lull
