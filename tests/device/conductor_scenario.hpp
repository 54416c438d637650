// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <lull/device/conductor.hpp>
#include <lull/device/control.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/simulated.hpp>

namespace lull::test {

inline constexpr std::uint64_t max_steps = 2'000'000;  // a run takes some thousands; this many mean that it hangs

/// What the device would launch; null: nothing. It refuses an executable that has not ended, and a graph ends a little
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
  bool operator()(void* executable) const {
    bool const always = queue->fails_of_eight == 8;
    if (always || (queue->failed < 2 && scheduler::current().draw(8) < queue->fails_of_eight)) {
      ++queue->failed;
      return false;
    }
    queue->failed = 0;
    if (executable == queue->running || executable == queue->ending) {
      ++queue->refused;
      return false;
    }
    if (queue->in_a_row++ == queue->max_in_a_row) {
      queue->goes_on = kept;
    } else {
      queue->next = executable;
    }
    return true;
  }
};
using conducting = conductor<simulated_world, queue_launcher>;

/// A row of equal bubbles, and the conductor's hint about them.
struct course {
  std::uint64_t bubble_ns;
  std::uint64_t node_ns;  // each a segment
  usual_length usual;
};

/// A piece that ran, with nanoseconds since the opening.
struct ran_piece {
  std::uint64_t bubble;
  std::uint64_t began_ns;
  std::uint64_t ended_ns;
  std::uint32_t nodes;
};

struct seen_close {
  std::uint64_t at_ns;
  std::uint64_t seen_ns;
  std::uint64_t since_look_ns;
};

class scenario {
 public:
  explicit scenario(std::uint64_t seed, bool always_fails = false)
      : steps_(seed),
        nodes_(1 + static_cast<std::uint32_t>(draw(draw(2) == 0 ? 7 : 24))),
        cursor_(1, 16, tagged::tag_mask - 1) {
    for (std::uint32_t begin = 0; begin < nodes_; begin += segments_.back().one.nodes) {
      std::uint32_t const most = draw(6) == 0 ? nodes_ - begin : 1;
      segments_.push_back({.one = {.nodes = 1 + static_cast<std::uint32_t>(draw(most))}, .stretch = {}});
    }
    cut();
    graph_ = {.kept = &kept_,
              .segments = segments_.data(),
              .steps = 1 + draw(5),
              .max_spread_ns = draw(3) == 0 ? 0 : draw(4'000),
              .count = static_cast<std::uint32_t>(segments_.size()),
              .nodes = nodes_,
              .is_fed = draw(3) == 0 ? 1U : 0U};
    queue_.fails_of_eight = always_fails ? 8 : draw(3) == 0 ? 1 : 0;
    queue_.max_in_a_row = 1 + draw(6);
    fill(filled());
  }
  /// Draws nothing at random.
  explicit scenario(course const& along)
      : along_(along),
        steps_(1),
        nodes_(40),
        cursor_(1, 16, tagged::tag_mask - 1),
        segments_(nodes_, graph_segment{.one = {.nodes = 1, .took_ns = took_ns(along)}, .stretch = {}}) {
    cut();
    graph_ = {.kept = &kept_,
              .segments = segments_.data(),
              .steps = 10,
              .max_spread_ns = 4'000,
              .count = nodes_,
              .nodes = nodes_,
              .is_fed = 0};
    queue_.max_in_a_row = 1'000;
    slot_content content{&cursor_.words, std::uint64_t{1} << 40, {}};
    std::memcpy(content.functor.bytes, &graph_, sizeof graph_);
    fill(content);
  }

  int stretches() const { return stretches_; }
  std::vector<ran_piece> const& pieces() const { return pieces_; }
  std::vector<seen_close> const& closes() const { return closes_; }
  std::uint64_t closed_on_a_piece() const {
    return std::accumulate(
        segments_.begin(), segments_.end(), std::uint64_t{0},
        [](auto sum, graph_segment const& each) { return sum + each.one.closed + each.stretch.closed; });
  }
  /// Returns the first thing that went wrong, or nothing.
  char const* run() {
    steps_.spawn([this] { train(); });
    steps_.spawn([this] { serve(); });
    if (!along_) {
      steps_.spawn([this] { control(); });
      steps_.spawn([this] { feed(); });
    }
    if (!steps_.run(max_steps)) return "no end within the limit of steps";
    if (queue_.fails_of_eight == 8) {
      bool const said = cursor_.state() == phase_state::failed && failure{cursor_.progress.why} == failure::no_launch;
      return said && ran_.empty() && slot_.entry << 16 == 0 ? nullptr : "the job did not fail as it should";
    }
    if (cursor_.state() != phase_state::finished) return "the job did not finish";
    if (slot_.entry << 16 != 0 || slot_.entry >> 63 != 0) return "somebody is still inside, or the slot is held";
    if (queue_.refused != 0) return "a segment was launched that had not ended";
    if (gate_.line.awaited.working != 0) return "a conductor came that has not left, or the other way round";
    if (cursor_.words.items != graph_.steps * nodes_) return "the account of the nodes is wrong";
    if (ran_.size() != graph_.steps * nodes_) return "a node did not run once a step";
    for (std::size_t at = 0; at < ran_.size(); ++at) {
      if (ran_[at] != at % nodes_) return "a node ran out of its order";
    }
    return nullptr;
  }

 private:
  static std::uint32_t took_ns(course const& along) { return static_cast<std::uint32_t>(along.node_ns); }
  /// Gives each piece something to launch; in a graph that is long enough, pairs of segments, too.
  void cut() {
    std::vector<graph_segment> const step = segments_;
    while (segments_.size() < gated_graph::min_segments) segments_.insert(segments_.end(), step.begin(), step.end());
    std::uint32_t begin = 0;
    for (graph_segment& each : segments_) {
      each.one.executable = &each.one;
      begins_.push_back(begin);
      begin = (begin + each.one.nodes) % nodes_;
    }
    if (step.size() < 2 * gated_graph::min_segments) return;
    for (std::size_t at = 0; at + 1 < segments_.size(); at += 2) {
      graph_segment& first = segments_[at];
      first.stretched = 2;
      first.stretch = {.executable = &first.stretch,
                       .nodes = first.one.nodes + segments_[at + 1].one.nodes,
                       .took_ns = 2 * first.one.took_ns};
    }
  }

  std::uint64_t draw(std::uint64_t below) { return steps_.draw(below); }
  void idle(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) steps_.step();
  }
  void idle_ns(std::uint64_t ns) {
    for (std::uint64_t const since = simulated_world::now_ns(); simulated_world::now_ns() < since + ns;) steps_.step();
  }
  bool has_ended() const { return cursor_.state() == phase_state::finished || cursor_.state() == phase_state::failed; }
  bool over() const { return has_ended() && stream_.empty(); }

  void fill(slot_content const& content) {
    slot_.at = tagged_cursor{0x7ffd, content.at}.word();
    slot_.entry = std::uint64_t{0x7ffd} << 48;
    slot_.lease_ns = content.lease_ns;
    slot_.functor = content.functor;
  }
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
      params.bubble = bubble;
      if (along_) {
        params.usual = along_->usual;
        stream_.push_back(params);
        idle_ns(along_->bubble_ns);
      } else {
        if (draw(6) == 0) params.bubble = bubble + 1;  // let go too early
        if (draw(3) != 0) params.usual = drawn_usual();
        stream_.push_back(params);
        simulated_world::store<order::relaxed, scope::system>(slot_.lease_ns, slot_.lease_ns + bubble * 100);
        idle((1 + bubble / 8) * (draw(3) == 0 ? draw(60) : draw(900)));
      }
      std::uint64_t const closes_ns = simulated_world::now_ns();
      simulated_world::store<order::relaxed, scope::system>(gate_.line.value, ++value);
      if (along_) {
        idle_ns(4 * along_->node_ns);
        bubble_record const told = std::exchange(gate_.record(bubble), {});
        if (told.not_saw_ns != 0) closes_.push_back({closes_ns, ~told.not_saw_ns, told.since_look_ns});
      } else {
        idle(draw(100));
      }
    }
    trained_ = true;
  }

  usual_length drawn_usual() {
    std::uint64_t const min_ns = 1 + draw(4'000);
    std::uint64_t const spread_ns = draw(500);
    std::uint64_t const from_ns = min_ns + draw(2) * draw(3'000);
    if (draw(3) == 0) return {min_ns, spread_ns, 0, 0};
    return {min_ns, spread_ns, from_ns, from_ns + spread_ns};
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
        std::uint64_t const opened_ns = gate_.line.opened_ns;
        std::uint64_t const began_ns = simulated_world::now_ns();
        for (std::uint32_t node = 0; node < piece.nodes; ++node) {
          if (along_) {
            idle_ns(along_->node_ns);
          } else {
            idle(draw(30));
          }
          ran_.push_back(begin_of(piece) + node);
        }
        pieces_.push_back(
            {gate_.line.bubbles, began_ns - opened_ns, simulated_world::now_ns() - opened_ns, piece.nodes});
        stretches_ += std::any_of(segments_.begin(), segments_.end(),
                                  [&](graph_segment const& each) { return &each.stretch == &piece; });
        conducting::proceed(kept_, {&queue_, &kept_});
      }
      queue_.running = queue_.ending = nullptr;
    }
  }

  std::uint32_t begin_of(graph_piece const& piece) const {
    for (std::size_t at = 0; at < segments_.size(); ++at) {
      if (&segments_[at].one == &piece || &segments_[at].stretch == &piece) return begins_[at];
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

  std::optional<course> const along_;
  scheduler steps_;
  std::uint32_t const nodes_;
  test_gate gate_{0xfffffffcU};
  slot_line slot_{};
  test_cursor cursor_;
  kept_conducting<simulated_world> kept_{};
  std::vector<graph_segment> segments_;
  std::vector<std::uint32_t> begins_;  // of each, in the order of nodes
  gated_graph graph_;
  device_queue queue_;
  std::deque<worker_params> stream_;
  bool trained_ = false;
  std::vector<std::uint64_t> ran_;
  std::vector<ran_piece> pieces_;
  std::vector<seen_close> closes_;
  int stretches_ = 0;
};

}  // namespace lull::test
