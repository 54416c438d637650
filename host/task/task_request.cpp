// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/task_request.hpp>

#include <algorithm>
#include <ostream>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {
namespace {

constexpr std::size_t max_text = 1 << 16;
constexpr std::size_t max_tasks = 1000;  // of a list

bool is_quote(char c) { return c == '"' || c == '\''; }

/// Whether a path of a library stands here, not a task's name: a slash comes before all that ends a name.
bool begins_with_path(std::string_view text) {
  if (text.empty() || is_quote(text.front())) return !text.empty();
  std::size_t const end = text.find_first_of("/:,;=");
  return end != std::string_view::npos && text[end] == '/';
}

// Reads the text from left to right; every error knows the column it belongs to.
class task_parser {
 public:
  /// `between`: what separates a task's options.
  task_parser(std::string_view text, std::span<task_options const> known, library_lookup of_library, char between)
      : text_(text), known_(known), of_library_(of_library), between_(between) {
    if (text_.size() > max_text) fail(0, "is longer than " + std::to_string(max_text) + " bytes");
  }

  task_request parse() { return read_task({}); }

  detail::task_name parse_name() {
    std::string library = read_path();
    return {std::move(library), std::string{read_until({})}};
  }

  std::vector<task_request> parse_list() {
    std::vector<task_request> requests;
    while (position_ < text_.size()) {
      if (requests.size() == max_tasks) fail(position_, "more than " + std::to_string(max_tasks) + " tasks");
      skip_blanks();
      requests.push_back(read_task(","));
      if (position_ < text_.size()) ++position_;  // the comma after it
    }
    return requests;
  }

 private:
  /// Up to one of `ends`, none or one, or the end of the text.
  task_request read_task(std::string_view ends) {
    ends_ = ends;
    std::size_t const start = position_;
    std::string library;
    if (begins_with_path(text_.substr(position_))) library = read_path();
    task_options found;
    std::string_view const name = read_until(library.empty() ? ":" : std::string{':', between_});
    if (!library.empty()) {
      at(start, [&] { found = of_library_(library, name); });
    } else {
      if (name.empty()) fail(start, "the task's name is missing; known: " + list_names("", known_));
      if (!ends.empty() && name.find('=') != std::string_view::npos) {
        fail(start, "\"" + std::string{name} + "\" is not a task: in a list ';' separates the options of one task");
      }
      try {
        found = detail::find_task(name, known_);
      } catch (usage_error const& wrong) {
        fail(start, wrong.what() + comma_hint());
      }
    }
    task_request request{std::string{name}, option_values(found.options), std::move(library)};
    last_key_ = {};
    while (!task_ended()) {
      ++position_;  // the colon or what stands between two options
      read_option(request.values);
    }
    return request;
  }

  /// Up to the colon, and that colon.
  std::string read_path() {
    std::string path = read_word(':', "colon");
    if (!task_ended()) ++position_;
    skip_blanks();
    return path;
  }

  bool task_ended() const {
    return position_ == text_.size() || ends_.find(text_[position_]) != std::string_view::npos;
  }

  void read_option(option_values& values) {
    skip_blanks();
    std::size_t const start = position_;
    std::string_view const key = read_until(std::string{'=', between_});
    if (key.empty())
      fail(start,
           "an option is missing here: write key=value, or drop the " + name_of(between_) + " or colon before it");
    std::string value;
    bool const has_value = !task_ended() && text_[position_] != between_;
    if (has_value) {
      ++position_;  // the equals sign
      skip_blanks();
      value = read_word(between_, name_of(between_) + " or the end");
    }
    try {
      values.set(key, value);
    } catch (usage_error const& wrong) {
      fail(start, wrong.what() + (has_value || between_ != ',' ? "" : comma_hint()));
    }
    auto const row = std::ranges::find(values.table(), key, &option::name);
    last_key_ = row->kind == option_kind::text || row->kind == option_kind::path ? key : std::string_view{};
  }

  /// What follows a comma without an equals sign may belong to the value before it, whose quotes a shell took.
  std::string comma_hint() const {
    if (last_key_.empty()) return {};
    return "; or quote a value with commas twice, as a shell takes one pair: \"…" + std::string{last_key_} +
           "='a,b,c'\"";
  }

  /// What is quoted, or stands before `stop` or the task's end.
  std::string read_word(char stop, std::string const& stop_name) {
    if (position_ == text_.size() || !is_quote(text_[position_])) return std::string{read_until({&stop, 1})};
    std::string value = read_quoted();
    skip_blanks();
    if (!task_ended() && text_[position_] != stop) fail(position_, "a closing quote must precede a " + stop_name);
    return value;
  }

  std::string read_quoted() {
    std::size_t const start = position_;
    char const quote = text_[position_++];
    std::string value;
    for (;; ++position_) {
      if (position_ == text_.size()) fail(start, std::string{"the quote "} + quote + " is not closed");
      char c = text_[position_];
      if (c == quote) break;
      if (c == '\\' && quote == '"') {
        c = ++position_ < text_.size() ? text_[position_] : '\0';
        if (c != '"' && c != '\\')
          fail(position_ - 1, "a backslash in double quotes must precede \" or another backslash");
      }
      value += c;
    }
    ++position_;
    return value;
  }

  static std::string name_of(char between) { return between == ',' ? "comma" : "semicolon"; }

  // Up to one of `stops` or the end of the task, without blanks at the right.
  std::string_view read_until(std::string_view stops) {
    std::size_t const end =
        std::min({text_.find_first_of(stops, position_), text_.find_first_of(ends_, position_), text_.size()});
    std::string_view word = text_.substr(position_, end - position_);
    while (word.ends_with(' ')) word.remove_suffix(1);
    position_ = end;
    return word;
  }

  void skip_blanks() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  template <class Function>
  void at(std::size_t position, Function const& function) const {
    try {
      function();
    } catch (usage_error const& wrong) {
      fail(position, wrong.what());
    }
  }

  [[noreturn]] void fail(std::size_t position, std::string const& message) const {
    constexpr std::size_t shown = 200;
    std::string text{text_.substr(0, shown)};
    if (text_.size() > shown) text += "…";
    throw usage_error("task '" + text + "', column " + std::to_string(position + 1) + ": " + message);
  }

  std::string_view text_;
  std::span<task_options const> known_;
  library_lookup of_library_;
  char between_;
  std::string_view ends_;      // of the current task
  std::string_view last_key_;  // of the text or path that stands just before; empty: neither
  std::size_t position_ = 0;
};

std::string quoted(std::string_view value) {
  std::string made = "\"";
  for (char const c : value) {
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made + "\"";
}

std::string quoted_if_needed(std::string_view value) {
  bool const plain = value.empty() || (value.find(',') == std::string_view::npos && !value.starts_with(' ') &&
                                       !value.ends_with(' ') && !is_quote(value.front()));
  return plain ? std::string{value} : quoted(value);
}

std::string path_of_library(std::string_view path) {
  bool const plain = begins_with_path(path) && !is_quote(path.front()) && !path.starts_with(' ') &&
                     !path.ends_with(' ') && path.find_first_of(":,;") == std::string_view::npos;
  return plain ? std::string{path} : quoted(path);
}

}  // namespace

task_options const& detail::find_task(std::string_view name, std::span<task_options const> known) {
  auto const found = std::ranges::find(known, name, &task_options::name);
  if (found != known.end()) return *found;
  std::string const is_file =
      name.ends_with(".so") ? "; of a library write its path with a '/', such as ./" + std::string{name} : "";
  throw usage_error("unknown task \"" + std::string{name} + "\"; known: " + list_names(name, known) + is_file);
}

detail::task_name detail::read_task_name(std::string_view text) {
  if (!begins_with_path(text)) return {{}, std::string{text}};
  return task_parser(text, {}, no_library, '\0').parse_name();
}

task_options no_library(std::string const&, std::string_view) {
  throw usage_error{"libraries of tasks are not taken here"};
}

task_request parse_task(std::string_view text, std::span<task_options const> known, library_lookup of_library) {
  return task_parser(text, known, of_library, ',').parse();
}

std::vector<task_request> parse_task_list(std::string_view text, std::span<task_options const> known,
                                          library_lookup of_library) {
  return task_parser(text, known, of_library, ';').parse_list();
}

std::string format_task(task_request const& request, task_text which) {
  bool const in_library = !request.shared_library.empty() && which == task_text::whole;
  std::string text = in_library ? path_of_library(request.shared_library) + ":" + request.name : request.name;
  char separator = in_library ? ',' : ':';
  for (option const& row : request.values.table()) {
    if (!request.values.given(row.name)) continue;
    if (which == task_text::without_files && row.kind == option_kind::path) continue;
    text += std::exchange(separator, ',') + std::string{row.name} + "=" +
            quoted_if_needed(request.values.spelling(row.name));
  }
  return text;
}

void print_tasks(std::ostream& out, std::span<task_options const> known, std::size_t width) {
  for (task_options const& task : known) {
    out << task.name << ": " << task.help << '\n';
    print_options(out, task.options, width);
  }
}

}  // namespace lull
