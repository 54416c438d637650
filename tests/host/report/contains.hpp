// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

inline bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace lull
