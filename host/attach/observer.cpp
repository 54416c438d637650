// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/observer.hpp>

#include <algorithm>

#include <unistd.h>

#include <lull/host/attach/handshake.hpp>

namespace lull::attach {

namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{64} << 20;  // of a state

std::string content_of(process_descriptor const& file, std::uint64_t bytes) {
  std::string text(std::min(bytes, max_bytes), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t const more = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (more <= 0) return {};
    done += static_cast<std::size_t>(more);
  }
  return text;
}

}  // namespace

std::unique_ptr<observer> observer::of(std::string const& path) {
  introduction said;
  said.as = introduction::observer;
  auto made = introduce_to(path, said);
  return made ? std::unique_ptr<observer>{new observer{std::move(made->trainer)}} : nullptr;
}

std::string observer::state(std::chrono::milliseconds at_most) {
  if (!trainer_.send(question{++asked_})) return {};
  auto const deadline = std::chrono::steady_clock::now() + at_most;
  while (trainer_.is_readable_by(deadline)) {
    state_told told;
    process_descriptor file;
    if (trainer_.receive(told, &file) != connection::outcome::received) break;
    if (told.number == asked_) return file ? content_of(file, told.bytes) : std::string{};
  }
  return {};
}

}  // namespace lull::attach
