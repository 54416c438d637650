// SPDX-License-Identifier: Apache-2.0
// The conductor of a gated graph under a seeded scheduler: closes, leases, control, feeding, and launches that
// fail at every point. LULL_SEED=n replays one seed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/conductor.hpp>
#include <lull/device/control.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/simulated.hpp>

namespace lull {
namespace {

constexpr std::uint64_t max_steps = 2'000'000;  // a run takes some thousands; this many mean that it hangs

/// What the device would launch; null: nothing. It refuses what has not ended, and the end of a graph comes a little
/// after its last node.
struct device_queue {
  void const* next = nullptr;
  void const* running = nullptr;
  void const* ending = nullptr;
  std::uint64_t fails_of_eight = 0;
  int failed = 0;  // one after another
  int refused = 0;
  std::uint64_t in_a_row = 0;
  std::uint64_t max_in_a_row = 0;
  kept_conducting<simulated_world>* goes_on = nullptr;  // a launch that was put off
};
struct queue_launcher {
  device_queue* queue;
  kept_conducting<simulated_world>* kept;
  std::uint32_t operator()(void* executable) const {
    bool const always = queue->fails_of_eight == 8;
    if (always || (queue->failed < 2 && scheduler::current().draw(8) < queue->fails_of_eight)) {
      ++queue->failed;
      return 7;
    }
    queue->failed = 0;
    if (executable == queue->running || executable == queue->ending) {
      ++queue->refused;
      return 8;
    }
    if (queue->in_a_row++ == queue->max_in_a_row) {
      queue->goes_on = kept;
      return 0;
    }
    queue->next = executable;
    return 0;
  }
};
using conducting = conductor<simulated_world, queue_launcher>;

class scenario {
 public:
  explicit scenario(std::uint64_t seed, bool always_fails = false)
      : steps_(seed),
        nodes_(1 + static_cast<std::uint32_t>(draw(draw(2) == 0 ? 7 : 24))),
        cursor_(1, 16, tagged::tag_mask - 1) {
    for (std::uint32_t begin = 0; begin < nodes_; begin += segments_.back().one.nodes) {
      std::uint32_t const most = draw(6) == 0 ? nodes_ - begin : 1;
      segments_.push_back({{.nodes = 1 + static_cast<std::uint32_t>(draw(most))}, {}, begin, 0});
    }
    std::vector<graph_segment> const step = segments_;
    while (segments_.size() < gated_graph::min_segments) segments_.insert(segments_.end(), step.begin(), step.end());
    for (graph_segment& each : segments_) each.one.executable = &each.one;
    if (step.size() >= 2 * gated_graph::min_segments) stretch();
    graph_ = {.kept = &kept_,
              .segments = segments_.data(),
              .steps = 1 + draw(5),
              .patience_ns = draw(3) == 0 ? 0 : draw(400),
              .count = static_cast<std::uint32_t>(segments_.size()),
              .nodes = nodes_,
              .is_fed = draw(3) == 0 ? 1U : 0U};
    queue_.fails_of_eight = always_fails ? 8 : draw(3) == 0 ? 1 : 0;
    queue_.max_in_a_row = 1 + draw(6);
    slot_content const content = filled();
    slot_.at = tagged_cursor{0x7ffd, content.at}.word();
    slot_.entry = std::uint64_t{0x7ffd} << 48;
    slot_.lease_ns = content.lease_ns;
    slot_.functor = content.functor;
  }

  int stretches() const { return stretches_; }
  /// The first thing that went wrong, or nothing.
  char const* run() {
    steps_.spawn([this] { train(); });
    steps_.spawn([this] { serve(); });
    steps_.spawn([this] { control(); });
    steps_.spawn([this] { feed(); });
    if (!steps_.run(max_steps)) return "no end within the limit of steps";
    if (queue_.fails_of_eight == 8) {
      bool const said = cursor_.state() == phase_state::failed && failure{cursor_.progress.why} == failure::no_launch;
      return said && ran_.empty() && slot_.entry << 16 == 0 ? nullptr : "the job did not fail as it should";
    }
    if (cursor_.state() != phase_state::finished) return "the job did not finish";
    if (slot_.entry << 16 != 0 || slot_.entry >> 63 != 0) return "somebody is still inside, or the slot is held";
    if (queue_.refused != 0) return "a segment was launched that had not ended";
    if (gate_.line.working != 0) return "a conductor came that has not left, or the other way round";
    if (cursor_.words.items != graph_.steps * nodes_) return "the account of the nodes is wrong";
    if (ran_.size() != graph_.steps * nodes_) return "a node did not run once a step";
    for (std::size_t at = 0; at < ran_.size(); ++at) {
      if (ran_[at] != at % nodes_) return "a node ran out of its order";
    }
    return nullptr;
  }

 private:
  /// Two segments each, or one that is left.
  void stretch() {
    for (std::size_t at = 0; at + 1 < segments_.size(); at += 2) {
      graph_segment& first = segments_[at];
      first.stretched = 2;
      first.stretch = {.executable = &first.stretch, .nodes = first.one.nodes + segments_[at + 1].one.nodes};
    }
  }

  std::uint64_t draw(std::uint64_t below) { return steps_.draw(below); }
  void idle(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) steps_.step();
  }
  bool has_ended() const { return cursor_.state() == phase_state::finished || cursor_.state() == phase_state::failed; }
  bool over() const { return has_ended() && stream_.empty(); }

  slot_content filled() {
    slot_content content{&cursor_.words, draw(4) == 0 ? 200 + draw(2'000) : 1'000'000, {}};
    std::memcpy(content.functor.bytes, &graph_, sizeof graph_);
    return content;
  }

  void train() {
    std::uint32_t value = gate_.line.value;
    for (std::uint64_t bubble = 1; !has_ended(); ++bubble) {
      open_gate<simulated_world>(gate_.ref(), ++value, bubble);
      worker_params params{&slot_, gate_.ref(), {}};
      params.bubble = draw(6) == 0 ? bubble + 1 : bubble;  // let go too early
      if (draw(3) != 0) params.usual = {1 + draw(4'000), draw(500)};
      stream_.push_back(params);
      simulated_world::store<order::relaxed, scope::system>(slot_.lease_ns, slot_.lease_ns + bubble * 100);
      idle((1 + bubble / 8) * (draw(3) == 0 ? draw(60) : draw(900)));
      simulated_world::store<order::relaxed, scope::system>(gate_.line.value, ++value);
      idle(draw(100));
    }
    trained_ = true;
  }

  /// The workers' stream, and the device that launches what a conductor asks for.
  void serve() {
    while (!trained_ || !stream_.empty()) {
      steps_.step();
      if (stream_.empty()) continue;
      worker_params const params = stream_.front();
      stream_.pop_front();
      queue_.in_a_row = 0;
      conducting::begin(params, {&queue_, &kept_});
      while (queue_.next != nullptr || queue_.goes_on != nullptr) {
        if (queue_.next == nullptr) {
          queue_.in_a_row = 0;
          queue_.running = queue_.ending = nullptr;
          idle(draw(30));
          conducting::launch_claimed(*std::exchange(queue_.goes_on, nullptr), {&queue_, &kept_});
          continue;
        }
        queue_.ending = std::exchange(queue_.running, std::exchange(queue_.next, nullptr));
        auto const& piece = *static_cast<graph_piece const*>(queue_.running);
        for (std::uint32_t node = 0; node < piece.nodes; ++node) {
          idle(draw(30));
          ran_.push_back(begin_of(piece) + node);
        }
        stretches_ += std::any_of(segments_.begin(), segments_.end(),
                                  [&](graph_segment const& each) { return &each.stretch == &piece; });
        conducting::proceed(kept_, {&queue_, &kept_});
      }
      queue_.running = queue_.ending = nullptr;
    }
  }

  std::uint32_t begin_of(graph_piece const& piece) const {
    for (graph_segment const& each : segments_) {
      if (&each.one == &piece || &each.stretch == &piece) return each.begin;
    }
    return nodes_;
  }

  void control() {
    for (std::uint64_t i = draw(4); i > 0 && !over(); --i) {
      idle(draw(1500));
      if (!exchange<simulated_world>(slot_, slot_content{}, draw(2) == 0 ? 1'000'000 : draw(3000))) continue;
      idle(draw(300));
      while (!exchange<simulated_world>(slot_, filled(), 1'000'000)) {
      }
    }
  }

  void feed() {
    for (std::uint64_t fed = 1; fed <= graph_.steps; ++fed) {
      idle(draw(400));
      simulated_world::store<order::release, scope::system>(cursor_.words.fed, fed);
    }
  }

  scheduler steps_;
  std::uint32_t const nodes_;
  test_gate gate_{0xfffffffcU};
  slot_line slot_{};
  test_cursor cursor_;
  kept_conducting<simulated_world> kept_{};
  std::vector<graph_segment> segments_;
  gated_graph graph_;
  device_queue queue_;
  std::deque<worker_params> stream_;
  bool trained_ = false;
  std::vector<std::uint64_t> ran_;
  int stretches_ = 0;
};

TEST(conductor_simulated, every_node_runs_once_a_step_in_its_order) {
  char const* const replayed = std::getenv("LULL_SEED");
  std::uint64_t const first = replayed != nullptr ? std::strtoull(replayed, nullptr, 10) : 1;
  int stretches = 0;
  for (std::uint64_t seed = first; seed <= (replayed != nullptr ? first : 5'000); ++seed) {
    scenario each{seed};
    ASSERT_STREQ(each.run(), nullptr) << "replay with LULL_SEED=" << seed;
    stretches += each.stretches();
  }
  if (replayed == nullptr) {
    EXPECT_GT(stretches, 1'000);
  }
}

TEST(conductor_simulated, a_job_whose_launches_always_fail_has_failed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) ASSERT_STREQ((scenario{seed, true}.run()), nullptr) << seed;
}

}  // namespace
}  // namespace lull
