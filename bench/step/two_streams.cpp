// SPDX-License-Identifier: Apache-2.0
// Two streams of a trainer with a peer between them: A waits, before its bubble or inside it, for a word that B sets
// after its own bubble. The workers of both must not make B wait for what A's bubble waits for. All options of the
// runtime are the default ones. Device stamps. One JSON object on standard output. Exit code 0: no wait ran out; 1: one
// did, or an error; 2: nothing was run.
//   two_streams --connections 8
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/bench/side_work/bubble_account.hpp>
#include <lull/bench/side_work/endless_work.hpp>
#include <lull/bench/step/kernels.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>
#include <lull/host/runtime.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

struct arguments {
  int connections = 0;
  std::uint64_t bubbles = 100'000;  // over all orders and tasks
  double bubble_us = 60;
  std::vector<std::string> tasks{"streaming", "pagerank"};
  std::string kronecker = "20";
};

enum class waits { before_bubble, inside_bubble };
enum class first { a, b };  // the stream that the host enqueues a pair's part of first

struct order_of_pair {
  waits where;
  first enqueued;
};
constexpr order_of_pair orders[] = {{waits::before_bubble, first::a},
                                    {waits::before_bubble, first::b},
                                    {waits::inside_bubble, first::a},
                                    {waits::inside_bubble, first::b}};

constexpr int group = 8;  // pairs that are enqueued before the host waits
constexpr std::uint64_t plain_pairs = 512;
constexpr std::uint64_t enough_hangs = 3;
constexpr std::uint64_t hang_ns = 2'000'000'000;
constexpr std::uint64_t plain_hang_ns = 20'000'000;

/// The moments of one pair, on the device.
struct moments {
  std::uint64_t b_begins;
  std::uint64_t b_sets;
  std::uint64_t a_ends;
};

struct outcome {
  std::vector<double> beyond_us;  // of each pair: what it took beyond its bubbles
  std::uint64_t hangs = 0;        // waits that ran out
};

class two_streams {
 public:
  explicit two_streams(arguments const& given) : bubble_ns_(static_cast<std::uint64_t>(given.bubble_us * 1e3)) {
    trainer::load();
    bench::load_step_kernels();
    LULL_CUDA(cudaMemset(words_, 0, 256));
    LULL_CUDA(cudaDeviceSynchronize());
  }

  stream_handle a() const noexcept { return a_.get(); }
  stream_handle b() const noexcept { return b_.get(); }

  /// A null `side`: the same without Lull. Ends early when waits have run out.
  outcome run(runtime* side, order_of_pair order, std::uint64_t pairs, std::uint64_t limit_ns) {
    outcome found;
    std::uint32_t const before = expired();
    for (std::uint64_t done = 0; done < pairs && found.hangs < enough_hangs; done += group) {
      for (int i = 0; i < group; ++i) pair(side, order, moments_ + i, limit_ns);
      LULL_CUDA(cudaStreamSynchronize(a_.get()));
      LULL_CUDA(cudaStreamSynchronize(b_.get()));
      take(order, found);
      found.hangs = expired() - before;
    }
    return found;
  }

 private:
  void pair(runtime* side, order_of_pair order, moments* when, std::uint64_t limit_ns) {
    ++round_;
    if (order.enqueued == first::a) part_of_a(side, order.where, when, limit_ns);
    part_of_b(side, when);
    if (order.enqueued == first::b) part_of_a(side, order.where, when, limit_ns);
  }
  void part_of_a(runtime* side, waits where, moments* when, std::uint64_t limit_ns) {
    auto const wait = [&] { trainer::wait_for_word(a_.get(), words_, round_, limit_ns, words_ + 32); };
    if (where == waits::before_bubble) wait();
    bubble_id const id = side != nullptr ? side->open(a_.get(), site{"a"}) : bubble_id{};
    if (where == waits::inside_bubble) {
      wait();
    } else {
      trainer::wait_one_thread(a_.get(), bubble_ns_, nullptr);
    }
    if (side != nullptr) side->close(id, a_.get());
    trainer::stamp(a_.get(), &when->a_ends);
  }
  void part_of_b(runtime* side, moments* when) {
    trainer::stamp(b_.get(), &when->b_begins);
    bubble_id const id = side != nullptr ? side->open(b_.get(), site{"b"}) : bubble_id{};
    trainer::wait_one_thread(b_.get(), bubble_ns_, nullptr);
    if (side != nullptr) side->close(id, b_.get());
    bench::set_word(b_.get(), words_, round_, &when->b_sets);
  }

  void take(order_of_pair order, outcome& into) const {
    moments when[group];
    LULL_CUDA(cudaMemcpy(when, moments_, sizeof when, cudaMemcpyDeviceToHost));
    std::uint64_t const a_bubble_ns = order.where == waits::before_bubble ? bubble_ns_ : 0;
    std::uint64_t a_is_free = 0;  // since then: B may be ahead by pairs
    for (moments const& one : when) {
      auto const b = static_cast<std::int64_t>(one.b_sets - one.b_begins - bubble_ns_);
      auto const a = static_cast<std::int64_t>(one.a_ends - std::max(one.b_sets, a_is_free) - a_bubble_ns);
      a_is_free = one.a_ends;
      into.beyond_us.push_back(static_cast<double>(a + b) / 1e3);
    }
  }
  std::uint32_t expired() const {
    std::uint32_t count = 0;
    LULL_CUDA(cudaMemcpy(&count, words_ + 32, sizeof count, cudaMemcpyDeviceToHost));
    return count;
  }

  std::uint64_t const bubble_ns_;
  cuda_stream a_{0};
  cuda_stream b_{0};
  device_buffer memory_{256};
  device_buffer stamps_{group * sizeof(moments)};
  std::uint32_t* const words_ =
      static_cast<std::uint32_t*>(memory_.get());  // what A waits for, and 32 words on how many waits ran out
  moments* const moments_ = static_cast<moments*>(stamps_.get());  // (group,)
  std::uint32_t round_ = 0;
};

json run_order(two_streams& streams, runtime& side, std::string const& task, order_of_pair order, std::uint64_t pairs,
               std::uint64_t& hangs) {
  json made{{"task", task},
            {"a_waits", order.where == waits::before_bubble ? "before" : "inside"},
            {"enqueued_first", order.enqueued == first::a ? "a" : "b"}};
  outcome const plain = streams.run(nullptr, order, plain_pairs, plain_hang_ns);
  made["plain_beyond_us"] = bench::spread(plain.beyond_us);
  if (plain.hangs != 0) {  // with one connection A's wait may stand before B's work
    made["not_run"] = "the trainer hangs by itself";
    return made;
  }
  side.take_bubbles();
  runtime_counts const before = side.counts();
  outcome const found = streams.run(&side, order, pairs, hang_ns);
  std::this_thread::sleep_for(100ms);  // the last records are read
  std::uint64_t lease_exits = 0;
  std::uint64_t items = 0;
  for (bubble_report const& one : side.take_bubbles()) {
    lease_exits += one.record().lease_blocks;
    items += one.record().items;
  }
  runtime_counts const since = side.counts().since(before);
  hangs += found.hangs;
  made["pairs"] = found.beyond_us.size();
  made["beyond_us"] = bench::spread(found.beyond_us);
  made["hangs"] = found.hangs;
  made["lease_exits"] = lease_exits;  // of the bubbles that are kept: the latest
  made["items"] = items;
  made["opened"] = since[counted::opened];
  made["launches"] = since[counted::launches];
  made["behind"] = since[counted::records_unread];
  return made;
}

int run(arguments const& given) {
  two_streams streams{given};
  std::uint64_t const pairs = std::max<std::uint64_t>(1, given.bubbles / 2 / (std::size(orders) * given.tasks.size()));
  std::uint64_t hangs = 0;
  bench::work_settings settings;
  settings.kronecker = given.kronecker;
  json rows = json::array();
  for (std::string const& task : given.tasks) {
    runtime_options all_default;
    all_default.log = bench::log_line;
    runtime side{all_default};
    if (side.mode() != runtime_mode::on) {
      rows.push_back({{"task", task}, {"not_run", "Lull is off here"}});
      continue;
    }
    bench::endless_work const work{side, bench::work_kinds().at(task), settings};
    for (stream_handle const each : {streams.a(), streams.b()}) bench::wait_until_ready(side, each);
    for (order_of_pair const order : orders) rows.push_back(run_order(streams, side, task, order, pairs, hangs));
  }
  json const made{{"name", "two_streams"},
                  {"connections", given.connections},
                  {"bubble_us", given.bubble_us},
                  {"hangs", hangs},
                  {"orders", rows}};
  std::cout << made.dump() << std::endl;
  return hangs == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"two_streams", "Two streams of a trainer, of which one waits for the other's bubble"};
  CLI::App& app = here.app;
  here.add_connections(given.connections);
  app.add_option("--bubbles", given.bubbles, "over all orders and tasks")->check(CLI::Range(1, 100'000'000));
  app.add_option("--bubble-us", given.bubble_us, "length of a bubble")->check(CLI::Range(10.0, 1e6));
  app.add_option("--task", given.tasks, "side tasks")->check(CLI::IsMember(bench::work_names()));
  app.add_option("--kronecker", given.kronecker, "log2 of the vertices of pagerank's graph")->check(CLI::Range(10, 26));
  here.add_limit(240);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    return run(given);
  });
}
