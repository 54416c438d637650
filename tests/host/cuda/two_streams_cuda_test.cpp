// SPDX-License-Identifier: Apache-2.0
// Two streams of a trainer with a peer between them: A waits, before its bubble or inside it, for a word that B sets
// after its own bubble. The workers of both must not make B wait for what A's bubble waits for.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>
#include <lull/host/measure/cuda/stream_words.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

enum class waits { before_bubble, inside_bubble };
enum class first { a, b };  // the stream that the host enqueues a pair's part of first

constexpr int group = 8;  // pairs that are enqueued before the host waits
constexpr std::uint64_t bubble_ns = 60'000;

class two_streams : public testing::TestWithParam<std::tuple<waits, first>> {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    trainer::load_short_kernels();
    a_ = cuda_stream{0};
    b_ = cuda_stream{0};
    word_.emplace();
    expired_.emplace();
  }

  /// How many waits run out. A null `side`: the same without Lull.
  std::uint32_t expired_waits(runtime* side, int pairs, std::chrono::nanoseconds limit) {
    std::uint32_t const before = expired_->host();
    for (int done = 0; done < pairs && expired_->host() == before; done += group) {
      for (int i = 0; i < group; ++i) pair(side, static_cast<std::uint64_t>(limit.count()));
      LULL_CUDA(cudaStreamSynchronize(a_.get()));
      LULL_CUDA(cudaStreamSynchronize(b_.get()));
    }
    return expired_->host() - before;
  }

  cuda_stream a_;
  cuda_stream b_;

 private:
  void pair(runtime* side, std::uint64_t limit_ns) {
    bool const a_is_first = std::get<first>(GetParam()) == first::a;
    ++round_;
    if (a_is_first) part_of_a(side, limit_ns);
    {
      auto const idle = bubble_of(side, b_, "b");
      trainer::wait_one_thread(b_.get(), bubble_ns, nullptr);
    }
    write_word(b_.get(), word_->device(), round_);
    if (!a_is_first) part_of_a(side, limit_ns);
  }
  void part_of_a(runtime* side, std::uint64_t limit_ns) {
    auto const wait = [&] { trainer::wait_for_word(a_.get(), word_->device(), round_, limit_ns, expired_->device()); };
    bool const is_inside = std::get<waits>(GetParam()) == waits::inside_bubble;
    if (!is_inside) wait();
    auto const idle = bubble_of(side, a_, "a");
    if (is_inside) {
      wait();
    } else {
      trainer::wait_one_thread(a_.get(), bubble_ns, nullptr);
    }
  }
  static std::unique_ptr<bubble> bubble_of(runtime* side, cuda_stream const& stream, std::string_view name) {
    return side != nullptr ? std::make_unique<bubble>(*side, stream.get(), site{name}) : nullptr;
  }

  std::optional<mapped_word> word_;  // what A waits for: the last pair whose bubble B has had
  std::optional<mapped_word> expired_;
  std::uint32_t round_ = 0;
};

bool has_chunks(std::vector<bubble_report> const& bubbles) {
  return std::any_of(bubbles.begin(), bubbles.end(), [](auto const& each) { return each.record().chunks != 0; });
}

TEST_P(two_streams, that_wait_for_each_other_do_not_hang) {
  if (expired_waits(nullptr, 64, 20ms) != 0) GTEST_SKIP() << "NOT RUN: this trainer hangs by itself";
  runtime side{{.executor = {.kind = executor_kind::cuda},
                .mode = runtime_mode::on,
                .tasks = {type_of<compute_task>()},
                .log = [](std::string_view line) { ADD_FAILURE() << line; }}};
  device_array<float> const sink{side.memory(), 1};
  job work = side.submit(compute_task{sink.data(), std::uint64_t{1} << 38, 1, 32}, "compute");
  await_that([&] { return side.ready(a_.get()) && side.ready(b_.get()); });
  EXPECT_EQ(expired_waits(&side, 2'000, 2s), 0u);
  EXPECT_TRUE(within_time([&] { return has_chunks(side.take_bubbles()); })) << "no worker was there";
  work.cancel();
  EXPECT_TRUE(work.wait(10s));
}

INSTANTIATE_TEST_SUITE_P(orders, two_streams,
                         testing::Combine(testing::Values(waits::before_bubble, waits::inside_bubble),
                                          testing::Values(first::a, first::b)),
                         [](auto const& info) {
                           bool const is_before = std::get<waits>(info.param) == waits::before_bubble;
                           return std::string{is_before ? "before_its_bubble" : "inside_its_bubble"} +
                                  (std::get<first>(info.param) == first::a ? "_a_first" : "_b_first");
                         });

}  // namespace
}  // namespace lull
