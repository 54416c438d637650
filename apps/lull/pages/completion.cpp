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

/// The command that the words name.
CLI::App const& command_of(CLI::App const& program, std::span<std::string const> words) {
  CLI::App const* command = &program;
  for (std::string const& word : words) {
    for (CLI::App const* each : command->get_subcommands({})) {
      if (each->get_name() == word) command = each;
    }
  }
  return *command;
}

}  // namespace

std::string_view completion_script(std::string_view shell) {
  return shell == "bash" ? bash : shell == "zsh" ? zsh : fish;
}

std::string completions(CLI::App const& program, std::span<std::string const> words) {
  std::string const begun = words.back();
  words = words.first(words.size() - 1);
  CLI::App const& command = command_of(program, words);
  std::size_t const value_at = begun.starts_with("--") ? begun.find('=') + 1 : 0;  // 0, too, where there is no '='
  std::string const before = begun.substr(0, value_at);
  std::string const name = value_at != 0 ? begun.substr(0, value_at - 1) : words.empty() ? "" : words.back();
  CLI::Option const* const option = name.starts_with("--") ? command.get_option_no_throw(name) : nullptr;
  bool const is_value = option != nullptr && takes_value(*option);
  std::string const type = is_value ? value_type(*option) : "";
  if (type == "FILE") return "files\n";
  if (type == "FOLDER") return "folders\n";
  std::string text = type == "TASK" ? "task\n" : "words\n";
  auto const add = [&](std::string const& word, std::string const& help = {}) {
    if (word.starts_with(begun)) text += word + (help.empty() ? "" : "\t" + help) + "\n";
  };
  auto const add_choices = [&](std::string const& of) {
    if (of.find('|') == std::string::npos) return;  // no word that can be typed
    for (std::string const& word : CLI::detail::split(of, '|')) add(before + word);
  };
  if (type == "TASK") {
    for (std::string const& each : task_completions(begun.substr(value_at))) add(before + each);
  }
  add_choices(type);
  if (is_value || value_at != 0) return text;
  for (CLI::Option const* each : shown_options(command)) {
    if (begun.starts_with('-')) {
      for (std::string const& own : each->get_lnames()) add("--" + own, each->get_description());
    } else if (each->get_positional()) {
      add_choices(value_type(*each));
    }
  }
  for (CLI::App const* own : command.get_subcommands({})) add(own->get_name(), own->get_description());
  return text;
}

}  // namespace lull
