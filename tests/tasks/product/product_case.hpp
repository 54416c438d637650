// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/product/product_operands.hpp>
#include <lull/tasks/product/tile_product.hpp>

namespace lull::test {

inline std::vector<bfloat16> random_numbers(std::size_t count, std::uint64_t seed) {
  counter_random const random{seed, 0};
  std::vector<bfloat16> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = bfloat16{static_cast<float>(random.at(i) >> 40) * 0x1p-23F - 1};
  return made;
}

/// Makes one product on the machine and compares every element with sums in double precision. Returns the first wrong
/// one, or nothing.
template <minor A, minor B, class Number, class Finish = as_it_is>
std::string product_violation(executor& executor, large_shape const& shape) {
  product_operand const a_plan = operand_at(nullptr, A, shape.rows, shape.depth);
  product_operand const b_plan = operand_at(nullptr, B, shape.columns, shape.depth);
  std::vector<bfloat16> const a_host = random_numbers(a_plan.step * shape.count, 1);
  std::vector<bfloat16> const b_host = random_numbers(b_plan.step * shape.count, 2);
  std::vector<float> bias_host(shape.columns);
  for (std::uint32_t i = 0; i < shape.columns; ++i) bias_host[i] = static_cast<float>(i % 7) - 3;
  device_array<bfloat16> const a{executor, std::span<bfloat16 const>{a_host}};
  device_array<bfloat16> const b{executor, std::span<bfloat16 const>{b_host}};
  device_array<float> const bias{executor, std::span<float const>{bias_host}};
  /// The memory between the rows must stay unchanged.
  std::uint64_t const pitch = shape.columns + (shape.columns % 8 == 0 ? 8 : 3);
  device_array<Number> result{executor, pitch * shape.rows * shape.count};
  large_product<A, B> of{shape, {a.data(), a_plan.pitch, a_plan.step}, {b.data(), b_plan.pitch, b_plan.step}, nullptr};
  device_array<tensor_map> const maps = maps_of(executor, of);
  of.maps = maps.data();
  constexpr bool biased = std::is_same_v<Finish, biased_relu>;
  tile_product<A, B, Number, Finish> task{of, {result.data(), pitch, pitch * shape.rows}, {}, 1};
  if constexpr (biased) task.finish.bias = bias.data();
  if (!run_to_end(describe(task, "product"), executor).finished) return "the job did not finish";
  std::vector<Number> const found = result.read();
  for (std::uint32_t count = 0; count < shape.count; ++count) {
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      for (std::uint32_t column = 0; column < pitch; ++column) {
        double sum = 0;
        double size = 0;
        for (std::uint32_t k = 0; column < shape.columns && k < shape.depth; ++k) {
          auto const at = [&](std::vector<bfloat16> const& values, product_operand const& plan, minor which,
                              std::uint32_t side) {
            return static_cast<double>(static_cast<float>(
                values[count * plan.step + (which == minor::depth ? side * plan.pitch + k : k * plan.pitch + side)]));
          };
          double const term = at(a_host, a_plan, A, row) * at(b_host, b_plan, B, column);
          sum += term;
          size += std::abs(term);
        }
        double expected = 0;
        if (column < shape.columns)
          expected = biased ? std::max(0.0, sum + static_cast<double>(bias_host[column])) : sum;
        double const allowed = (shape.depth + 2) * std::ldexp(size + 3, -23) +
                               (sizeof(Number) == 2 ? std::ldexp(std::abs(expected), -8) : 0);
        double const is =
            static_cast<double>(static_cast<float>(found[(std::uint64_t{count} * shape.rows + row) * pitch + column]));
        if (column < shape.columns ? !(std::abs(is - expected) <= allowed) : is != 0) {
          std::ostringstream text;
          text << shape.rows << " x " << shape.columns << " x " << shape.depth << ": product " << count << ", row "
               << row << ", column " << column << " is " << is << ", expected " << expected;
          return text.str();
        }
      }
    }
  }
  return "";
}

/// Products with whole tiles and with pieces of them, of one step and of many.
inline std::vector<large_shape> shapes_to_try() {
  return {{1, 1, 1, 1},      {8, 8, 8, 2},       {64, 10, 72, 1},   {128, 256, 64, 1},
          {129, 257, 65, 1}, {256, 512, 320, 1}, {300, 520, 200, 3}};
}

}  // namespace lull::test
