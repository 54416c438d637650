// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace lull {

inline constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};

/// Returns a script for one of `shells`. It has `lull complete` say what may follow, and lets the shell list files.
std::string_view completion_script(std::string_view shell);

/// Returns what may stand for the last of the words, at least one, after the program's name, as lines for those
/// scripts. The first says what they are: `words`, each with a tab and a description where there is one; `task`, which
/// go on without a blank; or `files` or `folders`, which the shell lists itself.
std::string completions(CLI::App const& program, std::span<std::string const> words);

}  // namespace lull
