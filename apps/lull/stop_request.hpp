// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

namespace lull {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP only sets a flag, which the work looks at where it can end in
/// order; one that comes a second later or more acts as if nothing had been installed, so a run that hangs can still be
/// ended from the keyboard. Those between are the same wish: `timeout` tells a process, and then the group that it is
/// in. A signal that was ignored from the start (nohup, a shell's background job) stays ignored.
///
/// One at a time in a process. Errors: usage_error for a second one; device_error if the system refuses.
class stop_request {
 public:
  stop_request();
  /// Puts back what was installed before.
  ~stop_request();
  stop_request(stop_request const&) = delete;
  stop_request& operator=(stop_request const&) = delete;

  /// Any thread, at any time, cheap.
  bool requested() const noexcept;

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

  void restore() noexcept;

  std::array<struct sigaction, signals.size()> old_{};
  std::size_t installed_ = 0;
};

}  // namespace lull
