// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/task_request.hpp>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t max_file_bytes = 1 << 20;
constexpr std::size_t max_requests = 1000;

// Characters that count their lines as they are read. The count is outside, because the reader copies iterators.
class counting_iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = char const*;
  using reference = char const&;
  using iterator_category = std::input_iterator_tag;

  counting_iterator(char const* at, std::uint64_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  counting_iterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  counting_iterator operator++(int) {
    counting_iterator const old = *this;
    ++*this;
    return old;
  }
  bool operator==(counting_iterator const& other) const { return at_ == other.at_; }
  bool operator!=(counting_iterator const& other) const { return at_ != other.at_; }

 private:
  char const* at_;
  std::uint64_t* line_;
};

/// A file's value, and what a parsed tree does not keep: the lines of its objects and keys, in order.
struct parsed_file {
  json value;
  std::vector<std::uint64_t> lines;
};

parsed_file parse(std::string_view text, std::string const& file) {
  parsed_file made;
  std::uint64_t line = 1;
  std::vector<std::set<std::string>> open;  // the keys of each open object
  auto const note = [&](int, json::parse_event_t event, json const& found) {
    if (event == json::parse_event_t::object_start) {
      open.emplace_back();
      made.lines.push_back(line);
    } else if (event == json::parse_event_t::key) {
      auto const& key = found.get_ref<std::string const&>();
      if (!open.back().insert(key).second) throw input_error(file, line, "\"" + key + "\" is given twice");
      made.lines.push_back(line);
    } else if (event == json::parse_event_t::object_end) {
      open.pop_back();
    }
    return true;
  };
  try {
    made.value =
        json::parse(counting_iterator(text.data(), &line), counting_iterator(text.data() + text.size(), &line), note);
  } catch (json::exception const& wrong) {
    // The library's text begins with its own error number and place; ours is already before it.
    std::string_view message = wrong.what();
    if (auto const colon = message.find(": "); colon != std::string_view::npos) message.remove_prefix(colon + 2);
    throw input_error(file, line, "is not JSON: " + std::string{message});
  }
  return made;
}

/// Returns a value as an option's text, or as JSON.
std::string spelled(json const& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_array() ? "an array" : value.is_object() ? "an object" : value.dump();
}

/// Makes requests of a file's value. Consumes a line number for each object and key in turn.
class job_file_reader {
 public:
  job_file_reader(parsed_file const& parsed, std::string const& file, std::span<task_options const> known,
                  library_lookup of_library)
      : lines_(parsed.lines), file_(file), known_(known), of_library_(of_library) {
    if (!parsed.value.is_array()) {
      read_request(parsed.value);
      return;
    }
    for (json const& each : parsed.value) read_request(each);
    if (requests_.empty()) fail(line_, "the array has no task: give one or more");
  }
  std::vector<task_request> take() { return std::move(requests_); }

 private:
  struct given_option {
    std::string name;
    std::string text;
    std::uint64_t line;
  };

  void read_request(json const& object) {
    if (!object.is_object()) {
      fail(line_, R"(a job file holds {"task": "NAME", "options": {…}} or an array of these, not )" + spelled(object));
    }
    std::uint64_t const begin = next_line();
    if (requests_.size() == max_requests) fail(begin, "more than " + std::to_string(max_requests) + " tasks");
    std::optional<std::string> task;
    std::uint64_t task_line = 0;
    std::vector<given_option> options;
    for (auto const& [key, value] : object.items()) {
      std::uint64_t const line = next_line();
      if (key == "task") {
        if (!value.is_string()) fail(line, "the task's name is a string, not " + spelled(value));
        task = value.get<std::string>();
        task_line = line;
      } else if (key == "options") {
        if (!value.is_object()) fail(line, R"("options" is an object, {"key": value}, not )" + spelled(value));
        options = read_options(value);
      } else {
        fail(line, "unknown key \"" + key + "\"; known: task, options");
      }
    }
    if (!task) fail(begin, R"("task" is missing: {"task": "NAME", "options": {…}})");
    std::uint64_t line = task_line;
    try {
      auto [library, name] = detail::read_task_name(*task);
      task_options const found = library.empty() ? detail::find_task(name, known_) : of_library_(library, name);
      task_request request{std::move(name), option_values(found.options), std::move(library)};
      for (given_option const& given : options) {
        line = given.line;
        request.values.set(given.name, given.text);
      }
      requests_.push_back(std::move(request));
    } catch (usage_error const& wrong) {
      fail(line, wrong.what());
    }
  }

  std::vector<given_option> read_options(json const& object) {
    next_line();  // the object's own
    std::vector<given_option> options;
    for (auto const& [name, value] : object.items()) {
      std::uint64_t const line = next_line();
      if (!value.is_string() && !value.is_number()) {
        fail(line, "option \"" + name + "\" takes a string or a number, not " + spelled(value));
      }
      options.push_back({name, spelled(value), line});
    }
    return options;
  }

  std::uint64_t next_line() { return line_ = lines_[next_++]; }

  [[noreturn]] void fail(std::uint64_t line, std::string const& message) const {
    throw input_error(file_, line, message);
  }

  std::vector<std::uint64_t> const& lines_;
  std::size_t next_ = 0;
  std::uint64_t line_ = 1;  // the last consumed line
  std::string const& file_;
  std::span<task_options const> known_;
  library_lookup of_library_;
  std::vector<task_request> requests_;
};

}  // namespace

std::vector<task_request> parse_job_file(std::string_view text, std::string const& file,
                                         std::span<task_options const> known, library_lookup of_library) {
  if (text.size() > max_file_bytes) {
    throw input_error(file, 0, "is larger than " + std::to_string(max_file_bytes) + " bytes, the most for a job file");
  }
  return job_file_reader{parse(text, file), file, known, of_library}.take();
}

std::vector<task_request> read_job_file(std::filesystem::path const& path, std::span<task_options const> known,
                                        library_lookup of_library) {
  return parse_job_file(read_file(path, max_file_bytes), path.string(), known, of_library);
}

}  // namespace lull
