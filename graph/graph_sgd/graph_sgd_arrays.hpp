// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/graph_sgd/graph_sgd.hpp>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <vector>

namespace lull {

struct graph_sgd_settings {
  std::uint32_t factors = 32;  // 8, 16, 32 or 64
  std::uint32_t epochs = 20;
  float rate = 0.05F;
  float decay = 0.1F;
  float l2 = 0.05F;
  std::uint64_t seed = 1;
};

/// What an epoch came to: root mean squares of errors.
struct epoch_errors {
  double training;  // over the ratings to learn from, each before its update
  double held_out;  // after the epoch; 0 where none is held out
};

/// Writes factors before the first epoch, from number `first` on. All of them are those of all users and then those of
/// all items, (rows, factors): uniform in ±1/√factors, drawn by counter_random{seed, 0}.
void first_factors(std::span<float> to, std::uint64_t first, graph_sgd_settings const& settings);

/// What a factorisation works on, on a machine. Must go before the machine does.
class graph_sgd_arrays {
 public:
  /// `ordered`: that of `blocks`, whose own may be empty by now; it is freed when it is on the machine, before the
  /// factors take memory. Users and items in `held_out` are below `users` and `items`. Throws limit_error, usage_error
  /// for other factors.
  graph_sgd_arrays(device_memory& memory, host_array<placed_rating> ordered, rating_blocks const& blocks,
                   std::span<rating const> held_out, std::uint32_t users, std::uint32_t items, double mean,
                   graph_sgd_settings const& settings);

  /// `blocks`: groups × phases. `rows`: users and items.
  static std::uint64_t bytes(std::uint64_t ratings, std::uint64_t held_out, std::uint64_t groups, std::uint64_t blocks,
                             std::uint64_t rows, graph_sgd_settings const& settings);

  /// The task over them.
  job_description describe(std::string name = "graph_sgd") const;
  std::uint64_t rounds() const noexcept { return rounds_; }
  /// Those that a run writes.
  std::vector<task_array> written() const { return table_.written(); }
  void reset();

  /// The blocks' ratings, as the task reads them.
  host_array<placed_rating> ordered() const;
  std::vector<float> user_factors() const { return table_.read(model_.user_factors); }
  std::vector<float> item_factors() const { return table_.read(model_.item_factors); }
  /// Of all epochs; those that were not reached, because the job stopped, are 0.
  std::vector<epoch_errors> errors() const;
  bool stopped() const { return table_.read(model_.stopped).front() != 0; }

 private:
  void write_first();

  graph_sgd_settings settings_;
  std::uint64_t rounds_;
  std::uint64_t ratings_;
  graph_sgd_model model_;
  array_table table_;
};

/// Calls `use` with the task type of so many factors: use.template operator()<graph_sgd<32>>(). Throws usage_error for
/// other numbers than 8, 16, 32 and 64.
template <class Use>
auto with_graph_sgd(std::uint32_t factors, Use const& use) {
  switch (factors) {
    case 8:
      return use.template operator()<graph_sgd<8>>();
    case 16:
      return use.template operator()<graph_sgd<16>>();
    case 32:
      return use.template operator()<graph_sgd<32>>();
    case 64:
      return use.template operator()<graph_sgd<64>>();
    default:
      throw usage_error{"graph_sgd: " + std::to_string(factors) + " factors: give 8, 16, 32 or 64"};
  }
}

}  // namespace lull
