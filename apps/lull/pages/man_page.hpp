// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace lull {

/// Returns the program's manual page, section 1, in roff.
std::string man_page(CLI::App const& program, std::string_view version);

}  // namespace lull
