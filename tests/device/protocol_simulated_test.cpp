// SPDX-License-Identifier: Apache-2.0
// The real protocol code under a seeded scheduler: late blocks, leases, hand-backs, a full ring, starving, two launches
// and two gates at once, control at every point, and every counter starting just below its wrap. LULL_SEED=n replays
// one seed; LULL_INTERLEAVINGS=n sets how many are tried.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/control.hpp>
#include <lull/device/worker.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/pulling_probe.hpp>
#include <lull/tests/support/simulated.hpp>

namespace lull {
namespace {

constexpr std::uint64_t max_steps = 2'000'000;  // a run takes some thousands; this many mean that it hangs

class scenario {
 public:
  explicit scenario(std::uint64_t seed, probe_task::mutant broken = probe_task::mutant::none)
      : steps_(seed),
        arrays_(draw_extents()),
        cursor_(static_cast<std::uint32_t>(1 + draw(3)), std::uint64_t{2} << draw(3), tagged::tag_mask - 1,
                first_round_),
        width_(draw(3) == 0 ? 2 + static_cast<int>(draw(2)) : 1) {
    for (int g = 0; g < 2; ++g) gates_.emplace_back(0xfffffffcU);
    slots_.resize(2);
    sites_.resize(2);
    for (int g = 0; g < 2; ++g) params_.push_back({&slots_[g], gates_[g].ref(), {}});
    task_ = arrays_.task();
    task_.first_round = first_round_;
    task_.polls = static_cast<std::uint32_t>(draw(4));
    task_.broken = broken;
    task_.feeds = draw(3) == 0 ? 1 : 0;
    pulls_ = draw(3) == 0;
    rests_ = draw(2) == 0;
  }

  /// Returns the first thing that went wrong, or nothing.
  char const* run() {
    bool const two_gates = draw(2) == 0;
    for (int g = 0; g < (two_gates ? 2 : 1); ++g) {
      fill(slots_[g]);
      steps_.spawn([this, g] { train(g); });
    }
    steps_.spawn([this] { control(); });
    steps_.spawn([this] { feed(); });
    steps_.spawn([this] { tune(); });
    steps_.spawn([this] { watch(); });
    if (!steps_.run(max_steps)) return "no end within the limit of steps";
    if (cursor_.state() != phase_state::finished) return "the job did not finish";
    for (slot_line const& slot : slots_) {
      if (slot.entry << 16 != 0 || slot.entry >> 63 != 0) return "somebody is still inside, or the slot is held";
    }
    for (test_gate const& gate : gates_) {
      if (gate.line.awaited.working != 0)
        return "a block came that has not said that it leaves, or the other way round";
    }
    progress_line const& told = cursor_.progress;
    if (went_back_) return "the host was told of a phase, and then of one before it";
    if (cursor_.words.reporting != 0) return "a block has not ended its report";
    if (progress_word{told.where}.state() != phase_state::finished) return "the host was not told of the end";
    if (told.phases != cursor_.words.phases || told.round != cursor_.words.round)
      return "the host was told of another end";
    if (cursor_.words.ring.pushed != cursor_.words.ring.popped) return "the ring is not empty";
    return arrays_.wrong();
  }

 private:
  static constexpr std::uint64_t first_round_ = ~std::uint64_t{0};  // the first round wraps to 0

  std::uint64_t draw(std::uint64_t below) { return steps_.draw(below); }

  std::vector<std::uint64_t> draw_extents() {
    std::vector<std::uint64_t> extents(2 + draw(4));
    for (auto& items : extents) items = draw(6);
    return extents;
  }

  std::uint64_t draw_lease() { return draw(4) == 0 ? 200 + draw(2000) : 1'000'000; }

  /// Draws a rest before, in or after a bubble; short enough that some of its time is left.
  rest_time draw_rest(std::uint64_t bubble) {
    std::uint64_t const from = draw(300 + bubble * 100);
    return {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(draw(3) == 0 ? 0 : from + draw(400))};
  }
  static void tell_rest(site_words& site, rest_time rest) {
    simulated_world::store<order::relaxed, scope::device>(site.rest.from_ns, rest.from_ns);
    simulated_world::store<order::relaxed, scope::device>(site.rest.until_ns, rest.until_ns);
  }

  void fill(slot_line& slot) {
    slot_content const content = content_of(task_, &cursor_.words, draw_lease());
    slot.at = tagged_cursor{0x7ffd, content.at}.word();  // the generation wraps at the third exchange
    slot.entry = std::uint64_t{0x7ffd} << 48;
    slot.lease_ns = content.lease_ns;
    slot.functor = content.functor;
  }

  bool over() const { return cursor_.state() == phase_state::finished || cursor_.state() == phase_state::failed; }

  void idle(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) steps_.step();
  }

  void launch(worker_params const& params) {
    std::uint64_t const blocks = 1 + draw(3);
    for (std::uint64_t b = 0; b < blocks; ++b) {
      std::uint64_t const late = draw(5) == 0 ? draw(600) : draw(20);
      auto const state = std::make_shared<fiber_block_storage>(width_, pulling_probe::shape.shared_bytes);
      for (int rank = 0; rank < width_; ++rank) {
        steps_.spawn([this, &params, state, rank, blocks, late] {
          idle(late);
          fiber_block const block{*state, rank, width_, blocks};
          if (pulls_) {
            worker<simulated_world, pulling_probe, fiber_block>{params, block}.run();
          } else {
            worker<simulated_world, probe_task, fiber_block>{params, block}.run();
          }
        });
      }
    }
  }

  void train(int g) {
    gate_line& line = gates_[g].line;
    std::uint32_t value = line.value;
    bool const in_graph = draw(2) == 0;  // edges of a captured graph
    params_[g].in_graph = in_graph ? 1 : 0;
    if (rests_ && in_graph) params_[g].site = &sites_[g];
    if (rests_ && !in_graph) params_[g].rest = draw_rest(1);
    for (std::uint64_t bubble = 1; !over(); ++bubble) {
      if (in_graph) {
        open_captured_gate<simulated_world>(gates_[g].ref(), ++value);
      } else {
        open_gate<simulated_world>(gates_[g].ref(), ++value, bubble);
      }
      if (rests_) tell_rest(sites_[g], draw_rest(bubble));
      launch(params_[g]);
      if (draw(4) == 0) launch(params_[g]);  // a successor in the same bubble
      // Bubbles and leases grow, because a chunk that is always handed back never ends.
      std::uint64_t const longer = 1 + bubble / 8;
      simulated_world::store<order::relaxed, scope::system>(slots_[g].lease_ns, slots_[g].lease_ns + bubble * 100);
      idle(longer * (draw(3) == 0 ? draw(60) : draw(900)));
      if (in_graph) {
        close_captured_gate<simulated_world>(gates_[g].ref(), ++value, 0,
                                             draw(1000));  // here time passes by operations alone
      } else {
        simulated_world::store<order::relaxed, scope::system>(line.value, ++value);
      }
      idle(draw(100));
    }
  }

  void control() {
    for (std::uint64_t i = draw(4); i > 0 && !over(); --i) {
      idle(draw(1500));
      slot_line& slot = slots_[0];
      std::uint64_t const limit_ns = draw(2) == 0 ? 1'000'000 : draw(3000);
      if (!exchange<simulated_world>(slot, slot_content{}, limit_ns)) continue;
      idle(draw(300));
      while (!exchange<simulated_world>(slot, content_of(task_, &cursor_.words, draw_lease()), 1'000'000)) {
      }
    }
  }

  void feed() {
    for (std::uint64_t fed = 1; fed <= arrays_.extents.size(); ++fed) {
      idle(draw(400));
      simulated_world::store<order::release, scope::system>(cursor_.words.fed, fed);
    }
  }

  /// The host may change the grain at any time.
  void tune() {
    for (std::uint64_t i = draw(8); i > 0 && !over(); --i) {
      idle(draw(300));
      simulated_world::store<order::relaxed, scope::device>(cursor_.words.grain,
                                                            static_cast<std::uint32_t>(1 + draw(3)));
    }
  }

  /// Checks what the host sees.
  void watch() {
    for (std::uint64_t seen = 0; !over();) {
      idle(draw(60));
      std::uint64_t const now = simulated_world::load<order::relaxed, scope::system>(cursor_.progress.phases);
      went_back_ = went_back_ || now < seen;
      seen = now;
    }
  }

  bool went_back_ = false;
  scheduler steps_;
  probe_arrays arrays_;
  test_cursor cursor_;
  int width_;
  std::vector<test_gate> gates_;
  std::vector<slot_line> slots_;
  std::vector<site_words> sites_;
  std::vector<worker_params> params_;
  probe_task task_;
  bool pulls_ = false;  // the same, claiming by itself
  bool rests_ = false;  // before its bubbles close
};

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(protocol_simulated, every_interleaving_commits_every_item_once) {
  if (std::uint64_t const seed = number_from("LULL_SEED", 0); seed != 0) {
    EXPECT_STREQ(scenario{seed}.run(), nullptr);
    return;
  }
  std::uint64_t const count = number_from("LULL_INTERLEAVINGS", 100'000);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    ASSERT_STREQ(scenario{seed}.run(), nullptr) << "replay with LULL_SEED=" << seed;
  }
}

TEST(protocol_simulated, the_same_seed_gives_the_same_run) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    scheduler first{seed};
    scheduler second{seed};
    std::vector<int> orders[2];
    scheduler* const both[] = {&first, &second};
    for (int s = 0; s < 2; ++s) {
      for (int f = 0; f < 3; ++f) {
        both[s]->spawn([&orders, both, s, f] {
          for (int i = 0; i < 50; ++i) {
            orders[s].push_back(f);
            both[s]->step();
          }
        });
      }
      ASSERT_TRUE(both[s]->run(10'000));
    }
    EXPECT_EQ(orders[0], orders[1]);
  }
}

class protocol_mutants : public testing::TestWithParam<probe_task::mutant> {};

TEST_P(protocol_mutants, are_caught) {
  int caught = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) caught += scenario{seed, GetParam()}.run() != nullptr;
  EXPECT_GT(caught, 0);
}

INSTANTIATE_TEST_SUITE_P(each, protocol_mutants,
                         testing::Values(probe_task::mutant::skips_a_chunk, probe_task::mutant::runs_twice,
                                         probe_task::mutant::stores_early, probe_task::mutant::no_barrier));

TEST(protocol_simulated, a_hang_fails_by_the_limit_of_steps) {
  scheduler steps{1};
  steps.spawn([&steps] {
    for (;;) steps.step();
  });
  EXPECT_FALSE(steps.run(10'000));
}

}  // namespace
}  // namespace lull
