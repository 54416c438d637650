// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/job_id.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>

namespace lull::queue {

namespace {

// Crockford's base 32, in lower case: no letter looks like a digit, and texts sort as the numbers do.
constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t time_digits = 9;  // 45 bits of milliseconds: until the year 3084
constexpr std::size_t token_digits = 12;

std::string written(std::uint64_t value, std::size_t count) {
  std::string text(count, '0');
  for (std::size_t i = count; i-- > 0; value /= 32) text[i] = digits[value % 32];
  return text;
}

std::uint64_t random_bits() {
  thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

bool is_of(std::string_view text, std::size_t count) noexcept {
  return text.size() == count && text.find_first_not_of(digits) == text.npos;
}

}  // namespace

std::string make_job_id() {
  static std::mutex one_at_a_time;
  static std::uint64_t last_ms = 0;
  static std::uint64_t next = 0;
  static pid_t maker = 0;
  std::lock_guard const lock{one_at_a_time};
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  auto const ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  if (ms > last_ms || maker != ::getpid()) {  // a forked child would count on as its parent does
    last_ms = std::max(ms, last_ms);
    maker = ::getpid();
    next = random_bits() >> 10;  // 54 bits: room to count on
  }
  return written(last_ms, time_digits) + written(next++, job_id_digits - time_digits);
}

bool is_job_id(std::string_view text) noexcept { return is_of(text, job_id_digits); }

std::uint64_t made_ms(std::string_view id) noexcept {
  std::uint64_t found = 0;
  for (char const each : id.substr(0, time_digits)) found = found * 32 + digits.find(each);
  return found;
}

std::string make_token() { return written(random_bits(), token_digits); }

bool is_token(std::string_view text) noexcept { return is_of(text, token_digits); }

}  // namespace lull::queue
