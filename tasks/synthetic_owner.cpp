// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/synthetic_owner.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/tasks/counted_compute.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull {
namespace {

constexpr std::array compute_options{
    option{"items", option_kind::integer, "65536", "[1, 1073741824]", "items in a round"},
    option{"rounds", option_kind::integer, "500", "[1, 1000000000]", "number of rounds"},
    option{"fma", option_kind::integer, "48", "[1, 1000000]",
           "dependent multiply-adds for an item, in each thread of the team"},
    option{"grain", option_kind::integer, "1", "[1, 65536]", "items in a chunk"},
};

constexpr std::array streaming_options{
    option{"items", option_kind::integer, "4096", "[1, 16777216]", "items in a round, each 16 KiB of two arrays"},
    option{"rounds", option_kind::integer, "100", "[1, 32768]",
           "number of rounds"},  // sums stay below 2^24, exact in fp32
    option{"grain", option_kind::integer, "1", "[1, 4096]", "items in a chunk"},
};

std::uint64_t count_of(option_values const& values, std::string_view name) {
  return static_cast<std::uint64_t>(values.integer(name));
}

template <class Task>
job_description described(Task const& task, char const* name, option_values const& values) {
  job_description job = describe(task, name);
  job.grain = static_cast<std::uint32_t>(values.integer("grain"));
  return job;
}

void require(bool prepared) {
  if (!prepared) throw usage_error{"the task has no arrays yet: call prepare first"};
}

class compute_owner final : public task_owner {
 public:
  explicit compute_owner(option_values const& values) : values_(values) {}

  memory_need needs(executor_kind) override {
    std::uint64_t const bytes = count_of(values_, "items") * sizeof(std::uint64_t);
    return {.machine_bytes = bytes + sizeof(float), .preparing_bytes = bytes, .smaller = "items"};  // read to be judged
  }

  void prepare(executor& executor) override {
    sink_ = device_array<float>{executor, 1};
    completed_ = device_array<std::uint64_t>{executor, count_of(values_, "items")};
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    require(completed_.data() != nullptr);
    compute_task const work{sink_.data(), count_of(values_, "items"), rounds(),
                            static_cast<std::uint32_t>(values_.integer("fma"))};
    return described(counted_compute_task{work, completed_.data()}, "compute", values_);
  }

  std::uint64_t max_rounds() const override { return rounds(); }
  void reset() override { completed_.fill_zero(); }

  std::vector<task_array> arrays() const override { return {array_of("completed", completed_)}; }

  verification verify() override {
    std::vector<std::uint64_t> const found = completed_.read();
    auto const wrong =
        std::find_if(found.begin(), found.end(), [&](std::uint64_t rounds_done) { return rounds_done != rounds(); });
    if (wrong == found.end()) {
      return {true, std::to_string(found.size()) + " items completed " + std::to_string(rounds()) + " rounds each"};
    }
    return {false, "item " + std::to_string(wrong - found.begin()) + " completed " + std::to_string(*wrong) +
                       " rounds of " + std::to_string(rounds())};
  }

  std::vector<std::string> write() override { return {}; }
  std::vector<task_figure> figures() const override {
    std::vector<std::uint64_t> const found = completed_.read();
    std::uint64_t const items = std::accumulate(found.begin(), found.end(), std::uint64_t{0});
    return {{"multiply_adds", static_cast<double>(items) * static_cast<double>(values_.integer("fma"))}};
  }

 private:
  std::uint64_t rounds() const { return count_of(values_, "rounds"); }

  option_values values_;
  device_array<float> sink_;
  device_array<std::uint64_t> completed_;
};

/// Returns a small whole number for each element, so that sums are exact.
float element(std::uint64_t index) { return static_cast<float>(index * 0x9e3779b97f4a7c15ULL >> 56); }

class streaming_owner final : public task_owner {
 public:
  explicit streaming_owner(option_values const& values) : values_(values) {}

  memory_need needs(executor_kind) override {
    return {.machine_bytes = 2 * items() * streaming_task::tile * sizeof(float), .smaller = "items"};
  }

  void prepare(executor& executor) override {
    executor_ = &executor;
    from_ = device_array<float>{executor, items() * streaming_task::tile};
    to_ = device_array<float>{executor, items() * streaming_task::tile};
    std::vector<float> piece(tiles_a_piece * streaming_task::tile);
    for (std::uint64_t item = 0; item < items(); item += tiles_a_piece) {
      std::uint64_t const first = item * streaming_task::tile;
      std::uint64_t const count = std::min(items() - item, tiles_a_piece) * streaming_task::tile;
      for (std::uint64_t i = 0; i < count; ++i) piece[i] = element(first + i);
      executor.write(from_.data() + first, piece.data(), count * sizeof(float));
    }
  }

  bool may_give_way() const override { return true; }

  job_description describe() const override {
    require(to_.data() != nullptr);
    return described(streaming_task{from_.data(), to_.data(), items(), rounds()}, "streaming", values_);
  }

  std::uint64_t max_rounds() const override { return rounds(); }
  void reset() override { to_.fill_zero(); }

  std::vector<task_array> arrays() const override { return {array_of("to", to_, {items(), streaming_task::tile})}; }

  verification verify() override {
    std::mt19937_64 random{1};
    std::vector<float> tile(streaming_task::tile);
    for (int i = 0; i < tiles_checked; ++i) {
      std::uint64_t const item = i == 0 ? 0 : i == 1 ? items() - 1 : random() % items();
      std::uint64_t const first = item * streaming_task::tile;
      executor_->read(tile.data(), to_.data() + first, tile.size() * sizeof(float));
      for (std::uint64_t k = 0; k < tile.size(); ++k) {
        float const expected = static_cast<float>(rounds()) * 2 * element(first + k);
        if (tile[k] != expected) {
          return {false, "element " + std::to_string(first + k) + " is " + std::to_string(tile[k]) + ", expected " +
                             std::to_string(expected)};
        }
      }
    }
    return {true,
            std::to_string(tiles_checked) + " tiles hold the sums of " + std::to_string(rounds()) + " rounds exactly"};
  }

  std::vector<std::string> write() override { return {}; }
  /// Two arrays are read and one is written.
  std::vector<task_figure> figures() const override {
    return {{"traffic_bytes", static_cast<double>(3 * items() * streaming_task::tile * sizeof(float) * rounds())}};
  }

 private:
  static constexpr std::uint64_t tiles_a_piece = 64;
  static constexpr int tiles_checked = 256;

  std::uint64_t items() const { return count_of(values_, "items"); }
  std::uint64_t rounds() const { return count_of(values_, "rounds"); }

  option_values values_;
  executor* executor_ = nullptr;
  device_array<float> from_;
  device_array<float> to_;
};

}  // namespace

task_entry compute_entry() {
  return {"compute",
          "only arithmetic: the compute-bound extreme",
          "compute:items=65536,rounds=1000",
          compute_options,
          [](option_values const&) { return type_of<counted_compute_task>(); },
          make_owner<compute_owner>};
}

task_entry streaming_entry() {
  return {"streaming",
          "only memory traffic: the memory-bound extreme",
          "streaming:items=4096,rounds=1000",
          streaming_options,
          [](option_values const&) { return type_of<streaming_task>(); },
          make_owner<streaming_owner>};
}

}  // namespace lull
