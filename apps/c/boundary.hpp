// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lull/host/lull.h>
#include <lull/host/error.hpp>

namespace lull::c {

/// What a call returns instead of LULL_OK, with the text that goes with it.
class refusal : public std::runtime_error {
 public:
  refusal(lull_status status, std::string const& text) : std::runtime_error(text), status_(status) {}
  lull_status status() const noexcept { return status_; }

 private:
  lull_status status_;
};

/// Keeps the calling thread's last error and returns its status.
lull_status failed(lull_status status, char const* call, char const* text) noexcept;

/// The status of the exception that is being handled.
lull_status failed_by_exception(char const* call) noexcept;

/// The body of every function of the header: nothing is thrown out of it. `body` returns a lull_status, or nothing for
/// LULL_OK.
template <class Body>
lull_status guarded(char const* call, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return LULL_OK;
    } else {
      return body();
    }
  } catch (...) {
    return failed_by_exception(call);
  }
}

/// Throws a refusal when `pointer` is null.
void require(void const* pointer, char const* name);

/// Where a call puts what it makes: it is as nothing until then. Throws a refusal when `at` is null.
template <class Made>
Made& cleared(Made* at, char const* name) {
  require(at, name);
  return *at = Made{};
}

/// Runs `body` on a thread of its own, so that what it does to its thread (the current device, the capture mode) stays
/// there; throws what it throws.
template <class Body>
void on_own_thread(Body body) {
  std::async(std::launch::async, body).get();
}

/// A text as the header says: asked for its size, or copied where it fits. Throws a refusal with LULL_ERROR_SIZE.
void give(std::string_view whole, char* text, std::size_t size, std::size_t* needed);

/// What is beyond the type's range, UINT64_MAX above all, is nanoseconds::max(), which has no end.
std::chrono::nanoseconds nanoseconds_of(std::uint64_t at_most_ns) noexcept;

/// Returns the value. Throws a refusal with the rule where it is not kept to.
template <class Number>
Number checked(Number value, bool is_kept, char const* name, std::string const& rule) {
  if (is_kept) return value;
  throw refusal{LULL_ERROR_ARGUMENT, std::string{name} + " is " + std::to_string(value) + ": " + rule};
}

/// An enumerator whose values are 0 to `count` - 1.
template <class Enum>
Enum one_of(std::int32_t value, std::int32_t count, char const* name) {
  return static_cast<Enum>(checked(value, value >= 0 && value < count, name, "0 to " + std::to_string(count - 1)));
}

inline int at_least(int value, int least, char const* name) {
  return checked(value, value >= least, name, "it must be at least " + std::to_string(least));
}

/// Refuses what a later library may give a meaning to.
inline void require_zero(std::int32_t reserved, char const* name) {
  checked(reserved, reserved == 0, name, "set it to 0");
}

namespace detail {
void take(void* into, std::size_t known, void const* given, char const* name);
void fill(void* into, void const* values, std::size_t known, char const* name);
}  // namespace detail

/// A struct that begins with its size, as a program compiled against an older or newer header of the same ABI hands it
/// in: the fields that it does not have keep their defaults; those that we do not know must be zero.
template <class Struct>
Struct taken(Struct const* given, char const* name) {
  Struct made{};
  detail::take(&made, sizeof made, given, name);
  return made;
}

/// … and as it gets it back: the fields that it has.
template <class Struct>
void fill(Struct* into, Struct values, char const* name) {
  detail::fill(into, &values, sizeof values, name);
}

}  // namespace lull::c
