// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/progress.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace lull {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t bar_width = 20;
constexpr std::chrono::milliseconds between_updates{100};
constexpr std::string_view wipe_line = "\r\033[K";

bool is_terminal(int descriptor) {
  char const* const kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::string_view{kind} != "dumb";
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string left_text(std::chrono::nanoseconds left) {
  auto const seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  if (seconds < 100) return std::to_string(seconds) + " s left";
  if (seconds < 100 * 60) return std::to_string((seconds + 59) / 60) + " min left";
  return std::to_string((seconds + 3599) / 3600) + " h left";
}

}  // namespace

std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::chrono::nanoseconds elapsed, std::size_t width) {
  done = std::min(done, total);
  double const share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  auto const filled = static_cast<std::size_t>(share * bar_width);
  std::string line = std::string{what} + "  " + std::to_string(done) + " of " + std::to_string(total) + "  [" +
                     std::string(filled, '#') + std::string(bar_width - filled, '-') + "]  " +
                     std::to_string(static_cast<int>(share * 100)) + " %";
  if (done > 0 && done < total) {
    std::chrono::duration<double, std::nano> const left = elapsed * ((1 - share) / share);
    line += ", " + left_text(std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(left.count(), 9e18))});
  }
  return line.substr(0, width);
}

progress::progress(std::string what, std::uint64_t total, int descriptor)
    : what_(std::move(what)),
      total_(total),
      descriptor_(descriptor),
      on_terminal_(is_terminal(descriptor)),
      start_(steady_clock::now()),
      last_(start_) {}

progress::~progress() {
  if (drawn_) write(wipe_line);
}

void progress::update(std::uint64_t done) {
  if (!on_terminal_) return;
  auto const now = steady_clock::now();
  if (drawn_ && now - last_ < between_updates) return;
  drawn_ = true;
  last_ = now;
  // One column stays free: a line that fills the last one would wrap and could not be wiped.
  write(std::string{wipe_line} + progress_line(what_, done, total_, now - start_, columns_of(descriptor_) - 1));
}

void progress::write(std::string_view text) const noexcept {
  while (!text.empty()) {
    ssize_t const written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // a terminal that is gone does not end the run
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace lull
