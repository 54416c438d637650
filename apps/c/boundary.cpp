// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/c/boundary.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include <lull/host/cuda_graph/graph_task.hpp>

namespace lull::c {

namespace {

constexpr std::size_t max_error = 1024;
constexpr std::size_t max_struct = 4096;  // a size beyond it is not one

/// Plain bytes, so that a thread that ends needs none of our destructors.
thread_local char last_error[max_error];

template <class Kind>
bool is_a(std::exception const& why) {
  return dynamic_cast<Kind const*>(&why) != nullptr;
}
struct error_kind {
  bool (*is_of)(std::exception const&);
  lull_status status;
};
/// Of two that fit, the first.
constexpr error_kind kinds[] = {{is_a<usage_error>, LULL_ERROR_ARGUMENT},
                                {is_a<input_error>, LULL_ERROR_INPUT},
                                {is_a<slow_node_error>, LULL_ERROR_SLOW_NODE},
                                {is_a<limit_error>, LULL_ERROR_LIMIT},
                                {is_a<device_error>, LULL_ERROR_DEVICE}};

std::uint32_t size_of(void const* given, char const* name) {
  require(given, name);
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > max_struct) {
    throw refusal{LULL_ERROR_ABI,
                  std::string{name} + "->size is " + std::to_string(size) + ": set it to the struct's sizeof"};
  }
  return size;
}

}  // namespace

lull_status failed(lull_status status, char const* call, char const* text) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s: %s", call, text);
  return status;
}

lull_status failed_by_exception(char const* call) noexcept {
  try {
    throw;
  } catch (refusal const& why) {
    return failed(why.status(), call, why.what());
  } catch (std::bad_alloc const&) {
    return failed(LULL_ERROR_LIMIT, call, "this computer is out of memory");
  } catch (std::exception const& why) {
    for (auto const& [is_of, status] : kinds) {
      if (is_of(why)) return failed(status, call, why.what());
    }
    return failed(LULL_ERROR_INTERNAL, call, why.what());
  } catch (...) {
    return failed(LULL_ERROR_INTERNAL, call, "an exception of an unknown type");
  }
}

void require(void const* pointer, char const* name) {
  if (pointer == nullptr) throw refusal{LULL_ERROR_ARGUMENT, std::string{name} + " is null"};
}

void give(std::string_view whole, char* text, std::size_t size, std::size_t* needed) {
  if (needed != nullptr) *needed = whole.size() + 1;
  if (text == nullptr && size == 0) {
    require(needed, "needed");
    return;
  }
  require(text, "text");
  if (size < whole.size() + 1) {
    throw refusal{LULL_ERROR_SIZE, "the text needs " + std::to_string(whole.size() + 1) +
                                       " bytes, but the buffer has " + std::to_string(size)};
  }
  *std::copy(whole.begin(), whole.end(), text) = '\0';
}

std::chrono::nanoseconds nanoseconds_of(std::uint64_t at_most_ns) noexcept {
  constexpr auto max = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  return std::chrono::nanoseconds{std::min(at_most_ns, max)};
}

void detail::take(void* into, std::size_t known, void const* given, char const* name) {
  std::uint32_t const size = size_of(given, name);
  auto const* const bytes = static_cast<unsigned char const*>(given);
  if (std::any_of(bytes + std::min<std::size_t>(known, size), bytes + size,
                  [](unsigned char byte) { return byte != 0; })) {
    throw refusal{LULL_ERROR_ABI,
                  std::string{name} + " sets a field that this library does not know: use a later liblull.so"};
  }
  std::memcpy(into, given, std::min<std::size_t>(known, size));
}

void detail::fill(void* into, void const* values, std::size_t known, char const* name) {
  std::uint32_t const size = size_of(into, name);
  auto* const bytes = static_cast<unsigned char*>(into);
  std::memcpy(bytes + sizeof size, static_cast<unsigned char const*>(values) + sizeof size,
              std::min<std::size_t>(known, size) - sizeof size);
  if (size > known) std::memset(bytes + known, 0, size - known);
}

}  // namespace lull::c

extern "C" char const* lull_error_text(void) { return lull::c::last_error; }
