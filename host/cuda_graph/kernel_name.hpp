// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lull {

/// A kernel's name as people read it: with its namespaces and template arguments, without its parameters, and cut off
/// behind a hundred characters.
std::string readable_name(std::string const& mangled);

}  // namespace lull
