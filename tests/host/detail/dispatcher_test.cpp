// SPDX-License-Identifier: Apache-2.0
// What the dispatcher frees when something fails, and that it holds no lock while it calls the program.
#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/fed_probe.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST_F(runtime_recorded, a_submit_that_finds_no_mapped_memory_leaves_none_behind) {
  auto const side = make();
  int const before = seen.memories;
  job task;
  int refused = 0;
  for (; !task; ++refused) {
    seen.maps_left = refused;
    try {
      task = submit(*side, "a");
    } catch (limit_error const&) {
      EXPECT_EQ(seen.memories, before) << refused << " pieces were mapped";
    }
  }
  EXPECT_GT(refused, 1);
  seen.maps_left = -1;
  await(task, job_state::placed);
  int const with_a = seen.memories;
  job const same_kind = submit(*side, "b");
  EXPECT_LT(seen.memories - with_a, with_a - before) << "its workers' slots are there already";
}

TEST_F(runtime_recorded, a_graph_whose_slots_find_no_mapped_memory_gets_them_later) {
  runtime_options with = options();
  with.tasks = {type_of<probe_task>(), type_of<fed_probe>()};  // two slots a graph
  auto const side = make(std::move(with));
  job const task = side->submit(description("a", 1));  // of which a bubble does a chunk, however busy the machine is
  await(task, job_state::placed);
  std::vector<threads_graph> graphs;
  std::vector<int> kept;
  for (int const left : {0, 1}) {
    std::chrono::milliseconds length{2};  // of the bubble: longer each time
    int const before = seen.memories;
    int const refused = seen.maps_refused;
    seen.maps_left = left;
    trainer.begin_capture();
    {
      bubble const idle{*side, &trainer, site{"wait"}};
      trainer.enqueue([&length] { std::this_thread::sleep_for(length); });
    }
    graphs.push_back(trainer.end_capture());
    await_that([&] { return seen.maps_refused > refused + 1; });  // asked for again, and what it had is given back
    kept.push_back(seen.memories - before);
    seen.maps_left = -1;
    EXPECT_TRUE(within_time([&] {
      trainer.launch(graphs.back());
      trainer.synchronize();
      length = std::min(2 * length, std::chrono::milliseconds{100});
      auto const told = side->take_bubbles();
      return std::any_of(told.begin(), told.end(), [](auto const& each) { return each.record().items != 0; });
    })) << "the job came into no replay";
  }
  EXPECT_EQ(kept[0], kept[1]) << "one slot without the other is of no use";
}

/// Otherwise what a finished job has left would lie there until the next one comes.
TEST_F(runtime_recorded, what_jobs_have_left_is_freed_when_none_is_there) {
  auto const side = make();
  for (int time = 0; time < 2; ++time) {
    int const before = seen.leftovers_freed;
    await_that([&] { return seen.leftovers_freed > before; });
  }
}

TEST_F(runtime_recorded, of_bubbles_that_nobody_takes_the_latest_are_kept) {
  constexpr std::uint64_t kept = 300, too_many = 100;
  auto with = options(runtime_mode::observe);
  with.max_reports = kept;
  auto const side = make(std::move(with));
  auto const bubbles = [&](std::uint64_t count, char const* where) {
    for (std::uint64_t at = 0; at < count;) {
      bubble_id id;
      await_that([&] { return (id = side->open(&trainer, site{where})).bubble != 0; });  // records are read meanwhile
      side->close(id, &trainer);
      ++at;
    }
  };
  bubbles(too_many, "first");
  bubbles(kept, "later");
  await_that([&] { return side->summary().seen() == kept + too_many; });
  auto const taken = side->take_bubbles();
  ASSERT_EQ(taken.size(), kept);
  EXPECT_EQ(taken.front().site, "later");
  EXPECT_EQ(taken.back().site, "later");
  EXPECT_TRUE(side->take_bubbles().empty());
}

void bubbles_of(runtime& side, threads_stream& trainer, int count, char const* where) {
  for (int at = 0; at < count; ++at) {
    {
      bubble const idle{side, &trainer, site{where}};
      trainer.enqueue([] { std::this_thread::sleep_for(2ms); });
    }
    trainer.synchronize();
    side.take_bubbles();
  }
}

TEST_F(runtime_recorded, workers_are_told_how_long_the_last_bubbles_of_their_site_were) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  auto const bubbles = [&](int count, char const* where) { bubbles_of(*side, trainer, count, where); };
  bubbles(8, "long");
  EXPECT_EQ(seen.usual().min_ns, 0U);
  // Lengths come some bubbles late. On a busy computer the host may seem to have closed a bubble early; 32 are kept.
  for (int at = 0; at < 1'000 && seen.usual().min_ns <= 1'900'000; ++at) bubbles(1, "long");
  EXPECT_GT(seen.usual().min_ns, 1'900'000U);
  EXPECT_GT(seen.usual().spread_ns, 0U);
  bubbles(1, "another");
  EXPECT_EQ(seen.usual().min_ns, 0U);
}

/// The look before was long ago: all of these closes may have come as early as the first.
TEST_F(runtime_recorded, lengths_that_may_have_been_alike_are_told_as_such) {
  seen.since_look_ns = 1'000'000'000;
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  for (int at = 0; at < 1'000 && seen.usual().min_ns <= 1'900'000; ++at) bubbles_of(*side, trainer, 1, "long");
  EXPECT_GT(seen.usual().min_ns, 1'900'000U);
  EXPECT_EQ(seen.usual().from_ns, seen.usual().min_ns);
  EXPECT_EQ(seen.usual().until_ns, seen.usual().min_ns);
}

/// Has more items than a cursor can count.
struct uncountable_task {
  static constexpr team_shape shape{.threads = 32};
  std::uint64_t extent(position, std::uint64_t) const noexcept { return std::uint64_t{1} << 50; }
  void operator()(chunk, auto const&) const noexcept {}
};
static_assert(side_task<uncountable_task>);

TEST_F(runtime_recorded, what_the_dispatcher_logs_may_wait_for_another_thread_of_the_program) {
  runtime* made = nullptr;
  std::future<void> looks;
  std::promise<bool> looked;
  auto with = options();
  with.log = [&](std::string_view line) {
    if (line.find("failed") == line.npos) return;
    looks = std::async(std::launch::async, [&] { made->summary(); });
    looked.set_value(looks.wait_for(10s) == std::future_status::ready);
  };
  runtime side{std::make_unique<recording_executor>(seen), with};
  made = &side;
  job const task = side.submit(test::threads_job(uncountable_task{}));
  await(task, job_state::placed);
  while (!task.wait(0ns)) {
    one_bubble(side);
    trainer.synchronize();
  }
  EXPECT_EQ(task.progress().state, job_state::failed);
  EXPECT_TRUE(looked.get_future().get()) << "the dispatcher held a lock while it called the program";
}

}  // namespace
}  // namespace lull
