// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/tasks/product/large_product.hpp>

namespace lull {

/// An operand with its rows one after another, padded to what tensor copies ask for. `side`: rows or columns of the
/// result.
constexpr product_operand operand_at(bfloat16 const* at, minor which, std::uint32_t side, std::uint32_t depth) {
  std::uint64_t const pitch = ((which == minor::depth ? depth : side) + 7U) / 8 * 8;
  return {at, pitch, pitch * (which == minor::depth ? side : depth)};
}

namespace detail {

inline tensor_map map_of(product_operand const& operand, minor which, std::uint32_t side, std::uint32_t depth,
                         std::uint32_t count, std::uint32_t sides) {
  if (operand.pitch % 8 != 0 || operand.step % 8 != 0)
    throw usage_error{"an operand of a large product has a pitch or step that is no multiple of 8 elements"};
  bool const by_depth = which == minor::depth;
  return map_of_boxes(operand.at,
                      {by_depth ? depth : side, by_depth ? side : depth, count, operand.pitch, operand.step},
                      by_depth ? sides : large_tiles::depth);
}

}  // namespace detail

/// The maps that a product needs on a GPU, in its memory; none on CPU threads. Set `of.maps` to its data. Errors:
/// usage_error for a product without elements, or with a pitch that is no multiple of 8.
template <minor A, minor B>
device_array<tensor_map> maps_of(executor& executor, large_product<A, B> const& of) {
  large_shape const& shape = of.shape;
  if (shape.rows == 0 || shape.columns == 0 || shape.depth == 0 || shape.count == 0)
    throw usage_error{"a product needs rows, columns, a depth and a count"};
  if (large_tiles{shape}.number() >= 0xffff'ffffU)
    throw limit_error{"a product has too many tiles: fewer than 2^32 - 1 can be told apart"};
  if (executor.kind() != executor_kind::cuda) return {};
  device_guard const inside{executor};
  std::array const maps{detail::map_of(of.a, A, shape.rows, shape.depth, shape.count, large_tiles::rows),
                        detail::map_of(of.b, B, shape.columns, shape.depth, shape.count, large_tiles::columns)};
  return {executor, std::span<tensor_map const>{maps}};
}

}  // namespace lull
