// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/task_request.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/lined_json.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;
using event = json::parse_event_t;

constexpr std::size_t max_file_bytes = 1 << 20;
constexpr std::size_t max_requests = 1000;

/// Makes requests of what the JSON reader meets, piece by piece, since a parsed tree does not keep lines.
class job_file_reader {
 public:
  job_file_reader(std::string const& file, std::span<task_options const> known, library_lookup of_library)
      : file_(file), known_(known), of_library_(of_library) {}

  std::vector<task_request> read(std::string_view text) {
    walk_json(text, file_, [this](int depth, event what, json const& value, std::uint64_t line) {
      line_ = line;
      meet(depth, what, value);
    });
    if (requests_.empty()) fail(1, "the array has no task: give one or more");
    return std::move(requests_);
  }

 private:
  struct given_option {
    std::string name;
    std::string text;
    std::uint64_t line;
  };

  void meet(int depth, event what, json const& value) {
    if (what == event::array_start && depth == 0) {
      list_depth_ = 1;
      return;
    }
    int const level = depth - list_depth_;  // 0: requests, 1: what they have, 2: their options
    if (what == event::key) return meet_key(level - 1, value.get<std::string>());
    if (what == event::object_end && level == 0) return add_request();
    if (what == event::object_end || what == event::array_end) return;
    std::string const said = what == event::array_start    ? "an array"
                             : what == event::object_start ? "an object"
                                                           : spelling_of(value);
    if (level == 0) {
      if (what != event::object_start)
        fail(line_, R"(a job file holds {"task": "NAME", "options": {…}} or an array of these, not )" + said);
      if (requests_.size() == max_requests) fail(line_, "more than " + std::to_string(max_requests) + " tasks");
      begin_ = line_;
      task_.reset();
      options_.clear();
      for (auto& each : keys_) each.clear();
    } else if (level == 2) {
      if (!value.is_string() && !value.is_number())
        fail(key_line_, "option \"" + key_ + "\" takes a string or a number, not " + said + advice(value));
      options_.push_back({key_, said, key_line_});
    } else if (key_ == "task") {
      if (!value.is_string()) fail(key_line_, "the task's name is a string, not " + said);
      task_ = given_option{key_, said, key_line_};
    } else if (what != event::object_start) {
      fail(key_line_, R"("options" is an object, {"key": value}, not )" + said);
    }
  }

  static char const* advice(json const& value) {
    if (value.is_boolean()) return ": write \"yes\" or \"no\"";
    return value.is_null() ? ": leave it out" : "";
  }

  void meet_key(int level, std::string key) {
    if (!keys_[level].insert(key).second) fail(line_, "\"" + key + "\" is given twice");
    if (level == 0 && key != "task" && key != "options")
      fail(line_, "unknown key \"" + key + "\"; known: task, options");
    key_ = std::move(key);
    key_line_ = line_;
  }

  void add_request() {
    if (!task_) fail(begin_, R"("task" is missing: {"task": "NAME", "options": {…}})");
    std::uint64_t line = task_->line;
    try {
      auto [library, name] = detail::read_task_name(task_->text);
      task_options const found = library.empty() ? detail::find_task(name, known_) : of_library_(library, name);
      task_request request{std::move(name), option_values(found.options), std::move(library)};
      for (given_option const& given : options_) {
        line = given.line;
        request.values.set(given.name, given.text);
      }
      requests_.push_back(std::move(request));
    } catch (usage_error const& wrong) {
      fail(line, wrong.what());
    }
  }

  [[noreturn]] void fail(std::uint64_t line, std::string const& message) const {
    throw input_error(file_, line, message);
  }

  std::string const& file_;
  std::span<task_options const> known_;
  library_lookup of_library_;
  std::uint64_t line_ = 1;
  int list_depth_ = 0;
  std::uint64_t begin_ = 0;  // the line of the current request
  std::set<std::string> keys_[2];
  std::string key_;
  std::uint64_t key_line_ = 0;
  std::optional<given_option> task_;
  std::vector<given_option> options_;
  std::vector<task_request> requests_;
};

}  // namespace

std::vector<task_request> parse_job_file(std::string_view text, std::string const& file,
                                         std::span<task_options const> known, library_lookup of_library) {
  if (text.size() > max_file_bytes) {
    throw input_error(file, 0, "is larger than " + std::to_string(max_file_bytes) + " bytes, the most for a job file");
  }
  return job_file_reader{file, known, of_library}.read(text);
}

std::vector<task_request> read_job_file(std::filesystem::path const& path, std::span<task_options const> known,
                                        library_lookup of_library) {
  return parse_job_file(read_file(path, max_file_bytes), path.string(), known, of_library);
}

}  // namespace lull
