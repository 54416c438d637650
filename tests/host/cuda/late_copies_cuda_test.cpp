// SPDX-License-Identifier: Apache-2.0
// A trainer that waits for long, with a kernel after its wait: with one connection no copy to the device comes through
// meanwhile. All jobs must be alive afterwards, and do their work. LULL_LATE_WAIT_S sets how long it waits, in seconds.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

std::chrono::seconds wait_of_trainer() {
  char const* const asked = std::getenv("LULL_LATE_WAIT_S");
  return std::chrono::seconds{asked != nullptr ? std::atoi(asked) : 3};
}

/// A word that a stream waits for, which the host writes.
class host_word {
 public:
  host_word() {
    LULL_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&word_), sizeof *word_, cudaHostAllocMapped));
    *word_ = 0;
  }
  ~host_word() { cudaFreeHost(word_); }
  host_word(host_word const&) = delete;
  host_word& operator=(host_word const&) = delete;
  void await(cudaStream_t stream) const {
    CUstreamBatchMemOpParams wait{};
    wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.waitValue.address = reinterpret_cast<CUdeviceptr>(word_);
    wait.waitValue.value = 1;
    wait.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    LULL_DRIVER(driver().memory_operations(stream, 1, &wait, 0));
  }
  void write() { *static_cast<std::uint32_t volatile*>(word_) = 1; }

 private:
  std::uint32_t* word_ = nullptr;
};

/// The test below runs this in a separate process for each number of connections.
TEST(DISABLED_late_copies, in_this_process) {
  trainer::load();
  std::mutex mutex;
  std::vector<std::string> lines;
  cuda_stream stream{0};
  host_word word;
  runtime side{{.executor = {.kind = executor_kind::cuda},
                .tasks = {type_of<probe_task>()},
                .log =
                    [&](std::string_view line) {
                      std::lock_guard const lock{mutex};
                      if (line.find("CUDA_DEVICE_MAX_CONNECTIONS") == line.npos) lines.emplace_back(line);
                    },
                .tuning = {.training_worth = 0}}};
  std::vector<std::unique_ptr<device_probe>> probes;
  auto const probe = [&] {
    std::vector<std::uint64_t> const items(400, 20'000);
    return probes.emplace_back(std::make_unique<device_probe>(executor_of(side), items))->task();
  };
  probe_task fed = probe();
  fed.feeds = 1;
  probe_task const later = probe();
  job running = side.submit(probe(), "running");
  job hungry = side.submit(fed, "hungry");
  job dropped = side.submit(probe(), "dropped");
  auto const one_bubble = [&](auto&& work) {
    bubble const idle{side, stream.get(), site{"wait"}};
    work();
  };
  for (int i = 0; i < 20; ++i) one_bubble([&] { trainer::wait_one_thread(stream.get(), 100'000, nullptr); });
  LULL_CUDA(cudaStreamSynchronize(stream.get()));

  one_bubble([&] { word.await(stream.get()); });
  trainer::burst(stream.get(), 132, 512, 100, nullptr);  // what is enqueued now comes after the trainer's wait
  std::thread feeder{[&] {
    patient_copies const however_late;  // as Lull's own threads that feed
    for (std::uint64_t n = 1; n <= 400; ++n) hungry.feed(n);
  }};
  job submitted;
  std::chrono::nanoseconds slowest{0};
  auto const timed = [&](auto&& call) {
    auto const begin = std::chrono::steady_clock::now();
    call();
    slowest = std::max<std::chrono::nanoseconds>(slowest, std::chrono::steady_clock::now() - begin);
  };
  auto const end = std::chrono::steady_clock::now() + wait_of_trainer();
  for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
    timed([&] { running.pause(); });
    std::this_thread::sleep_for(50ms);
    timed([&] { running.resume(); });
    timed([&] { side.counts(); });
    timed([&] { side.take_bubbles(); });
    if (round == 1) timed([&] { submitted = side.submit(later, "submitted"); });
    if (round == 2) timed([&] { dropped.cancel(); });
    std::this_thread::sleep_for(50ms);
  }
  word.write();
  std::vector<job> const all{running, hungry, submitted};
  auto const are_over = [&] {
    for (job const& each : all) {
      if (!each.wait(0ns)) return false;
    }
    return dropped.wait(0ns);
  };
  for (int i = 0; i < 200'000 && !are_over() && side.mode() == runtime_mode::on; ++i) {
    one_bubble([&] { trainer::wait_one_thread(stream.get(), 200'000, nullptr); });
    if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream.get()));
  }
  LULL_CUDA(cudaStreamSynchronize(stream.get()));
  feeder.join();
  EXPECT_EQ(side.mode(), runtime_mode::on);
  for (job const& each : all) EXPECT_EQ(each.progress().state, job_state::finished);
  EXPECT_EQ(dropped.progress().state, job_state::cancelled);
  for (std::size_t at : {0U, 1U, 2U}) EXPECT_STREQ(probes[at]->wrong(), nullptr);
  EXPECT_LT(slowest, 50ms) << "a call waited for the trainer";
  for (std::string const& line : lines) ADD_FAILURE() << line;
  RecordProperty("slowest_us", static_cast<int>(slowest.count() / 1000));
}

class late_copies : public testing::TestWithParam<char const*> {};

TEST_P(late_copies, are_no_error) {
  // Not asked here: a process that has started CUDA keeps its number of connections.
  std::string const self = "CUDA_DEVICE_MAX_CONNECTIONS=" + std::string{GetParam()} + " timeout 200 /proc/" +
                           std::to_string(getpid()) +
                           "/exe --gtest_also_run_disabled_tests --gtest_filter=DISABLED_late_copies.* --gtest_brief=1";
  if (std::system("test -e /dev/nvidiactl") != 0) GTEST_SKIP() << "NOT RUN: there is no GPU";
  int const status = std::system(self.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << self;
}

INSTANTIATE_TEST_SUITE_P(connections, late_copies, testing::Values("1", "4", "8"),
                         [](auto const& info) { return std::string{info.param}; });

}  // namespace
}  // namespace lull
