// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lull::bench {

/// When the time is over the process ends, with a message and exit code 124: what waits for a GPU that hangs ends by
/// nothing else.
inline void end_process_after(std::chrono::seconds limit) {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view text = "not done within the time limit; this process ends\n";
    [[maybe_unused]] auto const written = ::write(2, text.data(), text.size());
    ::_exit(124);
  });
  ::alarm(static_cast<unsigned>(limit.count()));
}

/// Of CUDA; must come before its first call. 0: as it is.
inline void set_connections(int count) {
  if (count != 0) ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(count).c_str(), 1);
}

}  // namespace lull::bench
