// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/reference.hpp>

#include <algorithm>
#include <cmath>

namespace lull {

namespace {

using numbers = std::vector<double>;

struct parameters {
  numbers value;
  numbers gradient;
  numbers mean;
  numbers square;

  explicit parameters(std::vector<float> const& from)
      : value(from.begin(), from.end()), gradient(from.size()), mean(from.size()), square(from.size()) {}

  void step(mlp_settings const& by, double t) {
    double const b1 = static_cast<double>(by.mean_decay);
    double const b2 = static_cast<double>(by.square_decay);
    for (std::size_t i = 0; i < value.size(); ++i) {
      value[i] -= static_cast<double>(by.rate) * static_cast<double>(by.weight_decay) * value[i];
      mean[i] += (1 - b1) * (gradient[i] - mean[i]);
      square[i] += (1 - b2) * (gradient[i] * gradient[i] - square[i]);
      double const unbiased = mean[i] / (1 - std::pow(b1, t));
      value[i] -= static_cast<double>(by.rate) * unbiased /
                  (std::sqrt(square[i] / (1 - std::pow(b2, t))) + static_cast<double>(by.epsilon));
      gradient[i] = 0;
    }
  }
};

struct layer {
  std::size_t inputs;
  std::size_t outputs;
  parameters weights;
  parameters bias;
};

std::vector<layer> layers_from(std::span<layer_values const> from) {
  std::vector<layer> made;
  for (layer_values const& each : from)
    made.push_back({each.inputs, each.outputs, parameters{each.weights}, parameters{each.bias}});
  return made;
}

/// Returns the input of each layer, and last the logits.
std::vector<numbers> pass(std::vector<layer> const& layers, numbers row) {
  std::vector<numbers> all{std::move(row)};
  for (layer const& each : layers) {
    numbers out = each.bias.value;
    for (std::size_t i = 0; i < each.inputs; ++i) {
      for (std::size_t o = 0; o < each.outputs; ++o) out[o] += all.back()[i] * each.weights.value[i * each.outputs + o];
    }
    if (&each != &layers.back()) std::ranges::transform(out, out.begin(), [](double x) { return std::max(x, 0.0); });
    all.push_back(std::move(out));
  }
  return all;
}

/// Adds a row's gradient, as its share of a batch. Returns its loss.
double learn(std::vector<layer>& layers, std::vector<numbers> const& given, std::uint32_t label, double share) {
  numbers const& logits = given.back();
  double const greatest = *std::ranges::max_element(logits);
  double sum = 0;
  for (double const each : logits) sum += std::exp(each - greatest);
  numbers slope(logits.size());
  for (std::size_t c = 0; c < logits.size(); ++c)
    slope[c] = share * (std::exp(logits[c] - greatest) / sum - (c == label ? 1 : 0));
  for (std::size_t l = layers.size(); l-- > 0;) {
    layer& here = layers[l];
    numbers below(here.inputs);
    for (std::size_t i = 0; i < here.inputs; ++i) {
      for (std::size_t o = 0; o < here.outputs; ++o) {
        here.weights.gradient[i * here.outputs + o] += given[l][i] * slope[o];
        below[i] += here.weights.value[i * here.outputs + o] * slope[o];
      }
      if (given[l][i] <= 0) below[i] = 0;
    }
    for (std::size_t o = 0; o < here.outputs; ++o) here.bias.gradient[o] += slope[o];
    slope = std::move(below);
  }
  return std::log(sum) + greatest - logits[label];
}

numbers row_at(row_table const& rows, std::size_t at, double scale) {
  std::size_t const features = rows.values.size() / rows.labels.size();
  numbers made(features);
  for (std::size_t i = 0; i < features; ++i) made[i] = static_cast<double>(rows.values[at * features + i]) * scale;
  return made;
}

/// Returns the order of the first epoch, as tasks/mlp/shuffled.hpp defines it.
std::vector<std::uint32_t> first_order(std::uint64_t seed, std::uint32_t count) {
  auto const split_mix = [](std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  unsigned half = 1;
  while ((1ULL << (2 * half)) < count) ++half;
  std::uint64_t const low = (1ULL << half) - 1;
  std::vector<std::uint32_t> order;
  for (std::uint32_t place = 0; place < count; ++place) {
    std::uint64_t value = place;
    do {
      std::uint64_t halves[2] = {value >> half, value & low};
      for (std::uint64_t round = 0; round < 6; ++round) {
        std::uint64_t const mixed = split_mix(split_mix(seed) ^ (round << 32 | halves[1]));
        std::uint64_t const next = halves[0] ^ (mixed & low);
        halves[0] = halves[1];
        halves[1] = next;
      }
      value = halves[0] << half | halves[1];
    } while (value >= count);
    order.push_back(static_cast<std::uint32_t>(value));
  }
  return order;
}

}  // namespace

double reference_first_loss(std::span<layer_values const> first, row_table const& training,
                            mlp_settings const& settings) {
  std::vector<layer> layers = layers_from(first);
  auto const rows = static_cast<std::uint32_t>(training.labels.size());
  std::vector<std::uint32_t> const order = first_order(settings.seed, rows);
  double loss = 0;
  double step = 0;
  for (std::uint32_t begin = 0; begin < rows; begin += settings.batch) {
    std::uint32_t const end = std::min(begin + settings.batch, rows);
    for (std::uint32_t at = begin; at < end; ++at) {
      auto const given = pass(layers, row_at(training, order[at], static_cast<double>(settings.scale)));
      loss += learn(layers, given, training.labels[order[at]], 1.0 / (end - begin));
    }
    ++step;
    for (layer& each : layers) {
      each.weights.step(settings, step);
      each.bias.step(settings, step);
    }
  }
  return loss / rows;
}

reference_answers reference_right(std::span<layer_values const> from, row_table const& rows, double scale,
                                  double roundoff) {
  reference_answers found;
  double const share = roundoff * roundoff / 3;
  for (std::size_t at = 0; at < rows.labels.size(); ++at) {
    numbers value = row_at(rows, at, scale);
    numbers variance(value.size());
    for (layer_values const& each : from) {
      numbers next(each.bias.begin(), each.bias.end());
      numbers spread(next.size());
      for (std::size_t i = 0; i < each.inputs; ++i) {
        for (std::size_t o = 0; o < each.outputs; ++o) {
          auto const weight = static_cast<double>(each.weights[i * each.outputs + o]);
          next[o] += value[i] * weight;
          spread[o] += weight * weight * (variance[i] + 2 * share * value[i] * value[i]);
        }
      }
      if (&each != &from.back()) {
        for (std::size_t o = 0; o < next.size(); ++o) {
          if (next[o] < -6 * std::sqrt(spread[o])) spread[o] = 0;  // the activation is 0, come what may
          next[o] = std::max(next[o], 0.0);
        }
      }
      value = std::move(next);
      variance = std::move(spread);
    }
    auto const greatest = static_cast<std::size_t>(std::ranges::max_element(value) - value.begin());
    found.right += greatest == rows.labels[at] ? 1 : 0;
    bool unsure = false;
    for (std::size_t c = 0; c < value.size(); ++c) {
      unsure |= c != greatest && !(value[greatest] - value[c] > 6 * std::sqrt(variance[greatest] + variance[c]));
    }
    found.unsure += unsure ? 1 : 0;
  }
  return found;
}

}  // namespace lull
