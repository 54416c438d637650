// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/carry_fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lull {

void carry_fit::add(double deviation, exposure const& of) noexcept {
  std::array const relative{deviation, of.here, of.carried};
  for (std::size_t at = 0; at < relative.size(); ++at) {
    draw_sums_[at] += of.drawn_here * relative[at];
    draw_sums_[at + relative.size()] += of.drawn_carried * relative[at];
  }
  std::size_t pair = 0;
  for (std::size_t at = 0; at < relative.size(); ++at) {
    for (std::size_t other = at; other < relative.size(); ++other)
      draw_squares_[pair++] += relative[at] * relative[other];
  }
}

void carry_fit::end_draw(double prior) noexcept {
  std::size_t pair = 0;
  for (std::size_t at = 0; at < terms; ++at) {
    sums_[at] += draw_sums_[at];
    squares_[at] += draw_squares_[at];
    for (std::size_t other = at; other < terms; ++other) products_[pair++] += draw_sums_[at] * draw_sums_[other];
  }
  draw_sums_ = {};
  draw_squares_ = {};
  prior_ = prior;
}

bool carry_fit::can_tell() const noexcept { return determinant() > 1e-9; }

carry_fit::effects carry_fit::found() const noexcept {
  double const d = determinant();
  return {.here = (sums_[0] * of_carried() - sums_[2] * sums_[3]) / d,
          .carried = (sums_[1] * sums_[3] - sums_[0] * sums_[4]) / d};
}

double carry_fit::error2() const noexcept {
  auto const [here, carried] = found();
  double const d = determinant();
  double const first = (of_carried() - sums_[4]) / d;
  double const second = (sums_[1] - sums_[2]) / d;
  std::array const influence{first, -first * here, -first * carried, second, -second * here, -second * carried};
  double sum = 0;
  std::size_t pair = 0;
  for (std::size_t at = 0; at < terms; ++at) {
    for (std::size_t other = at; other < terms; ++other)
      sum += (at == other ? 1 : 2) * influence[at] * influence[other] * products_[pair++];
  }
  return std::max(sum, 0.0);
}

double carry_fit::left() const noexcept {
  auto const [here, carried] = found();
  auto const& [dd, dh, dc, hh, hc, cc] = squares_;
  return dd - 2 * here * dh - 2 * carried * dc + here * here * hh + 2 * here * carried * hc + carried * carried * cc;
}

double carry_fit::direct_error2() const noexcept {
  double const s = direct();
  // products_ of the deviation's term with itself and with A's, and of A's with itself
  double const sum = products_[0] + s * (s * products_[terms] - 2 * products_[1]);
  return std::max(sum, 0.0) / (sums_[1] * sums_[1]);
}

carry_fit carry_fit::operator-(carry_fit const& other) const noexcept {
  carry_fit rest = *this;
  for (std::size_t at = 0; at < terms; ++at) {
    rest.sums_[at] -= other.sums_[at];
    rest.squares_[at] -= other.squares_[at];
  }
  for (std::size_t at = 0; at < products_.size(); ++at) rest.products_[at] -= other.products_[at];
  return rest;
}

}  // namespace lull
