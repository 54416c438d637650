// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/pages/completion.hpp>

#include <lull/apps/lull/pages/command_walk.hpp>
#include <lull/apps/lull/pages/task_completion.hpp>

namespace lull {
namespace {

// Bash takes the characters of COMP_WORDBREAKS as ends of words, so the line is split again up to the cursor, and what
// bash has before its own last word is taken off each completion. Bash inserts a completion as it is, so one with a
// character that means something to bash is left out: what stands in a file's name would be run.
constexpr std::string_view bash = R"(# Completion of lull for bash.
_lull() {
  local line found each word last breaks program
  read -ra line <<< "${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && line+=('')
  word=${line[-1]} breaks=${COMP_WORDBREAKS//[^:=@]}
  last=$word
  [[ $breaks ]] && last=${word##*[$breaks]}
  program=${COMP_WORDS[0]/#\~\//"$HOME"/}
  mapfile -t found < <("$program" complete "${line[@]:1}" 2>/dev/null)
  COMPREPLY=()
  case ${found[0]} in
    files) compopt -o default 2>/dev/null ;;
    folders) compopt -o dirnames 2>/dev/null ;;
    task) compopt -o nospace 2>/dev/null ;;
  esac
  for each in "${found[@]:1}"; do
    each=${each%%$'\t'*}
    [[ $each == *[![:alnum:]_./:,=+%@-]* ]] || COMPREPLY+=("${each#"${word%"$last"}"}")
  done
}
complete -F _lull lull
)";

constexpr std::string_view zsh = R"(#compdef lull
# Completion of lull for zsh.
_lull() {
  local program=${${(Q)words[1]}/#\~\//$HOME/}
  local -a found
  found=("${(@f)$($program complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  local kind=$found[1]
  shift found
  case $kind in
    files|folders)
      [[ $PREFIX == --*=* ]] && compset -P 1 '*='
      if [[ $kind == files ]]; then _files; else _files -/; fi ;;
    task) compadd -S '' -- $found ;;
    words)
      found=("${(@)found/$'\t'/:}")
      (( $#found )) && _describe lull found ;;
  esac
}
if [[ $funcstack[1] == _lull ]]; then _lull "$@"; else compdef _lull lull; fi
)";

// Fish takes lines with a tab and a description as they are.
constexpr std::string_view fish = R"(# Completion of lull for fish.
function __lull_complete
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
  set -l found ($program complete $words[2..-1] "$word" 2>/dev/null)
  set -l option (string match -r -- '^--[^=]*=' "$word")
  set -l value (string replace -r -- '^--[^=]*=' '' "$word")
  switch "$found[1]"
    case files
      string replace -r -- '^' "$option" (__fish_complete_path "$value")
    case folders
      string replace -r -- '^' "$option" (__fish_complete_directories "$value" '')
    case '*'
      string join -- \n $found[2..-1]
  end
end
complete -c lull -f -a '(__lull_complete)'
)";

struct completion_words {
  std::string kind = "words";
  std::vector<std::string> lines;
};

/// Those words of a type such as "cuda|threads" that begin so. A type of one word is none that can be typed.
void add_choices(std::string const& type, std::string_view begun, std::string const& before,
                 std::vector<std::string>& to) {
  if (type.find('|') == std::string::npos) return;
  for (std::string const& word : CLI::detail::split(type, '|')) {
    if (word.starts_with(begun)) to.push_back(before + word);
  }
}

/// `before`: what stands in the same word before the value.
completion_words values_of(CLI::Option const& option, std::string_view begun, std::string const& before) {
  std::string const type = value_type(option);
  if (type == "FILE") return {"files", {}};
  if (type == "FOLDER") return {"folders", {}};
  completion_words found;
  if (type == "TASK") {
    found.kind = "task";
    for (std::string const& each : task_completions(begun)) found.lines.push_back(before + each);
  } else {
    add_choices(type, begun, before, found.lines);
  }
  return found;
}

/// An option that takes a value, by its name; null: there is none.
CLI::Option const* option_of(CLI::App const& command, std::string const& name) {
  CLI::Option const* const found = name.starts_with("--") ? command.get_option_no_throw(name) : nullptr;
  return found != nullptr && takes_value(*found) ? found : nullptr;
}

completion_words complete(CLI::App const& program, std::vector<std::string> const& words) {
  CLI::App const* command = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    for (CLI::App const* each : command->get_subcommands({})) {
      if (each->get_name() == words[i]) command = each;
    }
  }
  std::string const begun = words.empty() ? "" : words.back();
  std::size_t const equals = begun.starts_with("--") ? begun.find('=') : std::string::npos;
  if (equals != std::string::npos) {
    CLI::Option const* const option = option_of(*command, begun.substr(0, equals));
    return option == nullptr ? completion_words{}
                             : values_of(*option, begun.substr(equals + 1), begun.substr(0, equals + 1));
  }
  if (words.size() > 1) {
    if (CLI::Option const* const option = option_of(*command, words[words.size() - 2]))
      return values_of(*option, begun, "");
  }
  completion_words found;
  auto const add = [&](std::string const& word, std::string const& help) {
    if (word.starts_with(begun)) found.lines.push_back(word + "\t" + help);
  };
  for (CLI::Option const* option : shown_options(*command)) {
    if (begun.starts_with('-')) {
      for (std::string const& name : option->get_lnames()) add("--" + name, option->get_description());
    } else if (option->get_positional()) {
      add_choices(value_type(*option), begun, "", found.lines);
    }
  }
  for (CLI::App const* own : command->get_subcommands({})) add(own->get_name(), own->get_description());
  return found;
}

}  // namespace

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? bash : shell == "zsh" ? zsh : fish;
}

std::string completions(CLI::App const& program, std::vector<std::string> const& words) {
  completion_words const found = complete(program, words);
  std::string text = found.kind + "\n";
  for (std::string const& each : found.lines) text += each + "\n";
  return text;
}

}  // namespace lull
