// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/attachment.hpp>

#include <cstring>
#include <utility>

#include <poll.h>

#include <lull/host/error.hpp>

namespace lull::attach {

namespace {

constexpr int answers_within_ms = 1'000;

std::string machine_text(std::uint32_t kind, std::string const& device) {
  return kind == static_cast<std::uint32_t>(executor_kind::cuda) ? "CUDA device " + device : "CPU threads";
}

[[noreturn]] void refuse(std::string const& path, answer const& reply, attachment::worker const& who) {
  std::string const where = "the trainer at " + path;
  switch (reply.what) {
    case answer::other_version:
      throw usage_error{where + " runs Lull " + reply.from.version.text() + " (protocol " +
                        std::to_string(reply.from.number) + "), and this is " LULL_VERSION " (protocol " +
                        std::to_string(protocol) + "): use the same version in both"};
    case answer::other_device:
      throw usage_error{where + " harvests " + machine_text(reply.executor, reply.device.text()) +
                        ", and this worker was made for " +
                        machine_text(static_cast<std::uint32_t>(who.kind), who.device) + ": choose the trainer's"};
    case answer::full:
      throw limit_error{where + " has " + std::to_string(reply.most) +
                        " workers already, which is the most: end one of them first"};
    default:
      throw usage_error{where + " refuses, and this version does not know why"};
  }
}

}  // namespace

std::unique_ptr<attachment> attachment::to(std::string const& path, worker const& who) {
  std::optional<connection> trainer = connect_to(path);
  if (!trainer) return nullptr;
  introduction said;
  said.from.version = short_text<52>{LULL_VERSION};
  said.executor = static_cast<std::uint32_t>(who.kind);
  said.name = short_text<60>{who.name};
  said.device = short_text<64>{who.device};
  if (!trainer->send(said)) return nullptr;
  pollfd waits{trainer->get(), POLLIN, 0};
  if (::poll(&waits, 1, answers_within_ms) <= 0)
    throw limit_error{"the trainer at " + path + " has not answered within a second: it may be stopped"};
  answer reply;
  process_descriptor page;
  if (trainer->receive(reply, &page) != connection::outcome::received) return nullptr;
  if (reply.from.magic != said.from.magic) throw usage_error{path + " is the socket of another program"};
  if (reply.from.number != protocol) reply.what = answer::other_version;
  if (reply.what != answer::welcome) refuse(path, reply, who);
  return std::unique_ptr<attachment>{new attachment{std::move(*trainer), reply.worker, page}};
}

bool attachment::is_over() noexcept {
  if (is_over_) return true;
  pollfd waits[] = {{trainer_.get(), POLLIN, 0}, {trainer_.end_of_process(), POLLIN, 0}};
  // The trainer sends nothing after its answer, so what is there to read is its end.
  is_over_ = ::poll(waits, 2, 0) > 0;
  return is_over_;
}

void attachment::say(report const& now, time_point when) noexcept {
  bool const is_new = !said_ || std::memcmp(&*said_, &now, offsetof(report, bubbles)) != 0;
  if (!is_new && when - said_at_ < report_every) return;
  if (!trainer_.send(now)) return;  // it is over, or does not read now: the next report tells the same
  said_ = now;
  said_at_ = when;
}

}  // namespace lull::attach
