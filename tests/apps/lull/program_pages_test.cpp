// SPDX-License-Identifier: Apache-2.0
// Completions and the manual page have each command and each option that a help has.
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

std::set<std::string> all_in(std::string const& text, std::string const& pattern) {
  std::regex const wanted{pattern};
  std::set<std::string> found;
  for (std::sregex_iterator at{text.begin(), text.end(), wanted}, end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

class program_pages : public program {
 protected:
  /// Each command's options, as its help tells them.
  static std::map<std::string, std::set<std::string>> helped(std::string const& command = "") {
    std::string const text = ask(command + " --help").text;
    std::map<std::string, std::set<std::string>> all{{command, all_in(text, "\n +(?:-\\w,)?--([a-z-]+)")}};
    std::size_t const commands = text.find("\nSubcommands:\n");
    if (commands == std::string::npos) return all;
    for (std::string const& each : all_in(text.substr(commands + 13), "\n  ([a-z]+)")) {
      all.merge(helped(command.empty() ? each : command + " " + each));
    }
    return all;
  }

  /// Whether a shell or the like takes the text; true where it is not installed.
  bool is_taken_by(std::string const& reader, std::string const& text) const {
    std::ofstream{file("page")} << text;
    if (std::system(("command -v " + reader.substr(0, reader.find(' ')) + " >/dev/null").c_str()) != 0) return true;
    return std::system((reader + " " + file("page") + " >" + file("said") + " 2>&1").c_str()) == 0;
  }
};

TEST_F(program_pages, completions_have_each_command_and_option) {
  auto const known = helped();
  ASSERT_GE(known.size(), 8U);
  ASSERT_TRUE(known.at("harvest").contains("longest-bubble"));
  for (auto const& [shell, before] : {std::pair{"bash", "--"}, {"zsh", "'--"}, {"fish", "-l "}}) {
    outcome const script = ask(std::string{"completion "} + shell);
    EXPECT_EQ(script.code, 0);
    for (auto const& [command, options] : known) {
      EXPECT_NE(script.text.find(command.substr(command.rfind(' ') + 1)), std::string::npos) << shell << command;
      for (std::string const& each : options)
        EXPECT_NE(script.text.find(before + each), std::string::npos) << shell << ' ' << command << ' ' << each;
    }
    EXPECT_EQ(script.text.find(before + std::string{"timeline"}), std::string::npos) << "it is in no help";
    EXPECT_TRUE(is_taken_by(shell + std::string{" -n"}, script.text)) << shell;
  }
  expect_refused("completion csh", "bash");
}

TEST_F(program_pages, bash_completes_words_of_the_command_on_the_line) {
  std::ofstream{file("lull.bash")} << ask("completion bash").text;
  auto const completed = [&](std::string const& words) {
    std::string const command = "bash -c '. " + file("lull.bash") + "; COMP_WORDS=(lull " + words +
                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lull; echo ${COMPREPLY[@]}' >" +
                                file("words");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return content(file("words"));
  };
  EXPECT_EQ(completed("har"), "harvest\n");
  EXPECT_EQ(completed("new t"), "task\n");
  EXPECT_EQ(completed("new task --i"), "--in\n");
  EXPECT_EQ(completed("run --rep"), "--report\n");
  EXPECT_EQ(completed("run --report fil"), "\n");  // bash completes a file then
}

TEST_F(program_pages, the_manual_has_each_command_and_option) {
  outcome const page = ask("man");
  EXPECT_EQ(page.code, 0);
  EXPECT_EQ(page.text.rfind(".TH LULL 1 ", 0), 0U);
  for (auto const& [command, options] : helped()) {
    std::size_t const begin = command.empty() ? 0 : page.text.find(".SS lull " + command + "\n");
    ASSERT_NE(begin, std::string::npos) << command;
    std::string const section = page.text.substr(begin, page.text.find("\n.SS", begin + 1) - begin);
    for (std::string each : options) {
      each = std::regex_replace("--" + each, std::regex{"-"}, "\\-");
      EXPECT_NE(section.find(each), std::string::npos) << command << ' ' << each;
    }
  }
  EXPECT_TRUE(is_taken_by("groff -man -k -Tutf8 -ww", page.text));
  EXPECT_TRUE(content(file("said")).find("page:") == std::string::npos) << content(file("said"));
}

}  // namespace
}  // namespace lull
