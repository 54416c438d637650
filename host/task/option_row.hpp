// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <lull/host/task/options.hpp>

namespace lull::detail {

/// Reads `text` as a value of the row's kind and range (monostate for path and choice). Errors: usage_error that begins
/// with the value; the caller puts the option's name before it.
option_value read_value(option const& row, std::string_view text);

/// "at least 0 and below 1" for a number's range; empty if it has none.
std::string describe_range(option const& row);

/// Throws usage_error if the row breaks the rules of `option`.
void check_row(option const& row);

}  // namespace lull::detail
