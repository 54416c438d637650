// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/completion.hpp>

#include <algorithm>
#include <map>
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

/// A bar between two words, as in "cuda|threads", becomes a blank.
std::string words_of(std::string type) {
  std::ranges::replace(type, '|', ' ');
  return type;
}
bool is_choice(std::string const& type) { return type.find('|') != std::string::npos; }

/// What may stand for a command's argument, if that is one of a few words.
std::string arguments_of(CLI::App const& command) {
  std::string words;
  for (CLI::Option const* option : shown_options(command)) {
    if (option->get_positional() && is_choice(value_type(*option))) words += words_of(value_type(*option)) + " ";
  }
  return words;
}

/// How a shell completes values of the types that have an entry of their own, and a choice.
struct value_completions {
  std::map<std::string, std::string> by_type;
  std::string choice;  // before its words, and behind them
  std::string after_choice;
  std::string none;
};

/// The branches of a case over "COMMAND OPTION".
std::string value_cases(std::vector<named_command> const& commands, value_completions const& how) {
  std::map<std::string, std::string> patterns;  // by the type of the value
  for (named_command const& each : commands) {
    for (CLI::Option const* option : shown_options(*each.command)) {
      if (!takes_value(*option)) continue;
      for (std::string const& name : option->get_lnames()) {
        std::string& of_type = patterns[value_type(*option)];
        of_type += (of_type.empty() ? "" : " | ") + in_quotes(each.words + " --" + name);
      }
    }
  }
  std::string text;
  for (auto const& [type, options] : patterns) {
    auto const own = how.by_type.find(type);
    std::string const choice = how.choice + words_of(type) + how.after_choice;
    text += "    " + options + ") " +
            (own != how.by_type.end() ? own->second
             : is_choice(type)        ? choice
                                      : how.none) +
            " ;;\n";
  }
  return text;
}

// Bash takes the characters of COMP_WORDBREAKS as ends of words, so the line is split again up to the cursor, and what
// bash has before its own last word is taken off each completion. Bash inserts a completion as it is, so one with a
// character that means something to bash is left out: what stands in a file's name would be run.
std::string bash(std::vector<named_command> const& commands) {
  std::string text =
      "# Completion of lull for bash.\n_lull() {\n  local command= i words= options=\n"
      "  local option value last line breaks program\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n" +
      command_case(commands, "${COMP_WORDS[i]}") + "  done\n  case $command in\n";
  for (named_command const& each : commands) {
    std::string words;
    for (CLI::App const* own : each.command->get_subcommands({})) words += own->get_name() + " ";
    words += arguments_of(*each.command);
    std::string options;
    for (std::string const& name : option_names(*each.command)) options += name + " ";
    text += "    " + in_quotes(each.words) + ") words=" + in_quotes(words) + " options=" + in_quotes(options) + " ;;\n";
  }
  text +=
      "  esac\n  read -ra line <<< \"${COMP_LINE:0:COMP_POINT}\"\n"
      "  [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && line+=('')\n"
      "  value=${line[-1]} option=${line[-2]}\n"
      "  [[ $value == --*=* ]] && option=${value%%=*} value=${value#*=}\n"
      "  breaks=${COMP_WORDBREAKS//[^:=@]} last=$value\n"
      "  [[ $breaks ]] && last=${value##*[$breaks]}\n"
      "  program=${COMP_WORDS[0]/#\\~\\//\"$HOME\"/}\n  COMPREPLY=()\n  case \"$command $option\" in\n";
  text += value_cases(commands,
                      {.by_type = {{"TASK",
                                    "compopt -o nospace 2>/dev/null\n      "
                                    "mapfile -t COMPREPLY < <(\"$program\" tasks --complete \"$value\" 2>/dev/null)"},
                                   {"FILE", "compopt -o default 2>/dev/null"},
                                   {"FOLDER", "compopt -o dirnames 2>/dev/null"}},
                       .choice = "COMPREPLY=($(compgen -W '",
                       .after_choice = "' -- \"$value\"))",
                       .none = ""});
  return text +
         "    *)\n      [[ $value == -* ]] && words=$options\n      COMPREPLY=($(compgen -W \"$words\" -- \"$value\")) "
         ";;\n  esac\n  for i in \"${!COMPREPLY[@]}\"; do\n"
         "    [[ ${COMPREPLY[i]} == *[![:alnum:]_./:,=+%@-]* ]] && unset \"COMPREPLY[i]\"\n  done\n"
         "  COMPREPLY=(\"${COMPREPLY[@]#\"${value%\"$last\"}\"}\")\n}\ncomplete -F _lull lull\n";
}

std::string zsh(std::vector<named_command> const& commands) {
  std::string text =
      "#compdef lull\n# Completion of lull for zsh.\n_lull() {\n  local command= word option=$words[CURRENT-1]\n"
      "  local -a commands options arguments\n  for word in ${words[2,CURRENT-1]}; do\n" +
      command_case(commands, "$word") + "  done\n  case $command in\n";
  for (named_command const& each : commands) {
    text +=
        "    " + in_quotes(each.words) + ")\n      arguments=(" + arguments_of(*each.command) + ")\n      commands=(";
    for (CLI::App const* own : each.command->get_subcommands({}))
      text += described(own->get_name(), own->get_description());
    text += ")\n      options=(";
    for (CLI::Option const* option : shown_options(*each.command)) {
      for (std::string const& name : option->get_lnames()) text += described("--" + name, option->get_description());
    }
    text += ")\n      ;;\n";
  }
  text +=
      "  esac\n  if [[ $PREFIX == --*=* ]]; then\n    option=${PREFIX%%=*}\n    compset -P 1 '*='\n  fi\n"
      "  case \"$command $option\" in\n";
  text += value_cases(
      commands,
      {.by_type =
           {{"TASK",
             "compadd -S '' -- ${(f)\"$(${${(Q)words[1]}/#\\~\\//$HOME/} tasks --complete \"$PREFIX\" 2>/dev/null)\"}"},
            {"FILE", "_files"},
            {"FOLDER", "_files -/"}},
       .choice = "compadd -- ",
       .after_choice = "",
       .none = "return 1"});
  return text +
         "    *)\n      if [[ ${words[CURRENT]} == -* ]]; then\n        _describe -o option options\n"
         "      elif (( $#commands )); then\n        _describe command commands\n"
         "      else\n        compadd -a arguments\n      fi ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _lull ]]; then _lull \"$@\"; else compdef _lull lull; fi\n";
}

/// How fish completes an option's value, as arguments of its `complete`.
std::string fish_value(CLI::Option const& option) {
  std::string const type = value_type(option);
  if (!takes_value(option)) return "";
  if (type == "FILE") return " -r -F";
  if (type == "FOLDER") return " -x -a '(__fish_complete_directories)'";
  if (type == "TASK")
    return " -x -a '(set -l typed (commandline -opc); "
           "set -l program (string replace -r \"^~/\" \"$HOME/\" -- $typed[1]); "
           "$program tasks --complete (string replace -r \"^--task=\" \"\" -- (commandline -ct)) 2>/dev/null)'";
  return is_choice(type) ? " -x -a " + in_quotes(words_of(type)) : " -x";
}

std::string fish(std::vector<named_command> const& commands) {
  std::string text = "# Completion of lull for fish.\ncomplete -c lull -f\n";
  for (named_command const& each : commands) {
    std::string const last = each.words.substr(each.words.rfind(' ') + 1);
    std::string when = last.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + last;
    std::string const begin = "complete -c lull -n " + in_quotes(when);
    for (CLI::App const* own : each.command->get_subcommands({}))
      text += begin + " -a " + own->get_name() + " -d " + in_quotes(own->get_description()) + "\n";
    if (std::string const words = arguments_of(*each.command); !words.empty())
      text += begin + " -a " + in_quotes(words) + "\n";
    for (CLI::Option const* option : shown_options(*each.command)) {
      for (std::string const& name : option->get_lnames())
        text += begin + " -l " + name + fish_value(*option) + " -d " + in_quotes(option->get_description()) + "\n";
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
