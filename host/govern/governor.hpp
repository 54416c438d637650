// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>

#include <lull/host/govern/slowdown_estimate.hpp>
#include <lull/host/govern/step_forecast.hpp>

namespace lull {

/// What may run in a step: nothing, or side work with half or all of its blocks.
enum class side_work { none, half, all };

struct governor_options {
  /// The bound on the trainer's mean slowdown, as a share of a step: above 0 and at most 1.
  double max_slowdown = 0.005;
  /// A number that all ranks of a trainer share; each trainer needs its own.
  std::uint64_t draw_seed = 0;
  /// Steps in a row that are harvested or not, at least 1. A long spell may cost more than the bound allows.
  std::uint32_t steps_a_spell = 4;
  /// The least share of spells in which no rank harvests, above 0 and at most a half. Near the bound up to 0.12.
  double min_withheld = 0.02;
  /// Side work gives way only to what is known: it runs unless the interval shows that it costs more than
  /// `max_slowdown`, and then in the share of spells that keeps to that. Nothing is recovered.
  bool is_cap = false;
};

/// Decides in which steps of a trainer side work may run, so that the steps take at most `max_slowdown` longer in the
/// mean over the run. It aims at that, with two exceptions, and recovers what was lost then:
/// - At the start it harvests a fifth of the spells, whatever that costs, unless a slowdown was assumed. The start ends
/// when nine harvested spells have ended, and five withheld ones after the fourth of these; or when two spells each
/// took three tenths longer.
/// - It sees a rising slowdown some spells late.
///
/// Steps are grouped into spells by their number. A spell is harvested with a chance, by a draw that depends on trainer
/// and number alone. So ranks with the same chance, whose draws are as long, withhold side work in the same steps,
/// whenever they started; and one with a smaller chance wherever one with a larger does.
/// Harvested and withheld spells together give the slowdown. The chance is what the upper end of its interval allows,
/// less what recovers losses. What side work costs steps after its own is seen best where many spells in a row share a
/// draw. The more is known and the less a spell costs, the more of them do, up to 64.
///
/// Each kind of side work has its own interval and chance, so a costly kind gives way and a cheap one does not. Losses
/// of all kinds are recovered together, and a new kind waits for that. A pause of the trainer says nothing about side
/// work: a spell far off counts as little (slowdown_estimate.hpp).
///
/// Side work that may run with half of its blocks does so if it then does more within the bound, because training slows
/// by far less than half. Where that is possible, some spells try the other size, by their number. Not thread-safe.
class governor {
 public:
  /// Throws usage_error.
  explicit governor(governor_options const& options);

  /// Returns whether side work may run in the step. Ask in the order of the steps' numbers, once for each; some may be
  /// left out. After a smaller number than before, lengths of earlier steps are ignored. `kind`: of the side work that
  /// would run; that of a spell's first step counts.
  bool harvests(std::uint64_t step, std::uint64_t kind = 0) { return decide(step, kind, false) != side_work::none; }
  /// Returns what may run. `may_halve`: it can run with half of its blocks; that of a spell's first step counts.
  side_work decide(std::uint64_t step, std::uint64_t kind, bool may_halve);
  /// Returns whether side work of a kind runs with half of its blocks in most spells, if it may.
  bool is_halved(std::uint64_t kind) const noexcept;
  /// Adds the length of a step that was asked for. Call in order, at most 64 spells late. Side work hardly runs while
  /// lengths of the last 64 spells are missing. A step without a length is not counted. Ignores times outside 1 ns to
  /// 1e15 ns, and steps that were not asked for. `work`: of the step, in any unit that its length grows with, such as
  /// tokens; 0: not known. Steps of different work are then compared by what each is expected to take.
  void took(std::uint64_t step, double ns, double work = 0);

  /// The assumed slowdown of a kind of side work, for example from a profile. It decides how carefully the kind starts,
  /// until its slowdown is measured.
  struct assumed_slowdown {
    double slowdown = 0;       // as a share of a step; finite and not negative
    bool is_at_least = false;  // it may be more, so it never makes the start bolder
  };
  void assume_slowdown(std::uint64_t kind, assumed_slowdown what);
  void assume_nothing(std::uint64_t kind) { assumed_.erase(kind); }
  /// Returns whether the slowdown of a kind is known, or at least assumed.
  bool has_idea_of(std::uint64_t kind) const;
  /// Returns the chance of a kind of which nothing is known or assumed.
  double first_chance_of_a_kind() const noexcept;

  /// Returns the chance of the next spell if its side work is of that kind. `half`: with half of its blocks; likewise
  /// below.
  double chance(std::uint64_t kind = 0, bool half = false) const;
  std::optional<slowdown_interval> interval(std::uint64_t kind = 0, bool half = false) const;
  /// Returns after how many steps with that kind of side work the interval reaches at most half of the bound to either
  /// side, at the measured noise and this chance. 0: not known yet.
  std::uint64_t steps_to_know(std::uint64_t kind = 0, bool half = false) const;
  /// Returns the same at a chance of a half, where it takes the fewest: of any side work, by the noise alone.
  std::uint64_t steps_to_know_at_best() const;
  /// Returns the noise of a step's length around the forecast, as a share, as if steps were independent. None before 60
  /// spells.
  std::optional<double> noise() const;

 private:
  struct spell {
    std::uint64_t number;
    std::uint64_t kind;
    double chance;
    bool is_harvested;
    bool is_half;
    bool may_halve;
    std::uint64_t draw;  // of all so far
    std::uint32_t steps = 0;
    double sum_ns = 0;
    std::uint32_t works = 0;  // steps whose work is known
    double sum_work = 0;
  };

  struct harvested_spells {
    std::uint64_t count = 0;
    std::uint64_t devoured = 0;  // of these, far longer than forecast
    double excess = 0;           // by which they were longer, together

    void add(double more) noexcept;
    double mean() const noexcept { return excess / static_cast<double>(std::max<std::uint64_t>(count, 1)); }
  };
  /// What is known of side work of one kind and size.
  struct of_size {
    slowdown_estimate estimate;
    double surprise = 0;            // how much longer recent harvested spells were than expected, in units of their own
    std::uint32_t wary = 0;         // spells for which it withholds more
    harvested_spells surprising{};  // the latest ones in a row that took longer than expected
    harvested_spells first{};       // after the warm-up, while there is no interval

    double loss() const noexcept;
  };
  struct appetite {
    std::uint64_t kind = 0;
    of_size all;
    of_size half;
    harvested_spells warm_up{};  // count only as losses
    bool is_halved = false;

    of_size const& of(bool halved) const noexcept { return halved ? half : all; }
    double loss() const noexcept { return std::max(warm_up.excess, 0.0) + all.loss() + half.loss(); }
  };

  void end(spell const& of);
  appetite& of_kind(std::uint64_t kind);
  appetite const* find(std::uint64_t kind) const noexcept;
  void draw_for(std::uint64_t number, std::uint64_t kind, bool may_halve);
  slowdown_estimate unknown_estimate() const;
  std::uint64_t steps_to_know_at(slowdown_estimate const& of, double chance) const;
  std::uint64_t spells_a_draw(std::uint64_t kind, bool may_halve) const;
  void watch(of_size& its, double unexplained);
  double unit_of_surprise(of_size const& of) const;
  bool runs_half(std::uint64_t draw, std::uint64_t kind) const noexcept;
  bool half_may_be_worth_it(appetite const& of) const noexcept;
  void choose_size(appetite& of) const noexcept;
  double share_within_bound(double slowdown) const noexcept;
  std::optional<assumed_slowdown> assumed(std::uint64_t kind, bool half) const;
  static std::optional<double> seen_to_devour(appetite const& its_kind, bool half);
  double within_cap(double estimate, double low) const noexcept;
  double affordable(of_size const& of, double slowdown, double high) const;
  double loss() const noexcept;

  static constexpr double first_chance = 0.2;   // under a bound
  static constexpr std::size_t max_open = 64;   // spells without lengths
  static constexpr std::size_t max_kinds = 16;  // that are told apart at a time
  governor_options options_;
  std::list<appetite> appetites_;  // the kind that last ended a spell is the last
  std::deque<spell> open_;
  spell drawn_{};                                      // the last spell that a draw decided
  std::uint64_t draw_ends_ = 0;                        // before this spell
  std::uint64_t ended_draw_ = 0;                       // of the spell that ended last
  std::map<std::uint64_t, assumed_slowdown> assumed_;  // of a kind
  double forgotten_ = 0;                               // losses of kinds that are no longer told apart
  step_forecast forecast_;
  std::uint64_t ended_ = 0;
};

}  // namespace lull
