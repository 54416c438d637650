// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace lull {

inline constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};

/// Returns a script for one of `shells` that completes the program's commands and options, and files where neither
/// fits.
std::string completion_script(CLI::App const& program, std::string_view shell);

}  // namespace lull
