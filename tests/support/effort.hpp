// SPDX-License-Identifier: Apache-2.0
// How often a test repeats itself.
#pragma once

#include <cstdint>

namespace lull {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// Returns a quarter of so many random trials under a sanitizer, where each takes several times as long. Builds without
/// one run all of them.
constexpr std::uint64_t trials(std::uint64_t all) { return is_sanitized ? (all + 3) / 4 : all; }

}  // namespace lull
