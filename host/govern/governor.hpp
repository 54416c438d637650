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

namespace lull {

/// What may run in a step: nothing, or side work with half or all of its blocks.
enum class side_work { none, half, all };

struct governor_options {
  /// By how much a trainer's steps may take longer in the mean, as a share of a step: above 0 and at most 1.
  double max_slowdown = 0.005;
  /// The same for all ranks of a trainer, and another for each trainer.
  std::uint64_t draw_seed = 0;
  /// Steps in a row that are harvested or not, at least 1. What a spell leaves to the step behind it is not
  /// seen, and is the less the longer it is; but a long one may cost more than the bound allows.
  std::uint32_t steps_a_spell = 4;
  /// The least share of spells in which no rank harvests, above 0 and at most a half. Near the bound it is up to 0.12.
  double min_withheld = 0.02;
};

/// Says in which steps of a trainer side work may run, so that they take at most `max_slowdown` longer in the mean over
/// the run. It aims at that: until nine harvested spells have ended, and five withheld ones behind the fourth of these,
/// a fifth of the spells is harvested, whatever that costs, unless something is supposed of them (two spells that each
/// took three tenths longer end this), and a slowdown that rises is seen some spells later. What was lost then is made
/// up for.
///
/// Steps are grouped into spells by their number. A spell is harvested with a chance, by a draw that depends on trainer
/// and number alone. So ranks that have the same chance withhold side work in the same steps, whenever they started.
/// Harvested and withheld spells together give the slowdown. The chance is what the upper end of its interval allows,
/// less what makes up for losses. Kinds of side work are told apart: each has an interval and a chance of its own, so a
/// hungry one gives way and a tame one does not; losses of all are made up for together, and a kind that is new waits
/// for that. A spell that takes more than three times as long as forecast counts as three times: a pause of the trainer
/// says nothing of side work.
///
/// Side work that may run with half of its blocks does so where it then does more within the bound, because training
/// feels it by far less than half. Where that is possible, some spells try the other size, by their number. Not
/// thread-safe.
class governor {
 public:
  /// Throws usage_error.
  explicit governor(governor_options const& options);

  /// Whether side work may run in the step. Steps are asked for in the order of their numbers, each once; some may be
  /// left out. Behind a number below those before, earlier steps are told in vain. `kind`: of the side work that
  /// would run in it; that of a spell's first step counts.
  bool harvests(std::uint64_t step, std::uint64_t kind = 0) { return decide(step, kind, false) != side_work::none; }
  /// … and with how many blocks. `may_halve`: it can run with half of them; that of a spell's first step counts.
  side_work decide(std::uint64_t step, std::uint64_t kind, bool may_halve);
  /// Whether side work of a kind runs with half of its blocks in most spells, if it may.
  bool is_halved(std::uint64_t kind) const noexcept;
  /// How long a step took that was asked for. Steps are told in order, and may be told up to 64 spells late. Side work
  /// hardly runs while none of the last 64 spells is told. A step that is not told says nothing. Ignores times outside
  /// 1 ns to 1e15 ns, and steps that were not asked for.
  void took(std::uint64_t step, double ns);

  /// How much longer side work of a kind is supposed to make a step, as from a profile. It says how carefully that kind
  /// begins, until its slowdown is known.
  struct assumed_slowdown {
    double slowdown = 0;       // as a share of a step; finite and not negative
    bool is_at_least = false;  // it may be more, so that it makes the beginning no bolder
  };
  void assume_slowdown(std::uint64_t kind, assumed_slowdown what);
  void assume_nothing(std::uint64_t kind) { assumed_.erase(kind); }
  /// Whether the slowdown of a kind is known, or supposed and no more.
  bool has_idea_of(std::uint64_t kind) const;
  static constexpr double first_chance = 0.2;  // of a kind that nobody has an idea of

  /// Of the next spell, if its side work is of that kind; so, too, all that follows. `half`: with half of its blocks.
  double chance(std::uint64_t kind = 0, bool half = false) const;
  std::optional<slowdown_interval> interval(std::uint64_t kind = 0, bool half = false) const;
  /// After how many steps with that kind of side work the interval reaches no further than half of the bound to either
  /// side, with the noise that was seen and this chance. 0: not known yet.
  std::uint64_t steps_to_know(std::uint64_t kind = 0, bool half = false) const;
  /// Of a step's length around the forecast, as a share, as if steps were independent. None before 60 spells.
  std::optional<double> noise() const;

 private:
  struct spell {
    std::uint64_t number;
    std::uint64_t kind;
    double chance;
    bool is_harvested;
    bool is_half;
    bool may_halve;
    std::uint32_t steps = 0;
    double sum_ns = 0;
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
    slowdown_estimate estimate{};
    double surprise = 0;     // how much longer harvested spells were lately than expected, in units of their own
    std::uint32_t wary = 0;  // spells that it looks closer at
    harvested_spells first;  // behind the warm-up, while there is no interval

    double loss() const noexcept;
  };
  struct appetite {
    std::uint64_t kind = 0;
    of_size all{};
    of_size half{};
    harvested_spells warm_up;  // count as losses alone
    bool is_halved = false;

    of_size const& of(bool halved) const noexcept { return halved ? half : all; }
    double loss() const noexcept { return std::max(warm_up.excess, 0.0) + all.loss() + half.loss(); }
  };

  void end(spell const& of);
  appetite& of_kind(std::uint64_t kind);
  appetite const* find(std::uint64_t kind) const noexcept;
  bool learn_usual(double step_ns);
  void forecast(double step_ns, bool is_harvested, double slowdown);
  bool runs_half(std::uint64_t number, std::uint64_t kind) const noexcept;
  bool half_may_be_worth_it(appetite const& of) const noexcept;
  void choose_size(appetite& of) const noexcept;
  double share_within_bound(double slowdown) const noexcept;
  std::optional<assumed_slowdown> assumed(std::uint64_t kind, bool half) const;
  double affordable(of_size const& of, double slowdown, double high) const;
  double loss() const noexcept;

  static constexpr std::size_t max_open = 64;   // spells that are asked for and not told
  static constexpr std::size_t max_kinds = 16;  // that are told apart at a time
  governor_options options_;
  std::list<appetite> appetites_;  // the latest one that ended a spell is the last
  std::deque<spell> open_;
  std::map<std::uint64_t, assumed_slowdown> assumed_;  // of a kind
  double forgotten_ = 0;                               // losses of kinds that are no longer told apart
  double usual_ns_ = 0;                                // of a step without side work, as forecast
  double spread_ = 0.02;                               // of spells around the forecast, as a share
  int off_in_a_row_ = 0;                               // spells that were far above the forecast; below 0: below it
  std::uint64_t ended_ = 0;
};

}  // namespace lull
