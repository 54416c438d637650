// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/task_request.hpp>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

constexpr std::size_t max_file_bytes = 1 << 20;
constexpr std::size_t max_requests = 1000;

// Characters that count their lines as they are read. The line lives outside, since the reader copies iterators.
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

/// Receives the file's parts in order (nlohmann-json's SAX interface) rather than a tree of values: a tree keeps
/// neither lines nor a key that stands twice. Lines are those of keys: a number's own end may be the next line's start.
class job_file_reader {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  job_file_reader(std::string file, std::span<task_options const> known, std::uint64_t const* line)
      : file_(std::move(file)), known_(known), line_(line) {}

  std::vector<task_request> take() { return std::move(requests_); }

  bool null() { return value("null", kind::other); }
  bool boolean(bool given) { return value(given ? "true" : "false", kind::word); }
  bool number_integer(number_integer_t number) { return value(std::to_string(number), kind::word); }
  bool number_unsigned(number_unsigned_t number) { return value(std::to_string(number), kind::word); }
  bool number_float(number_float_t, string_t const& spelling) { return value(spelling, kind::word); }
  bool string(string_t& text) { return value(text, kind::string); }
  bool binary(binary_t&) { return value("binary data", kind::other); }

  bool start_array(std::size_t) {
    if (place_ != place::top || in_array_) return value("an array", kind::other);
    in_array_ = true;
    return true;
  }
  bool end_array() {
    if (requests_.empty()) fail(*line_, "the array holds no task");
    return true;
  }
  bool start_object(std::size_t) {
    switch (place_) {
      case place::top:
        place_ = place::request;
        request_line_ = *line_;
        task_.reset();
        options_.clear();
        options_given_ = false;
        return true;
      case place::options_value:
        place_ = place::options;
        return true;
      default:
        return value("an object", kind::other);
    }
  }
  bool key(string_t& name) {
    key_line_ = *line_;
    if (place_ == place::options) {
      key_ = name;
      place_ = place::option_value;
    } else if (name == "task" && !task_) {
      place_ = place::task_value;
    } else if (name == "options" && !options_given_) {
      options_given_ = true;
      place_ = place::options_value;
    } else if (name == "task" || name == "options") {
      fail(key_line_, "\"" + name + "\" stands twice");
    } else {
      fail(key_line_, "unknown key \"" + name + "\"; known: task, options");
    }
    return true;
  }
  bool end_object() {
    if (place_ == place::options) {
      place_ = place::request;
    } else {
      finish_request();
      place_ = place::top;
    }
    return true;
  }
  bool parse_error(std::size_t, std::string const&, nlohmann::detail::exception const& wrong) {
    // The library's text begins with its own error number and place; ours is in front already.
    std::string_view message = wrong.what();
    if (auto const colon = message.find(": "); colon != std::string_view::npos) message.remove_prefix(colon + 2);
    fail(*line_, "is not JSON: " + std::string{message});
  }

 private:
  enum class place { top, request, task_value, options_value, options, option_value };
  enum class kind { string, word, other };
  struct given_option {
    std::string name;
    std::string text;
    std::uint64_t line;
  };

  bool value(std::string const& text, kind given) {
    if (place_ == place::task_value && given == kind::string) {
      task_ = text;
      task_line_ = key_line_;
      place_ = place::request;
    } else if (place_ == place::option_value && given != kind::other) {
      options_.push_back({key_, text, key_line_});
      place_ = place::options;
    } else if (place_ == place::task_value) {
      fail(key_line_, "the task's name is a string, not " + text);
    } else if (place_ == place::options_value) {
      fail(key_line_, R"("options" is an object, {"key": value}, not )" + text);
    } else if (place_ == place::option_value) {
      fail(key_line_, "option \"" + key_ + "\" takes a string, a number or a boolean, not " + text);
    } else {
      fail(*line_, R"(a job file holds {"task": "NAME", "options": {…}} or an array of these, not )" + text);
    }
    return true;
  }

  void finish_request() {
    if (!task_) fail(request_line_, R"("task" is missing: {"task": "NAME", "options": {…}})");
    if (requests_.size() == max_requests) fail(request_line_, "more than " + std::to_string(max_requests) + " tasks");
    std::uint64_t line = task_line_;
    try {
      task_request request{*task_, option_values(detail::find_task(*task_, known_).options)};
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

  std::string file_;
  std::span<task_options const> known_;
  std::uint64_t const* line_;
  std::vector<task_request> requests_;
  place place_ = place::top;
  bool in_array_ = false;
  // the request at hand
  std::uint64_t request_line_ = 0;
  std::uint64_t task_line_ = 0;
  std::uint64_t key_line_ = 0;
  std::optional<std::string> task_;
  bool options_given_ = false;
  std::string key_;
  std::vector<given_option> options_;
};

}  // namespace

std::vector<task_request> parse_job_file(std::string_view json, std::string const& file,
                                         std::span<task_options const> known) {
  if (json.size() > max_file_bytes) {
    throw input_error(file, 0, "is larger than the " + std::to_string(max_file_bytes) + " bytes allowed for it");
  }
  std::uint64_t line = 1;
  job_file_reader reader(file, known, &line);
  nlohmann::json::sax_parse(counting_iterator(json.data(), &line), counting_iterator(json.data() + json.size(), &line),
                            &reader);
  return reader.take();
}

std::vector<task_request> read_job_file(std::filesystem::path const& path, std::span<task_options const> known) {
  return parse_job_file(read_file(path, max_file_bytes), path.string(), known);
}

}  // namespace lull
