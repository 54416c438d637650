// SPDX-License-Identifier: Apache-2.0
// The tiles' code for tensor cores under a seeded scheduler: claiming, feeding, leaving within a tile, handing back in
// pieces and continuing with saved sums. Every round has its own operands. LULL_SEED=n replays one seed;
// LULL_INTERLEAVINGS=n sets how many are tried.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/worker.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/simulated.hpp>
#include <lull/tests/tasks/product/simulated_hopper.hpp>

#include <lull/tasks/product/tile_product.cuh>  // over that, in place of wgmma.cuh

namespace lull {
namespace {

constexpr std::uint64_t max_steps = 30'000'000;  // a run takes some hundred thousands; this many mean that it hangs

/// The results of a round, and the expected ones.
class round_results {
 public:
  round_results(large_shape const& shape, std::uint32_t steps)
      : shape_(shape),
        steps_(steps),
        pitch_(shape.columns),
        all_(std::size_t{shape.count} * shape.rows * pitch_, missing) {}

  product_result<float> place() { return {all_.data(), pitch_, std::uint64_t{shape_.rows} * pitch_}; }
  std::uint32_t const& version() const noexcept { return version_; }
  char const* wrong() const noexcept { return wrong_; }

  /// Starts a round: the operands change here.
  void begin(std::uint64_t round) {
    if (round != 0) judge();
    std::fill(all_.begin(), all_.end(), missing);
    version_ = static_cast<std::uint32_t>(round);
  }

 private:
  static constexpr float missing = -1;

  /// Judges what lane 0 of each warp stores.
  void judge() {
    large_tiles const tiles{shape_};
    for (std::uint64_t item = 0; item < tiles.number(); ++item) {
      large_tiles::tile const at = tiles.at(item);
      float expected = 0;
      for (std::uint32_t step = 0; step < steps_; ++step) {
        expected += hopper_term(version_, static_cast<int>(at.count), static_cast<int>(at.row),
                                static_cast<int>(at.column), static_cast<int>(step * large_tiles::depth));
      }
      for (std::uint32_t row = at.row; row < std::min(at.row + large_tiles::rows, shape_.rows); row += 8) {
        for (std::uint32_t column = at.column; column < std::min(at.column + large_tiles::columns, shape_.columns);
             column += 8) {
          float const found = all_[(std::size_t{at.count} * shape_.rows + row) * pitch_ + column];
          if (found == missing) wrong_ = "a piece of a tile was committed and not stored";
          if (found != missing && found != expected) wrong_ = "a tile has another value than its operands give";
        }
      }
    }
  }

  large_shape const shape_;
  std::uint32_t const steps_;
  std::uint64_t const pitch_;
  std::vector<float> all_;
  std::uint32_t version_ = 0;
  char const* wrong_ = nullptr;
};

template <tile_leaving Leaving>
struct simulated_product {
  static constexpr team_shape shape = large_tiles::shape;

  large_product<minor::depth, minor::depth> of;
  product_result<float> to;
  std::uint64_t rounds;
  saved_sums saved;
  round_results* results;

  std::uint64_t extent(position at, std::uint64_t) const noexcept {
    results->begin(at.round);
    return at.round < rounds ? large_tiles{of.shape}.number() : finished;
  }
  void operator()(chunk c, auto const& team) const noexcept {
    detail::multiply_on_tensor_cores<Leaving>(
        team, c, of, to, [](std::uint32_t, std::uint32_t, std::uint32_t, float sum) { return sum; }, saved);
  }
};

template <tile_leaving Leaving>
class scenario {
 public:
  explicit scenario(std::uint64_t seed, hopper_fault fault = hopper_fault::none)
      : random_(seed),
        fault_(fault),
        steps_(depths[random_.draw(std::size(depths))]),
        shape_{draw_side(large_tiles::rows), draw_side(large_tiles::columns),
               steps_ * large_tiles::depth - static_cast<std::uint32_t>(draw(64)),
               static_cast<std::uint32_t>(
                   1 + draw(steps_ < 4 ? 12 : 2))},  // of small tiles several are under way at a time
        results_(shape_, steps_),
        sums_(large_tiles{shape_}.number() * large_tiles::rows * large_tiles::columns),
        impossible_(draw(6) == 0 ? steps_ + static_cast<std::uint32_t>(draw(3)) : 0),
        saved_steps_(large_tiles{shape_}.number() * saved_sums::parts, impossible_),
        cursor_(static_cast<std::uint32_t>(1 + draw(3)), draw(3) == 0 ? 1 + draw(3) : 32),
        params_{&slot_, gate_.ref(), {}} {}

  /// Returns the first thing that went wrong, or nothing.
  char const* run() {
    simulated_product<Leaving> const task{
        {shape_, {}, {}, maps_}, results_.place(), 1 + draw(3), {sums_.data(), saved_steps_.data()}, &results_};
    slot_.at = tagged_cursor{0, &cursor_.words}.word();
    slot_.lease_ns = draw(4) == 0 ? 20'000 + draw(400'000) : 1'000'000'000;
    std::memcpy(slot_.functor.bytes, &task, sizeof task);
    random_.spawn([this] { train(); });
    if (!random_.run(max_steps)) return "no end within the limit of steps";
    for (auto const& block : blocks_) {
      if (block->wrong() != nullptr) return block->wrong();
    }
    if (results_.wrong() != nullptr) return results_.wrong();
    if (cursor_.state() != phase_state::finished) return "the job did not finish";
    if (cursor_.words.items != task.rounds * large_tiles{shape_}.number())
      return "other items were committed than there are";
    if (cursor_.words.ring.pushed != cursor_.words.ring.popped) return "the ring is not empty";
    if (std::any_of(saved_steps_.begin(), saved_steps_.end(),
                    [this](std::uint32_t each) { return each != impossible_ && each != 0; }))
      return "saved steps were left over";
    return nullptr;
  }

 private:
  static constexpr std::uint32_t depths[] = {1, 2, 3, 5, 9, 20, 40};

  std::uint64_t draw(std::uint64_t below) { return random_.draw(below); }
  std::uint32_t draw_side(std::uint32_t whole) {
    return whole * static_cast<std::uint32_t>(1 + draw(2)) - static_cast<std::uint32_t>(draw(whole - 8));
  }
  bool over() const { return cursor_.state() == phase_state::finished || cursor_.state() == phase_state::failed; }
  void idle(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) random_.step();
  }

  void launch() {
    std::uint64_t const blocks = 1 + draw(3);
    for (std::uint64_t b = 0; b < blocks; ++b) {
      std::uint64_t const late = draw(20);
      auto const storage = std::make_shared<fiber_block_storage>(hopper_block::lanes, large_tiles::shape.shared_bytes);
      auto const block = blocks_.emplace_back(std::make_shared<hopper_block>(fault_, results_.version()));
      random_.spawn([block] { block->copy(); });
      for (int rank = 0; rank < hopper_block::lanes; ++rank) {
        random_.spawn([this, storage, block, rank, blocks, late] {
          hopper_lane lane{{static_cast<std::uint32_t>(rank * 32)}, block.get()};
          random_.own() = &lane;
          idle(late);
          fiber_block const team{*storage, rank, hopper_block::lanes, blocks};
          block->base = static_cast<unsigned char*>(team.shared());
          worker<simulated_world, simulated_product<Leaving>, fiber_block>{params_, team}.run();
          ++block->lanes_out;
        });
      }
    }
  }

  void train() {
    std::uint32_t value = gate_.line.value;
    for (std::uint64_t bubble = 1; !over(); ++bubble) {
      open_gate<simulated_world>(gate_.ref(), ++value, bubble);
      launch();
      if (draw(4) == 0) launch();  // a successor in the same bubble
      idle((1 + bubble / 4) *
           (draw(3) == 0 ? draw(3'000)
                         : draw(40'000)));  // grow with time, because a tile that is always done again has no end
      slot_.lease_ns += bubble * 10'000;
      simulated_world::store<order::relaxed, scope::system>(gate_.line.value, ++value);
      idle(draw(100));
    }
  }

  scheduler random_;
  hopper_fault const fault_;
  std::uint32_t const steps_;
  large_shape const shape_;
  round_results results_;
  std::vector<float> sums_;
  // Steps that another product may have left: more than exist, so that tiles start again.
  std::uint32_t const impossible_;
  std::vector<std::uint32_t> saved_steps_;
  test_gate gate_;
  test_cursor cursor_;
  slot_line slot_{};
  alignas(2 * sizeof(tensor_map)) tensor_map maps_[2];
  worker_params params_;
  std::vector<std::shared_ptr<hopper_block>> blocks_;
};

char const* run(std::uint64_t seed, hopper_fault fault = hopper_fault::none) {
  switch (seed % 4) {
    case 0:
      return scenario<tile_leaving::undone>{seed, fault}.run();
    case 1:
      return scenario<tile_leaving::whole>{seed, fault}.run();
    default:
      return scenario<tile_leaving::saved>{seed, fault}.run();
  }
}

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(tiles_simulated, every_interleaving_stores_every_tile_of_every_round) {
  if (std::uint64_t const seed = number_from("LULL_SEED", 0); seed != 0) {
    EXPECT_STREQ(run(seed), nullptr);
    return;
  }
  std::uint64_t const count = number_from("LULL_INTERLEAVINGS", 400);
  for (std::uint64_t seed = 1; seed <= count; ++seed)
    ASSERT_STREQ(run(seed), nullptr) << "replay with LULL_SEED=" << seed;
}

class tiles_on_a_machine_that : public testing::TestWithParam<hopper_fault> {};
TEST_P(tiles_on_a_machine_that, lies_are_seen_to_be_wrong) {
  bool seen = false;
  for (std::uint64_t seed = 1; seed <= 50 && !seen; ++seed) seen = run(seed, GetParam()) != nullptr;
  EXPECT_TRUE(seen);
}
INSTANTIATE_TEST_SUITE_P(each, tiles_on_a_machine_that,
                         testing::Values(hopper_fault::counts_bytes_before_they_land,
                                         hopper_fault::ends_waits_for_products_early));

}  // namespace
}  // namespace lull
