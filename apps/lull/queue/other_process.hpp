// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/process_descriptor.hpp>

namespace lull {

/// A process that may end. Another one that gets its number later is not taken for it.
class other_process {
 public:
  /// Throws usage_error if it is not there.
  explicit other_process(int number)
      : of_(process_descriptor::opened_by(
            [&] { return static_cast<int>(::syscall(SYS_pidfd_open, number, 0)); })) {  // Linux 5.3
    if (!of_) throw usage_error{"process " + std::to_string(number) + ": " + std::strerror(errno)};
  }
  bool has_ended() const {
    pollfd asked{.fd = of_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&asked, 1, 0) == 1;
  }

 private:
  process_descriptor of_;
};

}  // namespace lull
