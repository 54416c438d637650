// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <source_location>
#include <string>

#include <lull/host/error.hpp>

namespace lull::attach {

/// Returns the error of a call to the system that has just failed.
inline device_error system_error(std::string const& call,
                                 std::source_location where = std::source_location::current()) {
  int const code = errno;
  return {code, std::strerror(code), call, std::string{where.file_name()} + ":" + std::to_string(where.line())};
}

}  // namespace lull::attach
