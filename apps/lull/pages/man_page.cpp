// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/pages/man_page.hpp>

#include <lull/apps/lull/pages/command_walk.hpp>

namespace lull {
namespace {

/// A line of text: no character of it is a request or an escape.
std::string roff(std::string_view text) {
  std::string made = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (char const c : text) {
    if (c == '\\') {
      made += "\\e";
    } else {
      made += c == '-' ? "\\-" : std::string{c};
    }
  }
  return made;
}

std::string options_of(CLI::App const& command) {
  std::string text;
  for (CLI::Option const* option : shown_options(command)) {
    std::string const name = option->get_name(false, true);  // all names of an option; an argument's own
    text += ".TP\n\\fB" + roff(name) + "\\fR";
    if (takes_value(*option) && !option->get_positional()) {
      text += " \\fI" + roff(value_type(*option)) + "\\fR";
    }
    text += "\n" + roff(option->get_description());
    if (std::string const usual = option->get_default_str(); !usual.empty()) text += " (default " + roff(usual) + ")";
    text += "\n";
  }
  return text;
}

/// A section for each command; `words` name the one above.
std::string commands_of(CLI::App const& above, std::string const& words) {
  std::string text;
  for (CLI::App const* each : above.get_subcommands({})) {
    std::string const name = words + " " + each->get_name();
    text += ".SS " + roff(name) + "\n" + roff(each->get_description()) + "\n" + options_of(*each) +
            commands_of(*each, name);
  }
  return text;
}

}  // namespace

std::string man_page(CLI::App const& program, std::string_view version) {
  return ".TH LULL 1 \"\" \"lull " + std::string{version} + "\"\n.SH NAME\nlull \\- " +
         roff(program.get_description()) + "\n.SH SYNOPSIS\n.B lull\n.I COMMAND\n.RI [ OPTIONS ]\n.SH OPTIONS\n" +
         options_of(program) + ".SH COMMANDS\n" + commands_of(program, "lull") +
         ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na task, a check or the machine failed\n.TP\n2\nwrong usage, or an "
         "input that cannot be used\n.TP\n3\nno trainer takes this process, and nothing has run\n.TP\n130\ninterrupted "
         "by a signal\n.TP\n141\n"
         "done, but the reader of standard output had left\n"
         ".SH ENVIRONMENT\n.TP\nLULL\noff, observe or on: has priority over what a program asks for\n";
}

}  // namespace lull
