// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <type_traits>

namespace lull::detail {

/// How an error leaves a C library that cannot return one (libpng, libjpeg): our error handler notes the reason here
/// and jumps back to where the library was called. Nothing with a destructor may lie on the stack between the two. So
/// objects live outside of `returns`, and callbacks hold none when they `leave`.
struct library_fault {
  std::jmp_buf back;
  std::array<char, 256> reason{};
  std::exception_ptr thrown;  // by a callback: goes on where the library was called

  [[noreturn]] void leave(char const* why) noexcept {
    std::snprintf(reason.data(), reason.size(), "%s", why);
    std::longjmp(back, 1);
  }

  /// Runs C++ inside a callback; returns false if it threw, and then the callback leaves.
  template <class Work>
  [[nodiscard]] bool catches(Work const& work) noexcept {
    try {
      work();
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }
};

/// Runs `call`; returns false if it left through `fault`. Not inlined: what `call` changes must not be in one of our
/// registers.
template <class Call>
[[nodiscard, gnu::noinline]] bool returns(library_fault& fault, Call const& call) {
  static_assert(std::is_trivially_destructible_v<Call>, "the jump would pass over its destructor");
  if (setjmp(fault.back) != 0) {
    return false;
  }
  call();
  return true;
}

}  // namespace lull::detail
