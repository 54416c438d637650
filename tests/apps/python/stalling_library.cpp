// SPDX-License-Identifier: Apache-2.0
// liblull.so with runtimes on a machine whose calls can hang, as Python loads it.
#include <chrono>
#include <cstdint>
#include <string_view>

#include <lull/apps/c/boundary.hpp>
#include <lull/tests/apps/c/stalling_runtime.hpp>

namespace {

/// Of all runtimes; never destroyed, for a machine may live as long as the process.
lull::stall& where() {
  static auto& made = *new lull::stall;
  return made;
}

}  // namespace

extern "C" {

lull_status stalling_create(lull_options const* options, lull_runtime** runtime) {
  return lull::c::guarded("stalling_create", [&] { *runtime = lull::test::stalling_runtime(where(), *options); });
}

/// A job that starves and is fed.
lull_status stalling_submit(lull_runtime* runtime, lull_job** job) {
  return lull::c::guarded("stalling_submit", [&] { *job = lull::test::starving_job(runtime, "starving"); });
}

/// The next call of this name to a machine hangs, on any thread.
void stalling_set(char const* call) { where().set(call); }
int stalling_hangs(std::uint64_t at_most_ns) {
  return where().hangs(std::chrono::nanoseconds{static_cast<std::int64_t>(at_most_ns)}) ? 1 : 0;
}
void stalling_let_go() { where().let_go(); }

/// A line of the log.
void stalling_say(lull_runtime* runtime, char const* line) { lull::test::found(runtime)->log(std::string_view{line}); }

}  // extern "C"
