// SPDX-License-Identifier: Apache-2.0
// Whether a side task that is preempted at random instants ends with the very bits of an uninterrupted run. One JSON
// object on standard output. Exit code 0: it does; 1: it does not, or an error; 2: nothing was run.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/registry/registry.hpp>
#include <lull/bench/images/photographs.hpp>
#include <lull/bench/images/resize_unfed.hpp>
#include <lull/bench/images/unfed_images.hpp>
#include <lull/bench/instants/preempted_runs.hpp>
#include <lull/bench/program.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/io/units.hpp>

namespace {

using namespace lull;

struct arguments {
  std::string task;
  std::string executor = "cuda";
  bench::instants_wish wish;
};

// By default some milliseconds' work, and yet few bytes to compare: much is read for each pixel that is written.
constexpr std::array images_unfed_options{
    option{"count", option_kind::integer, "96", "[1, 4096]", "pictures, half of them by either filter, with a logo"},
    option{"from", option_kind::integer, "3840", "[16, 32768]", "width of the photographs, 16:9"},
    option{"to", option_kind::integer, "640", "[16, 32768]", "width of the results"},
};

constexpr std::uint64_t photographs = 8;  // that differ; making one takes longer than resizing it
constexpr std::size_t judged = 8;

std::unique_ptr<task_owner> made_of(option_values const& values) {
  auto const count = static_cast<std::uint64_t>(values.integer("count"));
  auto const from = static_cast<std::uint32_t>(values.integer("from"));
  auto const to = static_cast<std::uint32_t>(values.integer("to"));
  std::vector<std::shared_ptr<image const>> made;
  for (std::uint64_t i = 0; i < std::min(photographs, count); ++i) {
    made.push_back(std::make_shared<image const>(bench::photograph(from, from * 9 / 16, 3, i + 1)));
  }
  bench::unfed_wishes wishes;
  for (std::uint64_t i = 0; i < count; ++i) {
    image_filter const filter = i < (count + 1) / 2 ? image_filter::lanczos3 : image_filter::area;
    wishes.pictures.push_back({made[i % made.size()], to, to * 9 / 16, filter});
  }
  wishes.logo = bench::photograph(256, 128, 3, 99);
  wishes.judged = judged;
  return std::make_unique<bench::unfed_images>(std::move(wishes), type_of<bench::resize_unfed>());
}

/// The task `images` without files and without a feeder. Verified on some pictures in double precision.
task_entry images_unfed_entry() {
  return {"images_unfed",
          "resize pictures that are there from the start",
          "images_unfed",
          images_unfed_options,
          [](option_values const&) { return type_of<bench::resize_unfed>(); },
          &made_of};
}

/// The registry's tasks, and one that nobody needs to feed.
std::unique_ptr<task_owner> owner_of(std::string const& task) {
  task_entry const unfed = images_unfed_entry();
  std::vector<task_options> known{known_tasks().begin(), known_tasks().end()};
  known.push_back({unfed.name, unfed.help, unfed.options});
  task_request const request = parse_task(task, known);
  return (request.name == unfed.name ? unfed : entry_of(request)).make(request.values);
}

std::unique_ptr<executor> machine_of(std::string const& kind) {
  executor_options options{.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true};
  if (kind == "threads") {
    options.kind = executor_kind::threads;
    // a core is left to the host, which closes
    options.processors = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  }
  return make_executor(options);
}

int run(arguments const& given) {
  std::unique_ptr<executor> const executor = machine_of(given.executor);
  executor->adopt_thread();
  std::unique_ptr<task_owner> const owner = owner_of(given.task);
  owner->prepare(*executor);
  bench::preempted_runs const found = bench::preempt_at_random(*owner, *executor, given.wish);
  bool const equal = found.difference.empty();
  nlohmann::ordered_json const said{{"name", "random_instants"},
                                    {"task", given.task},
                                    {"executor", given.executor},
                                    {"shortest", format_duration(given.wish.shortest)},
                                    {"longest", format_duration(given.wish.longest)},
                                    {"seed", given.wish.seed},
                                    {"instants", found.instants},
                                    {"bubbles", found.bubbles},
                                    {"runs", found.runs},
                                    {"handed_back", found.handed_back},
                                    {"bit_equal", equal},
                                    {"arrays", found.arrays},
                                    {"array_bytes", found.array_bytes},
                                    {"verified", found.verified}};
  std::cout << said.dump() << std::endl;
  if (!equal)
    std::fprintf(stderr, "random_instants: run %llu: %s\n", static_cast<unsigned long long>(found.runs),
                 found.difference.c_str());
  return equal ? 0 : 1;
}

void add_duration(CLI::App& app, std::string const& name, std::chrono::nanoseconds& to, std::string const& help) {
  auto const take = [name, &to](std::string const& text) {
    try {
      to = parse_duration(text);
    } catch (usage_error const& wrong) {
      throw CLI::ValidationError{name, wrong.what()};
    }
  };
  app.add_option_function<std::string>(name, take, help)->default_str(format_duration(to));
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"random_instants", "A side task preempted at random instants, beside an uninterrupted run"};
  CLI::App& app = here.app;
  app.add_option("--task", given.task, "NAME or NAME:key=value,…, as lull tasks lists them; images_unfed for images")
      ->required();
  app.add_option("--executor", given.executor)->check(CLI::IsMember({"threads", "cuda"}));
  app.add_option("--instants", given.wish.instants, "bubbles that are closed with blocks at work")
      ->check(CLI::Range(1, 1'000'000'000));
  add_duration(app, "--shortest", given.wish.shortest, "bubble");
  add_duration(app, "--longest", given.wish.longest, "bubble; lengths are log-uniform between the two");
  app.add_option("--seed", given.wish.seed, "of the lengths");
  add_duration(app, "--at-most", given.wish.at_most, "time for the preempted runs together");
  return here.run(argc, argv, [&] {
    if (given.executor == "cuda") bench::need_gpu();
    return run(given);
  });
}
