// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/progress.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

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
                          std::chrono::nanoseconds elapsed, std::size_t width, std::uint64_t from) {
  done = std::min(done, total);
  double const share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  auto const filled = static_cast<std::size_t>(share * bar_width);
  std::string line = std::string{what} + "  " + std::to_string(done) + " of " + std::to_string(total) + "  [" +
                     std::string(filled, '#') + std::string(bar_width - filled, '-') + "]  " +
                     std::to_string(static_cast<int>(share * 100)) + " %";
  if (done > from && done < total) {
    double const steps_left = static_cast<double>(total - done) / static_cast<double>(done - from);
    std::chrono::duration<double, std::nano> const left = elapsed * steps_left;
    line += ", " + left_text(std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(left.count(), 9e18))});
  }
  return line.substr(0, width);
}

progress::progress(std::vector<part> const& parts, int descriptor)
    : descriptor_(descriptor), on_terminal_(is_terminal(descriptor)), last_(steady_clock::now()) {
  for (std::size_t i = 0; i < parts.size() && lines_.size() < max_lines; ++i) {
    if (parts[i].total != 0) lines_.push_back({parts[i], i, 0, std::nullopt, 0});
  }
}

progress::~progress() {
  if (!drawn_) return;
  std::string all = to_first_line();
  for (std::size_t i = 0; i < lines_.size(); ++i) all += (i == 0 ? "" : "\n") + std::string{wipe_line};
  write(all + to_first_line());
}

/// From the last line, where the cursor is left.
std::string progress::to_first_line() const {
  return lines_.size() < 2 ? "" : "\033[" + std::to_string(lines_.size() - 1) + "A";
}

void progress::update(std::vector<std::uint64_t> const& done) {
  if (!on_terminal_ || lines_.empty()) return;
  auto const now = steady_clock::now();
  for (line& each : lines_) {
    std::uint64_t const reached = done.at(each.index);
    if (!each.start || reached < each.last) {
      each.from = reached;
      each.start = now;
    }
    each.last = reached;
  }
  if (drawn_ && now - last_ < between_updates) return;
  std::string all = drawn_ ? to_first_line() : "";
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    line const& each = lines_[i];
    // One column stays free: a line that fills the last one would wrap and could not be wiped.
    std::size_t const width = columns_of(descriptor_) - 1;
    all += (i == 0 ? "" : "\n") + std::string{wipe_line} +
           progress_line(each.of.what, each.last, each.of.total, now - *each.start, width, each.from);
  }
  drawn_ = true;
  last_ = now;
  write(all);
}

void progress::write(std::string_view text) const noexcept {
  while (!text.empty()) {
    ssize_t const written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // a terminal that is gone does not end the run
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace lull
