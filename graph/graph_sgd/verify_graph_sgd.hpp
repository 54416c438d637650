// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/host/task/owner.hpp>
#include <optional>
#include <span>

namespace lull {

/// What was factorised, and how.
struct graph_sgd_problem {
  ratings const& training;
  std::span<rating const> held_out;
  rating_blocks const& blocks;  // of the training ratings
  double mean;
  graph_sgd_settings settings;
  std::optional<double> noise{};  // the standard deviation of what no factors can tell, where that is known
};

/// What came of it.
struct graph_sgd_result {
  std::span<float const> user_factors;   // (users, factors)
  std::span<float const> item_factors;   // (items, factors)
  std::span<epoch_errors const> errors;  // (epochs,)
};

/// Judges a factorisation in double precision, one rating after the other:
/// - the blocks hold each training rating once, and no two blocks of a phase share a user or an item;
/// - the first epochs, all if they are below about 2·10⁹ products, done again in the order of the blocks, have the
///   errors told, to one part in 10⁴; if those were all epochs, the factors agree, too, to 10⁻³;
/// - the last factors give the last error told on what is held out;
/// - that error is not below the noise, by more than four of its standard errors.
verification verify_graph_sgd(graph_sgd_problem const& problem, graph_sgd_result const& result);

}  // namespace lull
