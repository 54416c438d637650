// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lull/tests/support/test_folder.hpp>

namespace lull {

using json = nlohmann::ordered_json;

/// What a call of the program came to.
struct outcome {
  int code = -1;
  std::string text;  // standard output and standard error
};

/// The program itself, from outside, with a folder of its own.
class program : public testing::Test {
 protected:
  std::string file(std::string const& name) const { return folder_.at(name); }

  static std::string content(std::string const& path) {
    std::ifstream in{path, std::ios::binary};
    EXPECT_TRUE(in) << path;
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  /// The report in a file, of this program's schema.
  static json report_in(std::string const& path) {
    json read = json::parse(content(path));
    EXPECT_EQ(read["schema"], "lull.report/2") << path;
    return read;
  }

  static outcome ask(std::string const& arguments, std::string const& shell_commands_before = "") {
    outcome found;
    std::FILE* const pipe = ::popen((shell_commands_before + LULL_PROGRAM " " + arguments + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return found;
    char piece[4096];
    for (std::size_t n = 0; (n = std::fread(piece, 1, sizeof piece, pipe)) > 0;) found.text.append(piece, n);
    int const status = ::pclose(pipe);
    found.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return found;
  }

  /// A picture that is none, in the folder `in`.
  void add_picture() {
    std::filesystem::create_directories(file("in"));
    std::ofstream{file("in/no.png")} << "no picture";
  }

  static void expect_refused(std::string const& arguments, std::string const& says) {
    outcome const found = ask(arguments);
    EXPECT_EQ(found.code, 2) << arguments << '\n' << found.text;
    EXPECT_NE(found.text.find(says), std::string::npos) << arguments << '\n' << found.text;
  }

  test::test_folder const folder_;
};

/// A harvest that is soon over.
inline constexpr char const* quick_harvest = "harvest --executor threads --segment 200us --iterations 2 --pairs 2 ";

}  // namespace lull
