// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/lined_json.hpp>

#include <algorithm>
#include <exception>
#include <ranges>
#include <set>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/foreign_file.hpp>
#include <lull/host/io/whole_number.hpp>

namespace lull {

namespace {

using json = lined_json::json;
constexpr int max_depth = 16;

/// A part of a JSON pointer as the standard spells it (RFC 6901, section 4).
std::string escaped(std::string_view key) {
  std::string found;
  for (char const each : key) found += each == '~' ? "~0" : each == '/' ? "~1" : std::string{each};
  return found;
}

/// The library's text begins with its own error number and place, and it quotes any bytes.
std::string reason_in(std::string_view message) {
  for (std::string_view const end : {"] ", ": "}) {
    if (auto const at = message.find(end); at != message.npos) message.remove_prefix(at + end.size());
  }
  std::string reason{message};
  std::replace_if(
      reason.begin(), reason.end(), [](char byte) { return byte < ' ' || byte > '~'; }, '?');
  return reason;
}

/// Notes the line of each piece.
class line_finder {
 public:
  explicit line_finder(std::map<std::string, std::uint64_t>& lines) : lines_(lines) {}

  /// Returns what is wrong; empty: nothing.
  std::string meet(json::parse_event_t what, json const& value, std::uint64_t line) {
    using event = json::parse_event_t;
    if (what == event::key) {
      inner& in = open_.back();
      in.key = value.get<std::string>();
      in.line = line;
      return in.keys.insert(in.key).second ? std::string{} : "\"" + in.key + "\" is given twice";
    }
    if (what == event::object_end || what == event::array_end) {
      open_.pop_back();
      return {};
    }
    std::string pointer;
    if (!open_.empty()) {
      inner& in = open_.back();
      pointer = in.pointer + "/" + (in.is_array ? std::to_string(in.index++) : escaped(in.key));
      if (!in.is_array) line = in.line;
    }
    lines_.emplace(pointer, line);
    if (what == event::value) return {};
    if (open_.size() == max_depth) return "is nested deeper than " + std::to_string(max_depth) + " levels";
    open_.push_back({.pointer = std::move(pointer), .is_array = what == event::array_start});
    return {};
  }

 private:
  struct inner {
    std::string pointer;
    bool is_array = false;
    std::size_t index = 0;
    std::string key{};
    std::uint64_t line = 0;  // of the key
    std::set<std::string> keys{};
  };
  std::map<std::string, std::uint64_t>& lines_;
  std::vector<inner> open_;
};

}  // namespace

json walk_json(std::string_view text, std::string const& file, json_piece const& meet) {
  for (auto const& fault : {encoding_fault(text), download_fault(text)}) {
    if (!fault.empty()) throw input_error{file, 0, fault};
  }
  // The library takes a zero byte for the end, and what follows would be ignored.
  if (auto const zero = text.find('\0'); zero != text.npos)
    throw input_error{file, 1 + static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + zero, '\n')),
                      "holds a zero byte: this is not a text file"};
  std::uint64_t line = 1;
  auto const counted = text | std::views::transform([&line](char c) {
                         if (c == '\n') ++line;
                         return c;
                       });
  std::exception_ptr problem;  // what is not JSON at all is told first
  auto const meets = [&](int depth, json::parse_event_t what, json const& value) {
    try {
      if (problem == nullptr) meet(depth, what, value, line);
    } catch (input_error const&) {
      problem = std::current_exception();
    }
    return true;
  };
  json whole;
  try {
    whole = json::parse(counted.begin(), counted.end(), meets);
  } catch (json::exception const& wrong) {
    throw input_error{file, line, "is not JSON: " + reason_in(wrong.what())};
  }
  if (problem != nullptr) std::rethrow_exception(problem);
  return whole;
}

lined_json::lined_json(std::string_view text, std::string file, std::size_t max_bytes) : file_(std::move(file)) {
  if (text.size() > max_bytes) throw input_error{file_, 0, "is larger than " + std::to_string(max_bytes) + " bytes"};
  line_finder finder{lines_};
  whole_ = walk_json(text, file_, [&](int, json::parse_event_t what, json const& value, std::uint64_t line) {
    if (std::string const wrong = finder.meet(what, value, line); !wrong.empty()) throw input_error{file_, line, wrong};
  });
}

void lined_json::fail(std::string const& pointer, std::string const& message) const {
  auto const found = lines_.find(pointer);
  throw input_error{file_, found != lines_.end() ? found->second : 0, message};
}

lined_object::lined_object(lined_json const& document, std::string pointer,
                           std::initializer_list<std::string_view> known)
    : document_(document), pointer_(std::move(pointer)) {
  if (!of().is_object()) document_.fail(pointer_, "must be an object, not " + kind_of(of()));
  for (auto const& [key, value] : of().items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (std::string_view const each : known) names += (names.empty() ? "" : ", ") + std::string{each};
    fail(key, "unknown key \"" + key + "\"; known: " + names);
  }
}

std::string lined_object::pointer_to(std::string const& of, std::string_view key) { return of + "/" + escaped(key); }

void lined_object::fail(std::string_view key, std::string const& message) const {
  document_.fail(has(key) ? pointer(key) : pointer_, message);
}

json const& lined_object::at(std::string_view key) const {
  if (!has(key)) fail(key, "\"" + std::string{key} + "\" is missing");
  return of()[std::string{key}];
}

std::optional<std::string> lined_object::text(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  json const& found = at(key);
  if (!found.is_string()) fail(key, "\"" + std::string{key} + "\" is a string, not " + kind_of(found));
  return found.get<std::string>();
}

std::optional<std::int64_t> lined_object::whole_number(std::string_view key, std::int64_t least,
                                                       std::int64_t most) const {
  if (!has(key)) return std::nullopt;
  json const& found = at(key);
  std::string const wanted = "\"" + std::string{key} + "\" is a whole number from " + std::to_string(least) + " to " +
                             std::to_string(most) + ", not ";
  if (!found.is_number_integer()) fail(key, wanted + kind_of(found));
  bool const too_large = found.is_number_unsigned() && found.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (too_large || found.get<std::int64_t>() < least || found.get<std::int64_t>() > most)
    fail(key, wanted + found.dump());
  return found.get<std::int64_t>();
}

std::optional<std::vector<std::string>> lined_object::texts(std::string_view key, std::size_t most) const {
  if (!has(key)) return std::nullopt;
  json const& found = at(key);
  std::vector<std::string> all;
  bool const fits = found.is_array() && found.size() <= most;
  if (!fits || !std::all_of(found.begin(), found.end(), [](json const& each) { return each.is_string(); }))
    fail(key, "\"" + std::string{key} + "\" is an array of at most " + std::to_string(most) + " strings");
  for (json const& each : found) all.push_back(each.get<std::string>());
  return all;
}

std::string spelling_of(json const& value) {
  if (value.is_string()) return value.get<std::string>();
  auto const whole = value.is_number_float() ? whole_number(value.get<double>()) : std::nullopt;
  return whole ? std::to_string(*whole) : value.dump();
}

std::string kind_of(json const& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return "true or false";
    case json::value_t::string:
      return "a string";
    case json::value_t::array:
      return "an array";
    case json::value_t::object:
      return "an object";
    default:
      return "the number " + value.dump();
  }
}

}  // namespace lull
