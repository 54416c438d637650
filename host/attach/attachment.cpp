// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/attachment.hpp>

#include <utility>

#include <poll.h>

namespace lull::attach {

std::unique_ptr<attachment> attachment::to(std::string const& path, worker const& who) {
  introduction said;
  said.executor = static_cast<std::uint32_t>(who.kind);
  said.together = who.together ? 1 : 0;
  said.name = short_text<60>{who.name};
  said.device = short_text<64>{who.device};
  auto made = introduce_to(path, said);
  if (!made) return nullptr;
  return std::unique_ptr<attachment>{new attachment{std::move(*made)}};
}

bool attachment::is_over() noexcept {
  if (is_over_) return true;
  pollfd waits[] = {{trainer_.get(), POLLIN, 0}, {trainer_.end_of_process(), POLLIN, 0}};
  if (::poll(waits, 2, 0) <= 0) return false;
  memory_wanted said;
  auto const got = waits[0].revents != 0 ? trainer_.receive(said) : connection::outcome::nothing;
  if (got == connection::outcome::received) wanted_ = said;
  is_over_ = got == connection::outcome::gone || waits[1].revents != 0;
  return is_over_;
}

void attachment::say(report const& now, time_point when) noexcept {
  bool const is_new = !said_ || !said_->wants_the_same(now) || said_->answers != now.answers;
  if (!is_new && when - said_at_ < report_every) return;
  if (!trainer_.send(now)) return;  // it is over, or does not read now: the next report tells the same
  said_ = now;
  said_at_ = when;
}

}  // namespace lull::attach
