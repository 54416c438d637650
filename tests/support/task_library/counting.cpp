// SPDX-License-Identifier: Apache-2.0
// A good library of three side tasks, as an author would build it.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_library.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/support/task_library/count_up.hpp>

namespace {

using namespace lull;

constexpr option options[] = {
    {"items", option_kind::integer, "64", "[1, 1048576]", "items in a round"},
    {"rounds", option_kind::integer, "20", "[1, 1000000000]", "number of rounds"},
    {"label", option_kind::path, "", "", "text for the result"},
    {"throws", option_kind::choice, "nothing", "nothing|usage|input|limit|device|other", "what its preparation throws"},
};

class count_up_owner final : public task_owner {
 public:
  explicit count_up_owner(option_values values) : values_(std::move(values)) {}

  memory_need needs(executor_kind) override {
    return {.machine_bytes = number("items") * sizeof(std::uint64_t), .smaller = "items"};
  }
  void prepare(executor& executor) override {
    std::string const asked = values_.choice("throws");
    if (asked == "usage") throw usage_error{"thrown in a library"};
    if (asked == "input") throw input_error{"some.file", 7, "thrown in a library"};
    if (asked == "limit") throw limit_error{"thrown in a library"};
    if (asked == "device") throw device_error{3, "code_3", "call()", "place"};
    if (asked == "other") throw std::domain_error{"thrown in a library"};
    words_ = {executor, number("items")};
  }
  job_description describe() const override {
    return lull::describe(count_up{words_.data(), number("items"), number("rounds")}, "count_up");
  }
  std::uint64_t max_rounds() const override { return number("rounds"); }
  void reset() override { words_.fill_zero(); }
  std::vector<task_array> arrays() const override { return {array_of("words", words_)}; }
  verification verify() override {
    std::vector<std::uint64_t> expected(number("items"));
    for (std::uint64_t i = 0; i < expected.size(); ++i) {
      for (std::uint64_t round = 0; round < number("rounds"); ++round) {
        expected[i] = count_up::after(expected[i], round, i);
      }
    }
    return {words_.read() == expected, std::to_string(expected.size()) + " words"};
  }
  std::vector<std::string> write() override {
    return {"last word: " + std::to_string(words_.read().back()) +
            (values_.has("label") ? ", label <" + values_.path("label").string() + ">" : "")};
  }
  std::vector<task_figure> figures() const override {
    return {{"last_word", static_cast<double>(words_.read().back() % 1000)}};
  }

 private:
  std::uint64_t number(std::string_view name) const { return static_cast<std::uint64_t>(values_.integer(name)); }

  option_values values_;
  device_array<std::uint64_t> words_;
};

task_entry entry(std::string_view name, std::string_view example) {
  return {.name = name,
          .help = "fold the number of each round into words",
          .example = example,
          .options = options,
          .type = [](option_values const&) { return type_of<count_up>(); },
          .make = [](option_values const& values) -> std::unique_ptr<task_owner> {
            return std::make_unique<count_up_owner>(values);
          }};
}

task_entry fed_entry() {
  return {
      .name = "fed",
      .help = "take up rows that its owner feeds",
      .example = "fed",
      .options = {},
      .type = [](option_values const&) { return type_of<fed_probe>(); },
      .make = [](option_values const&) -> std::unique_ptr<task_owner> { return std::make_unique<fed_probe_owner>(); }};
}

}  // namespace

LULL_SIDE_TASKS(entry("count_up", "count_up:items=64,rounds=20"), entry("fold", "fold"), fed_entry())
