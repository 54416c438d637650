// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/world.hpp>

namespace lull {

/// A number that is not negative: fraction × 2^(512 × scale). It has the precision of a double, and a range that no
/// count of paths leaves: a mesh of 2,048² vertices has almost 2^4090 of them between two corners. Operations round
/// once, as a double does; none gives an infinity or a NaN. Thread-safe as a double is.
struct alignas(16) wide_number {
  double fraction = 0;     // 0, or from 2^-256 to below 2^256
  std::int64_t scale = 0;  // of 0: 0

  LULL_HD static constexpr wide_number of(double fraction, std::int64_t scale = 0) noexcept {
    if (fraction == 0) return {};
    if (fraction >= 0x1p256) return {fraction * 0x1p-512, scale + 1};
    if (fraction < 0x1p-256) return {fraction * 0x1p512, scale - 1};
    return {fraction, scale};
  }

  /// 0 where it is below 2^-768. Must be below 2^256.
  LULL_HD constexpr double value() const noexcept {
    return scale == 0 ? fraction : scale == -1 ? fraction * 0x1p-512 : 0;
  }

  friend LULL_HD constexpr wide_number operator+(wide_number a, wide_number b) noexcept {
    if (a.scale == b.scale) return of(a.fraction + b.fraction, a.scale);
    if (a.fraction == 0) return b;
    if (b.fraction == 0) return a;
    wide_number const& more = a.scale > b.scale ? a : b;
    wide_number const& less = a.scale > b.scale ? b : a;
    if (more.scale - less.scale > 1) return more;  // the other one is less than half of its last bit
    return of(more.fraction + less.fraction * 0x1p-512, more.scale);
  }
  friend LULL_HD constexpr wide_number operator*(wide_number a, wide_number b) noexcept {
    return of(a.fraction * b.fraction, a.scale + b.scale);
  }
  /// `a`: from 1 to 2^256; `b`: not 0.
  friend LULL_HD constexpr wide_number operator/(double a, wide_number b) noexcept {
    return of(a / b.fraction, -b.scale);
  }

  friend constexpr bool operator==(wide_number, wide_number) = default;
};

}  // namespace lull
