// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <lull/host/io/text_sample.hpp>

namespace lull::detail {

/// Whether the first of these rows names the columns. `doubt` says what else it could be, where that is not clear.
bool find_header(std::vector<row> const& rows, std::string& doubt);

}  // namespace lull::detail
