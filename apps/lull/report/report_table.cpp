// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include <lull/apps/lull/report/report.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/report/step_writers.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr std::size_t width = 80;
constexpr std::size_t label_width = 24;
constexpr double absurd = 1e12;  // from here on, powers of ten

// About so many digits (at least 3). With 4: 0.01234, 1.234, 123.4, 12345.
std::string number(double value, int digits = 4) {
  double const magnitude = std::abs(value);
  char text[64];
  if (magnitude >= absurd) {
    std::snprintf(text, sizeof text, "%.2e", value);
    return text;
  }
  int decimals = digits - 1;
  for (double limit = 10; decimals > 0 && magnitude >= limit; limit *= 10) --decimals;
  for (double limit = 1; decimals < digits + 1 && magnitude < limit; limit /= 10) ++decimals;
  std::snprintf(text, sizeof text, "%.*f", magnitude == 0 ? 0 : decimals, value);
  return text;
}

// Without zeros that say nothing: 2, 1.667.
std::string short_number(double value) {
  std::string text = number(value);
  if (text.find('.') == std::string::npos) return text;
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string percent(double value) {
  if (std::abs(value) >= absurd) return number(value) + " %";
  char text[64];
  std::snprintf(text, sizeof text, std::abs(value) < 10 ? "%.2f %%" : "%.1f %%", value);
  return text;
}

std::string signed_percent(double value) { return (value < 0 ? "" : "+") + percent(value); }

class table {
 public:
  explicit table(std::ostream& out) : out_(out) {}

  void title(std::string const& text) { out_ << wrapped(text, width); }

  // A label and its text, which goes on below itself where it is too long.
  void row(std::string label, std::string const& text) {
    label.resize(std::max(label.size(), label_width), ' ');
    if (label.size() > label_width) label = label.substr(0, label_width - 4) + "... ";
    out_ << label << wrapped(text, width, label_width);
  }

 private:
  std::ostream& out_;
};

std::string what_ran(report const& result) {
  report_config const& config = result.config;
  std::string text;
  auto const add = [&](std::string const& part) { text += (text.empty() ? "" : ", ") + part; };
  if (config.schedule) add(*config.schedule);
  if (config.stage && config.stages) {
    add("stage " + std::to_string(*config.stage) + " of " + std::to_string(*config.stages));
  }
  if (config.microbatches) add(std::to_string(*config.microbatches) + " micro-batches");
  if (config.segment_ms) add("forward " + short_number(*config.segment_ms) + " ms");
  if (config.iterations) add(std::to_string(*config.iterations) + " iterations");
  if (config.mode && *config.mode != "lull") add("mode " + *config.mode);
  return text;
}

/// Jobs of one task that ended alike.
struct job_group {
  job_result sum;  // its counts are those of all
  std::size_t jobs = 0;
};

std::vector<job_group> grouped(std::vector<job_result> const& jobs) {
  std::vector<job_group> groups;
  auto const add = [](std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> const& one) {
    if (one) sum = sum.value_or(0) + *one;
  };
  for (job_result const& job : jobs) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](job_group const& each) {
      return each.sum.name == job.name && each.sum.state == job.state && each.sum.verified == job.verified;
    });
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->sum.name = job.name;
      group->sum.state = job.state;
      group->sum.verified = job.verified;
    }
    ++group->jobs;
    add(group->sum.items, job.items);
    add(group->sum.chunks, job.chunks);
    add(group->sum.phases, job.phases);
    add(group->sum.failures, job.failures);
  }
  return groups;
}

std::string counted(std::uint64_t count, std::string const& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string describe(job_group const& group) {
  job_result const& job = group.sum;
  std::string text = group.jobs == 1 ? job.state : counted(group.jobs, "job") + " " + job.state;
  if (job.items) text += ", " + counted(*job.items, "item");
  if (job.chunks) text += " in " + counted(*job.chunks, "chunk");
  if (job.phases) text += ", " + counted(*job.phases, "phase");
  if (job.failures.value_or(0) != 0) text += ", " + counted(*job.failures, "unusable input");
  return text + (!job.verified ? ", not verified" : *job.verified ? ", verified" : ", WRONG RESULT");
}

std::string harvest_text(double ratio, std::string const& of_what) {
  std::string const text = percent(100 * ratio) + of_what;
  return ratio > 1 ? text + "; above 100 % since the task ran slower when its speed alone was measured" : text;
}

void print_gained(table& lines, report const& result) {
  lines.title("gained");
  if (result.harvest.ratio) lines.row("  harvest", harvest_text(*result.harvest.ratio, " of the bubbles' time"));
  if (result.harvest.ratio_excluding_reserved && result.executor == "cuda") {
    lines.row("  ... on workers' SMs", harvest_text(*result.harvest.ratio_excluding_reserved, ""));
  }
  if (result.harvest.solo_sm_mhz && result.harvest.bubbles_sm_mhz) {
    lines.row("  clocks of the SMs", number(*result.harvest.bubbles_sm_mhz) + " MHz in bubbles, " +
                                         number(*result.harvest.solo_sm_mhz) + " alone");
  }
  bubble_counts const& bubbles = result.bubbles;
  if (bubbles.count) {
    std::string text = std::to_string(*bubbles.count);
    if (bubbles.total_ms) text += " of " + number(*bubbles.total_ms) + " ms in all";
    if (bubbles.harvested) text += ", " + std::to_string(*bubbles.harvested) + " harvested";
    if (bubbles.skipped) text += ", " + std::to_string(*bubbles.skipped) + " without side work";
    lines.row("  bubbles", text);
  }
  for (job_group const& each : grouped(result.jobs)) lines.row("  " + each.sum.name, describe(each));
}

void print_times(table& lines, std::string const& label, distribution const& times) {
  if (!times.p50 || !times.p99 || !times.max) return;
  std::string text = "p50 " + number(*times.p50, 3) + ", p99 " + number(*times.p99, 3);
  if (times.p999) text += ", p99.9 " + number(*times.p999, 3);
  lines.row(label, text + ", max " + number(*times.max, 3) + " us (n=" + std::to_string(times.n) + ")");
}

constexpr double much_behind = 0.05;

std::string training_text(slowdown const& training) {
  std::string text = number(training.baseline) + " -> " + number(training.with_side_tasks) + " ms, " +
                     signed_percent(training.percent);
  text += training.ci95_percent ? " (95 % interval: " + signed_percent(training.ci95_percent->low) + " to " +
                                      signed_percent(training.ci95_percent->high) + ")"
                                : " (one pair: no interval)";
  return text + ", pairs: " + std::to_string(training.pairs);
}

void print_cost(table& lines, report const& result) {
  if (!result.training && !result.drain_us.max && !result.start_us.max) return;
  lines.title("cost");
  if (result.training) lines.row("  training", training_text(*result.training));
  if (result.host_behind.value_or(0) > much_behind) {
    lines.row("  host",
              "had enqueued less than a bubble in advance in " + percent(100 * *result.host_behind) +
                  " of the looks: the time of its calls counts, too; longer segments tell more of the device");
  }
  if (std::string const bound = bound_text(result.steps); !bound.empty()) lines.row("  bound", bound);
  print_times(lines, "  drain (close to out)", result.drain_us);
  print_times(lines, "  start (open to work)", result.start_us);
}

std::string_view meaning_of(lost_cause cause, double lost_us) {
  constexpr std::array<std::string_view, lost_causes> meanings{
      "until blocks had their first chunk",
      "after a bubble's end, until blocks were out",
      "the host launched workers too late",
      "sites whose bubbles are too short",
      "nothing to run",
      "the task had no input",
      "waiting for a phase's last chunks",
      "a worker's lease was over before the bubble",
      "SMs that are reserved for the trainer",
      "chunks that were begun and handed back",
      "workers were kept out",
      "iterations without side work, to know or limit its cost",
      "slower than alone"};
  if (cause == lost_cause::slower && lost_us < 0) return "gained: faster than alone";
  static_assert(!meanings.back().empty());
  return meanings[static_cast<std::size_t>(cause)];
}

void print_lost(table& lines, report const& result) {
  std::vector<std::pair<double, lost_cause>> causes;
  double total_us = 0;
  bool measured = false;
  for (std::size_t i = 0; i < lost_causes; ++i) {
    auto const cause = static_cast<lost_cause>(i);
    measured = measured || result.harvest.lost(cause).has_value();
    double const lost_us = result.harvest.lost(cause).value_or(0);
    if (lost_us != 0) causes.emplace_back(lost_us, cause);
    total_us += lost_us;
  }
  if (!measured) return;
  std::stable_sort(causes.begin(), causes.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
  auto const share = [&](double lost_us) {
    std::string const text = number(lost_us / 1000, 3) + " ms";
    bool const known = result.bubbles.total_ms && *result.bubbles.total_ms > 0;
    return known ? text + ", " + percent(lost_us / 10 / *result.bubbles.total_ms) : text;
  };
  lines.row("lost", share(total_us) + (result.bubbles.total_ms ? " of the bubbles' time" : ""));
  for (auto const& [lost_us, cause] : causes) {
    lines.row("  " + std::string{name_of(cause)}, share(lost_us) + ": " + std::string{meaning_of(cause, lost_us)});
  }
}

std::string where(report const& result) {
  std::string text = "lull " + result.command + " on " + result.executor;
  auto const& gpu = result.machine.gpu;
  if (result.executor == "cuda" && gpu && gpu->name) text += ", " + *gpu->name;
  if (result.executor == "threads" && result.machine.cpu) text += ", " + *result.machine.cpu;
  return text;
}

}  // namespace

std::string headline(report const& result) {
  std::string text = where(result);
  if (std::string const ran = what_ran(result); !ran.empty()) text += ": " + ran;
  text += ".";
  if (std::string const all = closing_sentence(result); !all.empty()) text += " " + all;
  if (result.training) text += " Training: " + training_text(*result.training) + ".";
  if (result.time == "cpu") text += " " + std::string{cpu_time_note};
  return text;
}

void print_report(std::ostream& out, report const& result) {
  table lines(out);
  lines.title(where(result));
  if (std::string const text = what_ran(result); !text.empty()) lines.title(text);
  if (result.interrupted) lines.title("Interrupted: the report covers the time until then.");
  if (result.time == "cpu") lines.title(std::string{cpu_time_note});
  out << '\n';
  if (result.harvest.ratio) {
    lines.title(
        "Bubbles are the idle time between training kernels. Harvest is the side work done in them, as the time that "
        "the task alone would have taken for it.");
  }
  if (std::any_of(result.jobs.begin(), result.jobs.end(),
                  [](job_result const& job) { return job.chunks.has_value(); })) {
    lines.title(
        "A chunk is what a block does between two looks at the gate; a phase is over when all its chunks are done.");
  }
  print_gained(lines, result);
  print_cost(lines, result);
  print_lost(lines, result);
}

std::string closing_sentence(report const& result) {
  std::string text;
  if (std::optional<double> const ratio = result.harvest.ratio) {
    bool const one_task = result.config.tasks.size() == 1;
    text = one_task ? result.config.tasks.front().name : "The side tasks";
    text += " used " + (*ratio > 1 ? "all" : percent(100 * std::max(0.0, *ratio))) + " of the idle ";
    text += result.executor == "cuda" ? "GPU time" : "time";
  }
  if (result.training) {
    auto const& interval = result.training->ci95_percent;
    text += text.empty() ? "Training" : "; training";
    text += " took " + percent(std::abs(result.training->percent));
    text += result.training->percent < 0 ? " less time" : " longer";
    if (interval && interval->low <= 0 && interval->high >= 0) text += ", which is within the noise";
  }
  return text.empty() ? text : text + ".";
}

}  // namespace lull
