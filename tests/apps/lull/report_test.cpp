// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <lull/apps/lull/report/report.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

report full_report() {
  report result;
  result.version = "0.2.0";
  result.command = "harvest";
  result.executor = "cuda";
  result.time = "device";
  result.interrupted = true;
  result.machine = {
      .cpu = "Example CPU",
      .cpus = 32,
      .usable_cpus = 16,
      .memory_bytes = 1ull << 37,
      .kernel = "Linux 6.1",
      .os = "Debian 12",
      .gpu = gpu_description{
          .name = "Example GPU",
          .driver = "580.159",
          .sm_max_mhz = 1980,
          .memory_max_mhz = 3201,
          .power_limit_w = 700,
          .state = {.sm_mhz = 1710, .memory_mhz = 3200, .power_w = 698.25, .temperature_c = 61, .power_capped = true}}};
  result.config = {.mode = "lull",
                   .schedule = "1f1b",
                   .stages = 4,
                   .microbatches = 8,
                   .stage = 0,
                   .segment_ms = 2,
                   .min_bubble_us = 30,
                   .rest_before_close_us = 10,
                   .iterations = 5,
                   .pairs = 10,
                   .reserved_groups = 2,
                   .verify = true,
                   .tasks = {{"pagerank", {{"damping", "0.85"}, {"graph", "a,\"b\".el"}}}}};
  result.bubbles = {.count = 200, .harvested = 198, .skipped = 2, .total_ms = 900.5};
  result.drain_us = {.n = 198, .p50 = 2.4, .p99 = 3.1, .p999 = 3.3, .max = 3.3};
  result.start_us = {.n = 198, .p50 = 3.9, .p99 = 4.2, .p999 = 4.4, .max = 4.4};
  result.training = {.pairs = 10,
                     .baseline = 330.12,
                     .with_side_tasks = 331.25,
                     .percent = 0.342,
                     .ci95_percent = interval95{0.2, 0.484}};
  result.host_behind = 0.125;
  result.harvest.ratio = 0.934;
  result.harvest.ratio_excluding_reserved = 0.971;
  result.harvest.solo_sm_mhz = 1980;
  result.harvest.bubbles_sm_mhz = 1725.5;
  for (std::size_t i = 0; i < lost_causes; ++i) result.harvest.lost_us[i] = 100.0 * static_cast<double>(i);
  result.jobs = {{"ranks", "finished", 300, 40'000, 5'000'000'000, true, 0, {}, {"a.el: a \"note\"", "b"}},
                 {"other", "cancelled", 1, 2, 3, std::nullopt, std::nullopt},
                 {"wrong", "finished", 1, 2, 3, false, 7}};
  result.steps = {.begun = 450,
                  .timed = 440,
                  .total = std::chrono::milliseconds{880},
                  .max_slowdown = 0.005,
                  .withheld = 120,
                  .chance = 0.625,
                  .slowdown = slowdown_interval{0.0025, 0.0075, 0.0125},
                  .noise = 0.01,
                  .steps_to_know = 2'000};
  return result;
}

TEST(report, keys_are_those_of_the_schema) {
  json const value = json::parse(to_json(full_report()));
  EXPECT_EQ(value["schema"], "lull.report/2");
  EXPECT_EQ(value["version"], "0.2.0");
  EXPECT_EQ(value["executor"], "cuda");
  EXPECT_EQ(value["time"], "device");
  EXPECT_EQ(value["interrupted"], true);
  EXPECT_EQ(value["machine"]["gpu"]["clocks"]["sm_mhz"], 1710);
  EXPECT_EQ(value["machine"]["gpu"]["power"]["limit_w"], 700);
  EXPECT_EQ(
      value["config"].dump(),
      R"({"mode":"lull","schedule":"1f1b","stages":4,"microbatches":8,"stage":0,"segment_ms":2.0,)"
      R"("min_bubble_us":30.0,"rest_before_close_us":10.0,"iterations":5,"pairs":10,"reserved_groups":2,"verify":true,)"
      R"("tasks":[{"name":"pagerank","options":{"damping":"0.85","graph":"a,\"b\".el"},"library":null}]})");
  EXPECT_EQ(value["bubbles"].dump(), R"({"count":200,"harvested":198,"skipped":2,"total_ms":900.5})");
  EXPECT_EQ(value["drain_us"].dump(), R"({"n":198,"p50":2.4,"p99":3.1,"p999":3.3,"max":3.3})");
  EXPECT_EQ(value["start_us"]["p50"], 3.9);
  EXPECT_EQ(value["training"].dump(), R"({"baseline_ms":330.12,"with_side_tasks_ms":331.25,"slowdown_pct":0.342,)"
                                      R"("pairs":10,"ci95_pct":[0.2,0.484],"host_behind_pct":12.5})");
  EXPECT_EQ(value["harvest"]["ratio"], 0.934);
  EXPECT_EQ(value["harvest"]["ratio_excluding_reserved"], 0.971);
  EXPECT_EQ(value["harvest"]["alone_sm_mhz"], 1980);
  EXPECT_EQ(value["harvest"]["bubbles_sm_mhz"], 1725.5);
  EXPECT_EQ(value["harvest"]["lost_us"].dump(),
            R"({"start":0.0,"drain":100.0,"host_late":200.0,"too_short":300.0,"no_job":400.0,"starved":500.0,)"
            R"("phase_wait":600.0,"lease":700.0,"reserved_groups":800.0,"grain":900.0,"held":1000.0,"withheld":1100.0,)"
            R"("slower":1200.0})");
  EXPECT_EQ(value["steps"].dump(),
            R"({"marked":450,"timed":440,"mean_ms":2.0,"max_slowdown_pct":0.5,"slowdown_cap_pct":null,)"
            R"("withheld":120,"halved":0,"chance":0.625,"slowdown_pct":0.75,"ci95_pct":[0.25,1.25],"noise_pct":1.0,)"
            R"("steps_to_know":2000})");
  EXPECT_EQ(value["jobs"][0].dump(), R"({"name":"ranks","state":"finished","phases":300,"chunks":40000,)"
                                     R"("items":5000000000,"verified":true,"failures":0,"figures":{},)"
                                     R"("notes":["a.el: a \"note\"","b"]})");
  EXPECT_EQ(value["jobs"][1]["notes"], json::array());
  EXPECT_TRUE(value["jobs"][1]["failures"].is_null());
  EXPECT_EQ(value["jobs"][2]["failures"], 7);
  EXPECT_TRUE(value["jobs"][1]["verified"].is_null());
  EXPECT_EQ(value["jobs"][2]["verified"], false);
}

// Every number of an empty report, the counts of samples and what is false by nature aside.
void expect_no_zero(json const& value, std::string const& path) {
  if (value.is_structured()) {
    for (auto const& [key, element] : value.items()) expect_no_zero(element, path + "/" + key);
  } else if (path != "/drain_us/n" && path != "/start_us/n") {
    EXPECT_FALSE(value.is_number()) << path;
  }
}

TEST(report, what_was_not_measured_is_null_never_zero) {
  json const value = json::parse(to_json(report{}));
  expect_no_zero(value, "");
  EXPECT_TRUE(value["training"]["slowdown_pct"].is_null());
  EXPECT_TRUE(value["training"]["ci95_pct"].is_null());
  EXPECT_TRUE(value["steps"].is_null());
  EXPECT_TRUE(value["machine"]["gpu"].is_null());
  EXPECT_EQ(value["harvest"]["lost_us"].size(), lost_causes);
  EXPECT_TRUE(value["harvest"]["lost_us"]["reserved_groups"].is_null());
  EXPECT_TRUE(value["drain_us"]["p50"].is_null());

  report not_finite;
  not_finite.harvest.ratio = std::nan("");
  EXPECT_TRUE(json::parse(to_json(not_finite))["harvest"]["ratio"].is_null());
}

TEST(report, bytes_that_are_no_text_do_not_stop_the_report) {
  report result;
  result.config.tasks = {{"pagerank", {{"graph", "caf\xE9.el"}}}};
  EXPECT_EQ(json::parse(to_json(result))["config"]["tasks"][0]["options"]["graph"], "caf\xEF\xBF\xBD.el");
}

std::string printed(report const& result) {
  std::ostringstream out;
  print_report(out, result);
  return out.str();
}

TEST(report, table_says_gain_cost_and_loss) {
  std::string const text = printed(full_report());
  EXPECT_EQ(text, R"(lull harvest on cuda, Example GPU
1f1b, stage 0 of 4, 8 micro-batches, forward 2 ms, 5 iterations
Interrupted: the report covers the time until then.

Bubbles are the idle time between training kernels. Harvest is the side work
done in them, as the time that the task alone would have taken for it.
A chunk is what a block does between two looks at the gate; a phase is over when
all its chunks are done.
gained
  harvest               93.4 % of the bubbles' time
  ... on workers' SMs   97.1 %
  clocks of the SMs     1726 MHz in bubbles, 1980 alone
  bubbles               200 of 900.5 ms in all, 198 harvested, 2 without side
                        work
  ranks                 finished, 5000000000 items in 40000 chunks, 300 phases,
                        verified
  other                 cancelled, 3 items in 2 chunks, 1 phase, not verified
  wrong                 finished, 3 items in 2 chunks, 1 phase, 7 unusable
                        inputs, WRONG RESULT
cost
  training              330.1 -> 331.2 ms, +0.34 % (95 % interval: +0.20 % to
                        +0.48 %), pairs: 10
  host                  had enqueued less than a bubble in advance in 12.5 % of
                        the looks: the time of its calls counts, too; longer
                        segments tell more of the device
  bound                 Steps may take 0.50 % longer in the mean, so 120 of 450
                        had no side work; one with it takes 0.75 % longer (95 %
                        interval: 0.25 % to 1.25 %); 62.50 % of those to come
                        may have it; with the noise seen, 1.00 % of a step, it
                        will be known to half of the bound after about 2000
                        steps
  drain (close to out)  p50 2.40, p99 3.10, p99.9 3.30, max 3.30 us (n=198)
  start (open to work)  p50 3.90, p99 4.20, p99.9 4.40, max 4.40 us (n=198)
lost                    7.80 ms, 0.87 % of the bubbles' time
  slower                1.20 ms, 0.13 %: slower than alone
  withheld              1.10 ms, 0.12 %: iterations without side work, to know
                        or limit its cost
  held                  1.00 ms, 0.11 %: workers were kept out
  grain                 0.900 ms, 0.10 %: chunks that were begun and handed back
  reserved_groups       0.800 ms, 0.09 %: SMs that are reserved for the trainer
  lease                 0.700 ms, 0.08 %: a worker's lease was over before the
                        bubble
  phase_wait            0.600 ms, 0.07 %: waiting for a phase's last chunks
  starved               0.500 ms, 0.06 %: the task had no input
  no_job                0.400 ms, 0.04 %: nothing to run
  too_short             0.300 ms, 0.03 %: sites whose bubbles are too short
  host_late             0.200 ms, 0.02 %: the host launched workers too late
  drain                 0.100 ms, 0.01 %: after a bubble's end, until blocks
                        were out
)");
}

TEST(report, table_sums_up_jobs_that_ended_alike) {
  report result = full_report();
  result.jobs.assign(44, {"ranks", "finished", 300, 40, 5'000, true, 1});
  result.jobs.push_back({"ranks", "cancelled", 7, 2, 3, std::nullopt, std::nullopt});
  result.jobs.push_back({"ranks", "finished", 300, 40, 5'000, false, 0});
  std::string const text = printed(result);
  EXPECT_NE(text.find("  ranks                 44 jobs finished, 220000 items in 1760 chunks, 13200\n"
                      "                        phases, 44 unusable inputs, verified\n"
                      "  ranks                 cancelled, 3 items in 2 chunks, 7 phases, not verified\n"
                      "  ranks                 finished, 5000 items in 40 chunks, 300 phases, WRONG\n"
                      "                        RESULT\n"),
            std::string::npos)
      << text;
}

TEST(report, table_of_threads_leaves_out_what_only_a_gpu_has) {
  report result = full_report();
  result.executor = "threads";
  EXPECT_EQ(printed(result).find("workers' SMs"), std::string::npos);
}

TEST(report, share_above_a_hundred_percent_has_its_reason_beside_it) {
  report result = full_report();
  EXPECT_EQ(printed(result).find("above 100 %"), std::string::npos);
  result.harvest.ratio = 1.085;
  result.harvest.lost(lost_cause::slower) = -9e4;
  std::string const text = printed(result);
  EXPECT_NE(text.find("  harvest               108.5 % of the bubbles' time; above 100 % since the task\n"
                      "                        ran slower when"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("-9.99 %: gained: faster than alone"), std::string::npos) << text;
}

TEST(report, closing_sentence_says_gain_and_cost) {
  report result = full_report();
  EXPECT_EQ(closing_sentence(result), "pagerank used 93.4 % of the idle GPU time; training took 0.34 % longer.");
  result.training->percent = -0.1;
  result.training->ci95_percent = interval95{-0.4, 0.2};
  result.harvest.ratio = 1.2;
  result.executor = "threads";
  result.config.tasks.push_back({"compute", {}});
  EXPECT_EQ(closing_sentence(result),
            "The side tasks used all of the idle time; training took 0.10 % less time, which is within the noise.");
  result.harvest.ratio.reset();
  result.training->ci95_percent.reset();
  EXPECT_EQ(closing_sentence(result), "Training took 0.10 % less time.");
  EXPECT_EQ(closing_sentence(report{}), "");
}

TEST(report, headline_says_all_in_one_line) {
  report result = full_report();
  EXPECT_EQ(headline(result),
            "lull harvest on cuda, Example GPU: 1f1b, stage 0 of 4, 8 micro-batches, forward 2 ms, 5 iterations. "
            "pagerank used 93.4 % of the idle GPU time; training took 0.34 % longer. "
            "Training: 330.1 -> 331.2 ms, +0.34 % (95 % interval: +0.20 % to +0.48 %), pairs: 10.");
  result.training.reset();
  result.time = "cpu";
  EXPECT_NE(headline(result).find("idle GPU time. Times are those of CPU threads"), std::string::npos);
}

TEST(report, table_fits_80_columns_whatever_it_holds) {
  report result = full_report();
  result.time = "cpu";
  result.machine.gpu->name = std::string(200, 'g');
  result.jobs[0].name = std::string(200, 'j');
  result.jobs[0].state = std::string(200, 's');
  result.bubbles.total_ms = 1e300;
  result.training->percent = -1e300;
  result.drain_us.max = 1e14;
  result.drain_us.n = ~std::uint64_t{0};
  EXPECT_NE(printed(result).find("-1.00e+300 %"), std::string::npos);
  EXPECT_NE(printed(result).find("200 of 1.00e+300 ms"), std::string::npos);
  for (std::size_t length = 0; length < 100; ++length) {
    result.jobs[1].state = std::string(length, 's');
    std::istringstream lines(printed(result));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(report, table_of_nothing_claims_nothing) {
  report result;
  result.command = "run";
  result.executor = "threads";
  result.time = "cpu";
  std::string const text = printed(result);
  EXPECT_NE(text.find("CPU threads that stand for a GPU"), std::string::npos);
  EXPECT_EQ(text.find("cost"), std::string::npos);
  EXPECT_EQ(text.find("lost"), std::string::npos);
  EXPECT_EQ(text.find('0'), std::string::npos);
}

TEST(report, cost_of_measured_pairs) {
  std::vector<double> const baseline{100, 100}, treated{102, 102};
  report result;
  result.training = paired_slowdown(baseline, treated);
  json const cost = json::parse(to_json(result))["training"];
  EXPECT_NEAR(cost["baseline_ms"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(cost["slowdown_pct"].get<double>(), 2, 1e-9);
  EXPECT_EQ(cost["pairs"], 2u);
  EXPECT_TRUE(cost["ci95_pct"].is_array());
}

}  // namespace
}  // namespace lull
