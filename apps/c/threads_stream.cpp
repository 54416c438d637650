// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include <lull/apps/c/held.hpp>

namespace {

using namespace lull;
using namespace lull::c;

constexpr std::chrono::nanoseconds max_sleep = std::chrono::seconds{10};

}  // namespace

extern "C" {

lull_status lull_threads_stream_create(lull_threads_stream** stream) {
  return guarded_make(__func__, stream, "stream", [] { return std::make_unique<threads_stream>(); });
}

lull_status lull_threads_stream_sleep(lull_threads_stream* stream, std::uint64_t ns) {
  return guarded(__func__, stream, [&](auto& one) {
    if (ns > static_cast<std::uint64_t>(max_sleep.count()))
      throw refusal{LULL_ERROR_ARGUMENT, "ns is more than 10 seconds"};
    one->enqueue([ns] { std::this_thread::sleep_for(std::chrono::nanoseconds{ns}); });
  });
}

lull_status lull_threads_stream_synchronize(lull_threads_stream* stream) {
  return guarded(__func__, stream, [](auto& one) { one->synchronize(); });
}

lull_status lull_threads_stream_destroy(lull_threads_stream* stream) { return guarded_end(__func__, stream); }

}  // extern "C"
