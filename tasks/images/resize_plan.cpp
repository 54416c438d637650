// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/resize_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include <lull/tasks/images/filter.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

namespace {

constexpr std::size_t line = 256;  // what pieces of a buffer are aligned to

// For an item that is not a tile: some microseconds of a team's work.
constexpr std::uint32_t taps_an_item = 16'384;
constexpr std::uint32_t max_pixels_an_item = 4096;
/// With more taps the team shares one pixel's taps.
constexpr std::uint32_t max_taps_a_thread = 64;

// For a tile, in instructions, counted in the code and not yet measured: an SM may run about 4,000 of its warps'
// instructions in a microsecond, for two to four teams.
constexpr std::uint64_t max_warp_instructions = 28'000;
constexpr std::uint64_t max_thread_instructions = 9'000;
// For the tiles of a chunk: many a single tile needs as much.
constexpr std::uint64_t max_warp_instructions_together = 18'000;
constexpr std::uint64_t min_chunks = 500;  // of a picture: a GPU has some hundred teams
constexpr std::uint64_t instructions_a_tile = 300;
constexpr std::uint64_t instructions_a_column_unit = 60;
constexpr std::uint64_t instructions_a_column_tap = 44;
constexpr std::uint64_t instructions_a_row_unit = 200;
constexpr std::uint64_t instructions_a_straight_unit = 200;
constexpr std::uint32_t straight_width = 128;  // of a tile that needs no storage
constexpr std::uint32_t straight_heights[] = {16, 8, 4, 2};
constexpr std::uint32_t tile_widths[] = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::uint32_t tile_heights[] = {2, 4, 6, 8, 12, 16, 24, 32};

constexpr std::uint64_t team = static_cast<std::uint64_t>(resize_pictures::shape.threads);

std::size_t rounded_up(std::size_t bytes) { return (bytes + line - 1) / line * line; }
template <class T>
T divided_up(T what, T by) {
  return (what + by - 1) / by;
}

/// Returns the most samples of the source from the first tap of one sample to the last tap of the `count - 1`th sample
/// after it.
std::uint32_t max_span(image_filter filter, std::uint32_t from, std::uint32_t to, std::uint32_t count) {
  double const further = std::ceil(static_cast<double>(from) / to * (count - 1)) + 1;
  return static_cast<std::uint32_t>(std::min<double>(from, max_taps(filter, from, to) + (count > 1 ? further : 0)));
}

std::uint32_t row_pairs(resize_plan const& plan) { return divided_up(plan.out.height, resize_tile::rows_at_once); }

/// Instructions of a tile: of all its warps together, and of the busiest thread.
struct tile_cost {
  std::uint64_t warps = 0;
  std::uint64_t thread = 0;

  void add(std::uint64_t units, std::uint64_t instructions) {
    warps += divided_up<std::uint64_t>(units, 32) * instructions;
    thread += divided_up(units, team) * instructions;
  }
};

/// Instructions of a thread that makes two pixels straight from the picture.
std::uint64_t straight_unit(std::uint32_t channels, std::uint64_t taps_across, std::uint64_t taps_down) {
  constexpr std::uint64_t rows = resize_tile::straight_rows;
  constexpr std::uint64_t taps = resize_tile::straight_taps;
  std::uint64_t const together = rows * (taps * 4 * channels + 2 * channels + 6);
  return instructions_a_straight_unit + divided_up(taps_across, taps) * divided_up(taps_down, rows) * together;
}

/// Where the parts of a picture are in its buffer.
struct pieces {
  std::size_t across;
  std::size_t down;
  std::size_t weights;
  std::size_t staged;
  std::size_t out;
  std::size_t end;

  pieces(resize_plan const& plan, bool tiled) {
    std::size_t const rows = tiled ? row_pairs(plan) : plan.out.height;
    across = rounded_up(plan.in.bytes() + picture::read_beyond);
    down = across + rounded_up(plan.out.width * sizeof(taps));
    weights = down + rounded_up(rows * sizeof(taps));
    staged = weights + rounded_up((down_weights(plan, tiled) + across_weights(plan)) * sizeof(float));
    std::size_t const between =
        tiled ? 0 : std::size_t{plan.out.width} * plan.in.height * plan.in.channels * sizeof(float);
    out = staged + rounded_up(between);
    end = out + rounded_up(plan.out.bytes());
  }

  static std::size_t down_weights(resize_plan const& plan, bool tiled) {
    if (!tiled) return std::size_t{max_taps(plan.filter, plan.in.height, plan.out.height)} * plan.out.height;
    std::size_t const span = max_span(plan.filter, plan.in.height, plan.out.height, resize_tile::rows_at_once);
    return span * row_pairs(plan) * resize_tile::rows_at_once;
  }
  static std::size_t across_weights(resize_plan const& plan) {
    return std::size_t{max_taps(plan.filter, plan.in.width, plan.out.width)} * plan.out.width;
  }
};

/// Merges the samples of each two rows; weights alternate, and are 0 where only the other row has a sample.
void pair_up(std::vector<taps>& rows, std::vector<float>& weights) {
  std::vector<taps> pairs;
  std::vector<float> made;
  for (std::size_t row = 0; row < rows.size(); row += resize_tile::rows_at_once) {
    taps const upper = rows[row];
    taps const lower = row + 1 < rows.size() ? rows[row + 1] : taps{upper.first, 0, 0};
    std::uint32_t const first = std::min(upper.first, lower.first);
    std::uint32_t const count = std::max(upper.first + upper.count, lower.first + lower.count) - first;
    auto const begin = static_cast<std::uint32_t>(made.size());
    pairs.push_back({first, count, begin});
    made.resize(made.size() + std::size_t{count} * 2);
    for (std::uint32_t i = 0; i < upper.count; ++i)
      made[begin + 2 * (upper.first - first + i)] = weights[upper.weights + i];
    for (std::uint32_t i = 0; i < lower.count; ++i)
      made[begin + 2 * (lower.first - first + i) + 1] = weights[lower.weights + i];
  }
  rows = std::move(pairs);
  weights = std::move(made);
}

}  // namespace

std::optional<tile_plan> resize_plan::tiles() const noexcept {
  std::uint64_t const row_tap = 7U * in.channels + 9U;
  std::uint64_t const taps_down = max_span(filter, in.height, out.height, resize_tile::rows_at_once);
  std::uint64_t const taps_across = max_taps(filter, in.width, out.width);
  std::optional<tile_plan> best;
  double best_score = std::numeric_limits<double>::infinity();
  auto const consider = [&](tile_plan plan, tile_cost const& cost, std::uint64_t pixels) {
    if (cost.warps > max_warp_instructions || cost.thread > max_thread_instructions) return;
    // warps that wait for the busiest one hold registers that others could use
    double const score =
        (static_cast<double>(cost.warps) + static_cast<double>(cost.thread * team / 32)) / static_cast<double>(pixels);
    if (score >= best_score) return;
    best_score = score;
    plan.together = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, max_warp_instructions_together / cost.warps));
    best = plan;
  };
  if (std::uint64_t{in.width} * in.channels * in.bits % 32 == 0) {  // rows begin at whole words
    std::uint64_t const unit = straight_unit(in.channels, max_shared_taps(filter, in.width, out.width, 1),
                                             max_shared_taps(filter, in.height, out.height, resize_tile::rows_at_once));
    std::uint64_t const wide = std::min(straight_width, out.width);
    for (std::uint32_t const height : straight_heights) {
      tile_cost cost;
      cost.add(wide * divided_up(std::min(height, out.height), resize_tile::rows_at_once), unit);
      if (cost.warps <= max_warp_instructions_together)
        consider({straight_width, height, 0, 1}, cost, wide * std::min(height, out.height));
    }
  }
  for (std::uint32_t const width : tile_widths) {
    std::uint32_t const columns = std::min(
        in.width, max_span(filter, in.width, out.width, std::min(width, out.width)) + resize_tile::first_multiple - 1);
    std::uint32_t const row_floats = resize_tile::row_floats(columns, in.channels);
    for (std::uint32_t const height : tile_heights) {
      if (std::size_t{row_floats} * height * sizeof(float) > resize_tile::storage_bytes) break;
      std::uint64_t const pairs = divided_up(std::min(height, out.height), resize_tile::rows_at_once);
      std::uint64_t const wide = std::min(width, out.width);
      tile_cost cost;
      cost.add(divided_up<std::uint64_t>(std::uint64_t{columns} * in.channels, resize_tile::samples_at_once) * pairs,
               instructions_a_column_unit + taps_down * instructions_a_column_tap);
      cost.add(wide * divided_up<std::uint64_t>(pairs, resize_tile::pairs_at_once),
               instructions_a_row_unit + taps_across * row_tap);
      cost.add(team, instructions_a_tile);
      consider({width, height, row_floats, 1}, cost, wide * std::min(height, out.height));
    }
  }
  return best;
}

std::size_t resize_plan::staged_bytes() const noexcept { return pieces{*this, tiles().has_value()}.staged; }
std::size_t resize_plan::bytes() const noexcept { return pieces{*this, tiles().has_value()}.end; }

void resize_plan::add_tables(std::span<unsigned char> staged) const {
  bool const tiled = tiles().has_value();
  pieces const at{*this, tiled};
  if (staged.size() != at.staged) throw std::logic_error{"tables into memory of another size"};
  std::vector<float> weights;
  std::vector<taps> down_taps = taps_of(filter, in.height, out.height, weights);
  if (tiled) pair_up(down_taps, weights);
  std::vector<float> of_columns;
  std::vector<taps> across_taps = taps_of(filter, in.width, out.width, of_columns);
  // transposed: threads of one warp take the same tap of neighbours
  std::size_t const begin = weights.size();
  std::size_t const most = max_taps(filter, in.width, out.width);
  weights.resize(begin + most * out.width);
  for (std::uint32_t x = 0; x < out.width; ++x) {
    taps& t = across_taps[x];
    for (std::uint32_t i = 0; i < t.count; ++i)
      weights[begin + std::size_t{i} * out.width + x] = of_columns[t.weights + i];
    t.weights = static_cast<std::uint32_t>(begin + x);
  }
  std::memset(staged.data() + in.bytes(), 0, staged.size() - in.bytes());
  std::memcpy(staged.data() + at.across, across_taps.data(), across_taps.size() * sizeof(taps));
  std::memcpy(staged.data() + at.down, down_taps.data(), down_taps.size() * sizeof(taps));
  std::memcpy(staged.data() + at.weights, weights.data(), weights.size() * sizeof(float));
}

std::uint32_t resize_plan::pixels_of_item(std::uint32_t step) const noexcept {
  std::uint32_t const taps_a_pixel =
      step == 0 ? max_taps(filter, in.width, out.width) : max_taps(filter, in.height, out.height);
  if (taps_a_pixel > max_taps_a_thread) return 0;
  return std::clamp(taps_an_item / taps_a_pixel, 1U, max_pixels_an_item);
}

picture resize_plan::at(unsigned char* memory) const noexcept {
  std::optional<tile_plan> const tile = tiles();
  pieces const at{*this, tile.has_value()};
  return {.in = memory,
          .between = tile ? nullptr : reinterpret_cast<float*>(memory + at.staged),
          .out = memory + at.out,
          .across = reinterpret_cast<taps const*>(memory + at.across),
          .down = reinterpret_cast<taps const*>(memory + at.down),
          .weights = reinterpret_cast<float const*>(memory + at.weights),
          .in_width = in.width,
          .in_height = in.height,
          .width = out.width,
          .height = out.height,
          .channels = in.channels,
          .bytes = in.bits / 8U,
          .tile_width = tile ? tile->width : 0,
          .tile_height = tile ? tile->height : 0,
          .row_floats = tile ? tile->row_floats : 0,
          .pixels = {pixels_of_item(0), pixels_of_item(1)},
          .logo_x = logo_x,
          .logo_y = logo_y};
}

std::uint64_t resize_plan::items(std::uint32_t step) const noexcept {
  if (auto const tile = tiles()) {
    return step == 0 ? std::uint64_t{divided_up(out.width, tile->width)} * divided_up(out.height, tile->height) : 0;
  }
  std::uint64_t const pixels = std::uint64_t{out.width} * (step == 0 ? in.height : out.height);
  std::uint32_t const of_item = pixels_of_item(step);
  return of_item == 0 ? pixels : divided_up<std::uint64_t>(pixels, of_item);
}

std::uint32_t resize_plan::grain() const noexcept {
  auto const tile = tiles();
  return tile ? static_cast<std::uint32_t>(std::clamp<std::uint64_t>(items(0) / min_chunks, 1, tile->together)) : 1;
}

}  // namespace lull
