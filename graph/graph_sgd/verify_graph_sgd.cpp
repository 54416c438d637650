// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <lull/graph/graph_sgd/verify_graph_sgd.hpp>
#include <lull/host/task/counter_random.hpp>
#include <numeric>
#include <vector>

namespace lull {
namespace {

constexpr double max_products = 2e9;
constexpr double error_tolerance = 1e-4;  // fp32 errs by 10⁻⁷ a step, in either direction
constexpr double factor_tolerance = 1e-3;

template <class Rating>
std::uint64_t mark_of(Rating const& given) {
  return counter_random::mix((std::uint64_t{given.user} << 32 | given.item) * 0x9e37'79b9'7f4a'7c15 +
                             counter_random::mix(std::bit_cast<std::uint32_t>(given.value)));
}

/// Empty if they are as they should be.
std::string fault_of(rating_blocks const& blocks, ratings const& training) {
  auto const sum = [](auto const& all) {
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                           [](std::uint64_t so_far, auto const& each) { return so_far + mark_of(each); });
  };
  if (blocks.ordered.size() != training.all.size() || sum(blocks.ordered) != sum(training.all))
    return "the blocks do not hold each rating once";
  constexpr std::uint64_t never = ~0ULL;
  std::vector<std::uint64_t> of_user(training.users, never);
  std::vector<std::uint64_t> of_item(training.items, never);
  for (std::uint64_t block = 0; block + 1 < blocks.begins.size(); ++block) {
    std::uint64_t const begin = blocks.begins[block];
    std::uint64_t const end = blocks.begins[block + 1];
    if (end < begin || end - begin > rating_blocks::max_block) return "block " + std::to_string(block) + " is too long";
    auto const shared = [&](std::uint64_t& last) {
      bool const wrong = last != never && last != block && last / blocks.groups == block / blocks.groups;
      last = block;
      return wrong;
    };
    for (std::uint64_t at = begin; at < end; ++at) {
      placed_rating const& each = blocks.ordered[at];
      if (shared(of_user[each.user]) || shared(of_item[each.item]))
        return "two blocks of phase " + std::to_string(block / blocks.groups) + " share a user or an item";
    }
  }
  return blocks.begins.back() == training.all.size() ? "" : "the blocks end before the ratings do";
}

/// Stochastic gradient descent in double precision, from the beginning.
class replay {
 public:
  explicit replay(graph_sgd_problem const& problem) : problem_(problem), count_(problem.settings.factors) {
    std::uint64_t const users = problem.training.users;
    std::vector<float> first((users + problem.training.items) * count_);
    first_factors(first, 0, problem.settings);
    auto const middle = first.begin() + static_cast<std::ptrdiff_t>(users * count_);
    user_.assign(first.begin(), middle);
    item_.assign(middle, first.end());
  }

  double epoch(std::uint32_t number) {
    graph_sgd_settings const& s = problem_.settings;
    rating_blocks const& blocks = problem_.blocks;
    double const rate = static_cast<double>(s.rate) / (1 + static_cast<double>(s.decay) * number);
    double square = 0;
    std::vector<bool> came(blocks.phases);
    for (std::uint32_t place = 0; place < blocks.phases; ++place) {
      std::uint64_t const phase = phase_in(number, place, blocks.phases);
      if (came.at(phase)) return std::numeric_limits<double>::quiet_NaN();  // no order of all phases
      came[phase] = true;
      for (std::uint64_t at = blocks.begins[phase * blocks.groups], end = blocks.begins[(phase + 1) * blocks.groups];
           at < end; ++at) {
        double const error = learn(blocks.ordered[at], rate);
        square += error * error;
      }
    }
    return std::sqrt(square / static_cast<double>(blocks.ordered.size()));
  }

  std::span<double const> user_factors() const { return user_; }
  std::span<double const> item_factors() const { return item_; }

 private:
  double learn(placed_rating const& given, double rate) {
    double* const user = &user_[given.user * count_];
    double* const item = &item_[given.item * count_];
    double const l2 = static_cast<double>(problem_.settings.l2);
    double const error =
        static_cast<double>(given.value) - problem_.mean - std::inner_product(user, user + count_, item, 0.0);
    for (std::size_t f = 0; f < count_; ++f) {
      double const before = user[f];
      user[f] += rate * (error * item[f] - l2 * user[f]);
      item[f] += rate * (error * before - l2 * item[f]);
    }
    return error;
  }

  graph_sgd_problem const& problem_;
  std::size_t count_;
  std::vector<double> user_;
  std::vector<double> item_;
};

template <class Number>
double held_out_error(graph_sgd_problem const& problem, std::span<Number const> user, std::span<Number const> item) {
  if (problem.held_out.empty()) return 0;
  std::size_t const count = problem.settings.factors;
  double square = 0;
  for (rating const& each : problem.held_out) {
    double guess = problem.mean;
    for (std::size_t f = 0; f < count; ++f)
      guess += static_cast<double>(user[each.user * count + f]) * static_cast<double>(item[each.item * count + f]);
    double const error = static_cast<double>(each.value) - guess;
    square += error * error;
  }
  return std::sqrt(square / static_cast<double>(problem.held_out.size()));
}

bool close(double found, double expected) { return std::abs(found - expected) <= error_tolerance * expected; }

bool close(std::span<float const> found, std::span<double const> expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end(), [](float a, double b) {
    return std::abs(static_cast<double>(a) - b) <= factor_tolerance * (1 + std::abs(b));
  });
}

std::string in_words(char const* format, auto... values) {
  char text[300];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Empty if the epochs that are done again agree; `replayed`: how many they are.
std::string fault_of_epochs(graph_sgd_problem const& problem, graph_sgd_result const& result, std::uint32_t replayed) {
  replay again{problem};
  for (std::uint32_t epoch = 0; epoch < replayed; ++epoch) {
    epoch_errors const expected{again.epoch(epoch),
                                held_out_error(problem, again.user_factors(), again.item_factors())};
    epoch_errors const& found = result.errors[epoch];
    if (!close(found.training, expected.training) || !close(found.held_out, expected.held_out))
      return in_words("epoch %u has errors of %.6f and %.6f held out, but in double precision %.6f and %.6f", epoch + 1,
                      found.training, found.held_out, expected.training, expected.held_out);
  }
  bool const all = replayed == problem.settings.epochs;
  if (all && !(close(result.user_factors, again.user_factors()) && close(result.item_factors, again.item_factors())))
    return "the factors are not those of the same descent in double precision";
  return {};
}

}  // namespace

verification verify_graph_sgd(graph_sgd_problem const& problem, graph_sgd_result const& result) {
  if (std::string fault = fault_of(problem.blocks, problem.training); !fault.empty()) return {false, fault};
  double const products = static_cast<double>(problem.training.all.size()) * problem.settings.factors;
  auto const affordable = static_cast<std::uint32_t>(std::clamp(max_products / products, 1.0, 1e6));
  std::uint32_t const replayed = std::min(affordable, problem.settings.epochs);
  if (std::string fault = fault_of_epochs(problem, result, replayed); !fault.empty()) return {false, fault};

  double const told = result.errors.back().held_out;
  double const found = held_out_error(problem, result.user_factors, result.item_factors);
  if (!close(told, found))
    return {false, in_words("the last factors have an error of %.6f held out, but %.6f was told", found, told)};
  double const spread = 4 * std::sqrt(0.5 / static_cast<double>(std::max<std::size_t>(problem.held_out.size(), 1)));
  if (problem.noise && !problem.held_out.empty() && found < *problem.noise * (1 - spread))
    return {false, in_words("an error of %.6f held out is below the noise, %.6f: nothing can tell what is random",
                            found, *problem.noise)};
  std::string message = in_words(
      "%u of %u epochs agree with the same descent in double precision, and the last "
      "factors with an error of %.6f held out",
      replayed, problem.settings.epochs, found);
  if (problem.noise) message += in_words(", where %.6f is noise", *problem.noise);
  return {true, message};
}

}  // namespace lull
