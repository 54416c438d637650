// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/new_task.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view placeholder = "my_task";
// The pages' own; what is written belongs to its author.
constexpr std::string_view licence = "SPDX-License-Identifier";
constexpr std::size_t max_name = 64;

/// C++20's, with its alternative tokens, words that it reads as keywords in places, and macros of compilers.
constexpr std::string_view keywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false final float for "
    "friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator "
    "or or_eq override private protected public register reinterpret_cast requires return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "linux unix ";

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_snake_case(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || name.back() == '_') return false;
  bool const plain =
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  return plain && name.find("__") == std::string_view::npos;
}

bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || (c >= 'A' && c <= 'Z'); }

/// As a word of its own, in code or in a comment.
bool stands_in(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    std::size_t const end = at + name.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]))) return true;
  }
  return false;
}

bool stands_in_pages(std::string_view name) {
  return name != placeholder && std::ranges::any_of(task_pages(), [&](task_page const& page) {
           return page.name.ends_with("pp") && stands_in(page.text, name);
         });
}

std::string with_name(std::string_view text, std::string_view name) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const found = std::min(text.find(placeholder, at), text.size());
    made.append(text, at, found - at);
    if (found < text.size()) made += name;
    at = found + placeholder.size();
  }
  return made;
}

std::string_view without_licence(std::string_view text) {
  std::size_t const end = std::min(text.find('\n'), text.size() - 1);
  return text.substr(0, end).find(licence) == std::string_view::npos ? text : text.substr(end + 1);
}

[[noreturn]] void refuse(fs::path const& folder, std::string const& why) {
  throw usage_error{folder.string() + ": " + why};
}

/// A folder beside another, gone at the end unless it took that one's place.
class temporary_folder {
 public:
  explicit temporary_folder(fs::path const& beside) : path_(beside) {
    path_ += ".new-" + std::to_string(::getpid());
    std::error_code problem;
    if (fs::create_directory(path_, problem)) return;
    throw usage_error{beside.string() + ": cannot write into " + beside.parent_path().string() + ": " +
                      (problem ? problem.message() : path_.string() + " exists: remove it")};
  }
  ~temporary_folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;

  fs::path const& path() const noexcept { return path_; }
  /// In one step; only where nothing or an empty folder is: rename(2) refuses the rest.
  void replace(fs::path const& target) {
    std::error_code problem;
    fs::rename(path_, target, problem);
    if (problem) refuse(target, problem.message());
    path_.clear();
  }

 private:
  fs::path path_;
};

/// Absolute, without a slash at its end.
fs::path place_of(fs::path const& folder) {
  if (folder.empty()) throw usage_error{"--in: the name is empty: name a folder"};
  fs::path const place = fs::absolute(folder).lexically_normal();
  return place.has_filename() ? place : place.parent_path();
}

void check_folder(fs::path const& folder, fs::path const& place) {
  std::error_code ignored;
  if (fs::file_status const found = fs::symlink_status(place, ignored); fs::exists(found)) {
    if (!fs::is_directory(found)) refuse(folder, "it exists and is not a folder: name one that does not exist yet");
    std::error_code problem;
    bool const empty = fs::is_empty(place, problem);
    if (problem) refuse(folder, problem.message());
    if (!empty) refuse(folder, "the folder is not empty: name an empty one, or one that does not exist yet");
    if (fs::equivalent(place, ".", ignored))
      refuse(folder, "it is the current folder: name one inside it, or change to another folder first");
  } else if (!fs::is_directory(place.parent_path(), ignored)) {
    refuse(folder, "there is no folder " + place.parent_path().string() + ": make it first");
  }
}

}  // namespace

void check_task_name(std::string_view name, std::span<std::string_view const> taken) {
  std::string const text{name.substr(0, 2 * max_name)};
  auto const refused = [&](std::string const& why) {
    throw usage_error{"\"" + text + "\" cannot be a task's name: " + why};
  };
  if (!is_snake_case(name))
    refused(
        "it becomes a C++ type: use small letters, digits and single underscores, a letter first, such as word_count");
  if (name.size() > max_name) refused("it is longer than " + std::to_string(max_name) + " characters");
  if (keywords.find(" " + text + " ") != std::string_view::npos)
    refused("it is a reserved word of C++: choose another");
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    refused("a task has this name, see lull tasks: choose another");
  if (stands_in_pages(name)) refused("the new files use this word for something else: choose another");
}

std::vector<std::string> write_task(std::string_view name, fs::path const& folder) {
  fs::path const place = place_of(folder);
  check_folder(folder, place);
  temporary_folder made{place};
  std::vector<std::string> names;
  for (task_page const& page : task_pages()) {
    names.push_back(with_name(page.name, name));
    write_file(made.path() / names.back(), with_name(without_licence(page.text), name));
  }
  made.replace(place);
  return names;
}

}  // namespace lull
