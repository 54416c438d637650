// SPDX-License-Identifier: Apache-2.0
// Completions and the manual page have each command and each option that a help has.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

  static bool is_there(std::string const& reader) {
    return std::system(("command -v " + reader + " >/dev/null").c_str()) == 0;
  }

  /// Whether a shell or the like takes the text; true where it is not installed.
  bool is_taken_by(std::string const& reader, std::string const& text) const {
    std::ofstream{file("page")} << text;
    if (!is_there(reader.substr(0, reader.find(' ')))) return true;
    return std::system((reader + " " + file("page") + " >" + file("said") + " 2>&1").c_str()) == 0;
  }

  /// The lines that a command writes, with blanks between them.
  std::string said_by(std::string const& command) const {
    EXPECT_EQ(std::system((command + " >" + file("said") + " 2>&1 </dev/null").c_str()), 0) << command;
    return in_one_line(content(file("said")));
  }
  static std::string said(std::string const& arguments) { return in_one_line(ask(arguments).text); }
  static std::string in_one_line(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

  /// What bash would put in place of the part of a word before the cursor, which is at a '^' or at the end. Bash takes
  /// ':' and '=' as words.
  std::string in_bash(std::string line, std::string const& program = LULL_PROGRAM) const {
    auto const words = [](std::string const& text) {
      return "(" + std::regex_replace(text, std::regex{"([:=]|[^ :=]+) *"}, "'$1' ") +
             (text.ends_with(' ') ? "'')" : ")");
    };
    std::string const before = line.substr(0, line.find('^'));
    if (before.size() < line.size()) line.erase(before.size(), 1);
    std::ofstream{file("lull.bash")} << ask("completion bash").text;
    std::ofstream script{file("ask.bash")};
    script << ". " << file("lull.bash") << "\nCOMP_LINE='" << line << "' COMP_POINT=" << before.size()
           << "\nCOMP_WORDS=" << words(line) << " before=" << words(before)
           << "\nCOMP_CWORD=$((${#before[@]} - 1)) COMP_WORDS[0]='" << program
           << "' HOME=" << std::filesystem::path{LULL_PROGRAM}.parent_path() << "\n_lull\necho \"${COMPREPLY[@]}\"\n";
    script.close();
    return said_by("bash " + file("ask.bash"));
  }
};

TEST_F(program_pages, completions_have_each_command_and_option) {
  auto const known = helped();
  ASSERT_GE(known.size(), 8U);
  ASSERT_TRUE(known.at("harvest").contains("longest-bubble"));
  for (auto const& [command, options] : known) {
    EXPECT_EQ(all_in(ask("complete " + command + " --").text, "\n--([a-z-]+)\t"), options) << command;
    std::set<std::string> own = all_in(ask("complete " + command + " ''").text, "\n([a-z]+)\t");
    for (std::string const& each : own)
      EXPECT_TRUE(known.contains(command.empty() ? each : command + " " + each)) << command << ' ' << each;
    std::size_t const end = command.rfind(' ');
    std::string const above = command.substr(0, end == std::string::npos ? 0 : end);
    std::string const word = command.substr(end == std::string::npos ? 0 : end + 1);
    EXPECT_TRUE(all_in(ask("complete " + above + " '" + word + "'").text, "\n([a-z]+)\t").contains(word) ||
                command.empty())
        << command;
  }
}

TEST_F(program_pages, scripts_are_taken_by_their_shells) {
  for (std::string const shell : {"bash", "zsh", "fish"}) {
    outcome const script = ask("completion " + shell);
    EXPECT_EQ(script.code, 0);
    EXPECT_TRUE(is_taken_by(shell + " -n", script.text)) << shell;
  }
  expect_refused("completion csh", "bash");
}

TEST_F(program_pages, bash_completes_words_of_the_command_on_the_line) {
  EXPECT_EQ(in_bash("lull har"), "harvest");
  EXPECT_EQ(in_bash("lull new t"), "task");
  EXPECT_EQ(in_bash("lull new task --i"), "--in");
  EXPECT_EQ(in_bash("lull run --rep"), "--report");
  EXPECT_EQ(in_bash("lull run --report fil"), "");  // bash completes a file then
  EXPECT_EQ(in_bash("lull run --device "), "");
}

TEST_F(program_pages, bash_completes_values) {
  EXPECT_EQ(in_bash("lull run --executor "), "cuda threads");
  EXPECT_EQ(in_bash("lull harvest --executor=th"), "threads");
  EXPECT_EQ(in_bash("lull run --mode n"), "naive");
  EXPECT_EQ(in_bash("lull harvest --mode n"), "naive none");
  EXPECT_EQ(in_bash("lull completion z"), "zsh");
  EXPECT_EQ(in_bash("lull tasks st"), "streaming");
  EXPECT_EQ(in_bash("lull run --task compu"), "compute compute:");
  // Bash replaces its last word alone, which begins behind the colon or the equals sign.
  EXPECT_EQ(in_bash("lull run --task pagerank:kr"), "kronecker=");
  EXPECT_EQ(in_bash("lull run --task=pagerank:kr"), "kronecker=");
  EXPECT_EQ(in_bash("lull harvest --task compute --task product:rows=9,le"), "9,leave=");
  EXPECT_EQ(in_bash("lull run --task product:leave="), "behind saved within");
  std::ofstream{file("libmine.so")} << "";
  EXPECT_EQ(in_bash("lull run --task " + file("libm")), file("libmine.so:"));
  EXPECT_EQ(in_bash("lull run --task " + file("libmine.so:mi")), "");
}

/// Bash inserts a name as it is, and runs what stands in it.
TEST_F(program_pages, bash_completes_no_file_whose_name_it_would_run) {
  for (char const* name : {"we.el", "web$(>was_run).el", "we;b.el", "we`b`.el", "we~.el", "we*.el"})
    std::ofstream{file(name)};
  EXPECT_EQ(in_bash("lull run --task pagerank:graph=" + file("web")), "");
  EXPECT_EQ(in_bash("lull run --task pagerank:graph=" + file("we")), file("we.el"));
  EXPECT_FALSE(std::filesystem::exists("was_run"));
}

TEST_F(program_pages, bash_completes_up_to_the_cursor_inside_a_word) {
  EXPECT_EQ(in_bash("lull run --ta^bc"), "--task");
  EXPECT_EQ(in_bash("lull run --task pagerank:kr^ap"), "kronecker=");
  EXPECT_EQ(in_bash("lull run --task=pagerank:^kr=3 --once").find("pagerank"), std::string::npos);
  EXPECT_EQ(in_bash("lull run --executor cu^da --task x"), "cuda");
  EXPECT_EQ(in_bash("lull run --executor=^th"), "cuda threads");
}

TEST_F(program_pages, bash_asks_a_program_below_the_home_folder) {
  std::filesystem::path const program = LULL_PROGRAM;
  EXPECT_EQ(in_bash("lull run --task compu", "~/" + program.filename().string()), "compute compute:");
}

/// With what stands for zsh's own functions: each says what it was called with.
TEST_F(program_pages, zsh_completes_values) {
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is not installed";
  std::ofstream{file("_lull")} << ask("completion zsh").text;
  auto const in_zsh = [&](std::string const& line, std::string const& last) {
    return said_by(
        "zsh -f -c 'compdef() {}; compadd() { print -r -- $@ }; _describe() { print -r -- ${(P)2} }; "
        "_files() { print -r -- files $@ }; compset() { PREFIX=${PREFIX#*=} }; . " +
        file("_lull") + "; words=(" LULL_PROGRAM " " + line + " " + last + "\"\"); CURRENT=$#words PREFIX=" + last +
        "; _lull; true'");
  };
  EXPECT_EQ(in_zsh("", "har"), "harvest:replay a stage of a pipeline and harvest its bubbles");
  EXPECT_EQ(in_zsh("run", "--rep"), "--report:file for the report (JSON)");
  EXPECT_EQ(in_zsh("run --report", ""), "files");
  EXPECT_EQ(in_zsh("run --checkpoint", ""), "files -/");
  EXPECT_EQ(in_zsh("run --executor", "th"), "threads");
  EXPECT_EQ(in_zsh("run", "--report="), "files");
  EXPECT_EQ(in_zsh("harvest", "--schedule=g"), "--schedule=gpipe");
  EXPECT_EQ(in_zsh("completion", ""), "bash zsh fish");
  EXPECT_EQ(in_zsh("run --task", "pagerank:kr"), "-S -- pagerank:kronecker=");
  EXPECT_EQ(in_zsh("run", "--task=product:le"), "-S -- --task=product:leave=");
  EXPECT_EQ(in_zsh("run --device", ""), "");
  std::ofstream{file("web$(>was_run).el")};
  EXPECT_EQ(in_zsh("run --task", "pagerank:graph=" + file("we")), "-S -- pagerank:graph=" + file("web$(>was_run).el"))
      << "without -Q zsh quotes it";
  EXPECT_FALSE(std::filesystem::exists("was_run"));
}

TEST_F(program_pages, fish_completes_values) {
  if (!is_there("fish")) GTEST_SKIP() << "fish is not installed";
  std::ofstream{file("lull.fish")} << ask("completion fish").text;
  auto const in_fish = [&](std::string const& line) {
    std::string const home = "HOME=" + file("") + " XDG_CONFIG_HOME=" + file("") + " XDG_DATA_HOME=" + file("");
    return said_by(home + " fish --no-config -c 'source " + file("lull.fish") + "; complete -C \"" LULL_PROGRAM " " +
                   line + "\" | string replace -r \"\\t.*\" \"\"; true'");
  };
  EXPECT_EQ(in_fish("har"), "harvest");
  EXPECT_EQ(in_fish("run --rep"), "--report");
  EXPECT_EQ(in_fish("run --executor "), "cuda threads");
  EXPECT_EQ(in_fish("harvest --mode n"), "naive none");
  EXPECT_EQ(in_fish("completion z"), "zsh");
  EXPECT_EQ(in_fish("run --task pagerank:kr"), "pagerank:kronecker=");
  EXPECT_EQ(in_fish("run --task=product:le"), "--task=product:leave=");
  std::ofstream{file("web.el")};
  EXPECT_EQ(in_fish("run --report " + file("we")), file("web.el"));
  EXPECT_EQ(in_fish("run --report=" + file("we")), "--report=" + file("web.el"));
  EXPECT_EQ(in_fish("run --device "), "");
}

TEST_F(program_pages, a_task_goes_on_as_its_options_allow) {
  auto const goes_on = [](std::string const& begun) {
    std::string const text = said("complete run --task \"" + begun + "\"");
    EXPECT_EQ(text.substr(0, 4), "task") << text;
    return text.substr(std::min<std::size_t>(5, text.size()));
  };
  EXPECT_EQ(goes_on("p"), "pagerank product");
  EXPECT_EQ(goes_on("mlp"), "mlp mlp:");
  EXPECT_EQ(goes_on("mlp:l"), "mlp:label= mlp:layers= mlp:losses=");
  EXPECT_EQ(goes_on("mlp:layers=3,l"), "mlp:layers=3,label= mlp:layers=3,losses=");
  EXPECT_EQ(goes_on("mlp:batch="), "mlp:batch=64");
  EXPECT_EQ(goes_on("mlp:precision=b"), "mlp:precision=bf16");
  EXPECT_EQ(goes_on("mlp:pri"), "mlp:priority=");
  EXPECT_EQ(goes_on("pagerank:kronecker="), "");
  EXPECT_EQ(goes_on("nothing"), "");
  EXPECT_EQ(goes_on("nothing:x"), "");
  EXPECT_GT(goes_on("").size(), 40U);
  std::filesystem::create_directories(file("graphs/old"));
  std::ofstream{file("graphs/one.el")};
  std::ofstream{file("graphs/.hidden")};
  std::string const begun = "pagerank:top=3,graph=" + file("graphs/");
  EXPECT_EQ(goes_on(begun), begun + "old/ " + begun + "one.el");
  EXPECT_EQ(goes_on(begun + "on"), begun + "one.el");
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
  if (!is_there("groff")) GTEST_SKIP() << "groff is not installed";
  EXPECT_TRUE(is_taken_by("groff -man -k -Tutf8 -ww", page.text));
  EXPECT_TRUE(content(file("said")).find("page:") == std::string::npos) << content(file("said"));
}

}  // namespace
}  // namespace lull
