// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/library_loader.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/task/task_library.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr char const* symbol = "lull_side_tasks";
constexpr std::size_t max_tasks = 1000;
constexpr std::size_t max_name = 64;

[[noreturn]] void refuse(std::string const& path, std::string const& why) { throw usage_error{path + why}; }

/// Runs the library's own code. Whatever it throws is reported as the library's fault.
template <class Function>
auto of_library(std::string const& path, std::string const& failed, Function const& function) {
  try {
    return function();
  } catch (std::exception const& why) {
    refuse(path, failed + why.what());
  } catch (...) {
    refuse(path, failed + "it threw something that is no std::exception");
  }
}

/// Returns the file's absolute path, so that the loader searches no folder.
std::string found_file(std::string const& path) {
  if (path.empty()) refuse(path, "the path of a library is empty: write ./libNAME.so");
  if (path.find('/') == std::string::npos) {
    refuse(path, ": write its path with a '/', such as ./" + path + ": no folder is searched for libraries of tasks");
  }
  std::error_code problem;
  fs::path const file = fs::canonical(path, problem);
  if (problem == std::errc::no_such_file_or_directory) {
    std::error_code ignored;
    std::string const from = fs::path{path}.is_relative() ? " in " + fs::current_path(ignored).string() : "";
    refuse(path, ": there is no such file" + from + ": build the library, or write where it is");
  }
  if (problem) refuse(path, ": it cannot be read: " + problem.message());
  if (!fs::is_regular_file(file, problem)) refuse(path, ": it is not a file: name the shared library itself");
  std::ifstream in{file, std::ios::binary};
  char begin[4] = {};
  if (!in) refuse(path, ": it cannot be read: give yourself the right to read it");
  in.read(begin, sizeof begin);
  if (std::string_view{begin, sizeof begin} != "\177ELF") {
    refuse(path, ": it is not a shared library: build one with lull_task_library() of Lull's CMake package");
  }
  return file.string();
}

/// While it lives, an exception that leaves a static initialiser is reported with the library's path. One at a time.
class loading {
 public:
  explicit loading(std::string const& path) {
    path_here = &path;
    before = std::set_terminate(tell);
  }
  ~loading() {
    std::set_terminate(before);
    path_here = nullptr;
  }
  loading(loading const&) = delete;
  loading& operator=(loading const&) = delete;

  /// Ends the process on such an exception. Catching it would leave the system's loader locked: every other thread that
  /// loads something later, as trainers do, would hang.
  void* open(std::string const& file) const noexcept {
    // glibc declares that dlopen throws nothing, so the compiler must not see that this is dlopen.
    void* (*const volatile opens)(char const*, int) = &::dlopen;
    return opens(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }

 private:
  [[noreturn]] static void tell() {
    if (path_here != nullptr) {  // otherwise it is another thread's end
      try {
        of_library(*path_here, ": it failed when it was loaded, which ends this process: ", [] { throw; });
      } catch (usage_error const& refused) {
        std::fprintf(stderr, "lull: %s\n", refused.what());
      }
    }
    if (auto const last = before.load(); last != nullptr) last();
    std::abort();
  }

  static inline thread_local std::string const* path_here = nullptr;
  static inline std::atomic<std::terminate_handler> before = nullptr;
};

void* opened(std::string const& path, std::string const& file) {
  void* const handle = loading{path}.open(file);
  if (handle != nullptr) return handle;
  char const* const said = ::dlerror();
  std::string why = said == nullptr ? "the system gives no reason" : said;
  if (why.starts_with(file + ": ")) why.erase(0, file.size() + 2);
  refuse(path, ": it cannot be loaded: " + why + ": link all that it needs, for this machine");
}

std::string text_of(std::array<char, 16> const& version) {
  return {version.begin(), std::find(version.begin(), version.end(), '\0')};
}

/// Reads nothing beyond what is known to fit.
task_library const& checked(std::string const& path, void* handle) {
  void const* const found = ::dlsym(handle, symbol);
  if (found == nullptr) {
    refuse(path, std::string{": it has no symbol "} + symbol +
                     ": say LULL_SIDE_TASKS(…) in one of its sources, as `lull new task` shows");
  }
  std::string const again = ": build it again with this Lull's headers and CMake package";
  std::uint32_t abi = 0;
  std::memcpy(&abi, found, sizeof abi);
  if (abi != task_library_abi) {
    refuse(path, ": it was built for number " + std::to_string(abi) +
                     " of Lull's interface for libraries, and this is " + std::to_string(task_library_abi) + again);
  }
  task_library const& library = *static_cast<task_library const*>(found);
  if (library.version != task_library_version) {
    refuse(path, ": it was built with Lull " + text_of(library.version) + ", and this is " +
                     text_of(task_library_version) + again);
  }
  if (library.layout != detail::layout_here()) {
    refuse(path,
           ": it was built with another compiler, standard library or options that change the layout of types "
           "(such as _GLIBCXX_DEBUG): build it as this Lull was built");
  }
  return library;
}

bool is_name(std::string_view name) {
  constexpr std::string_view known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.size() <= max_name && name.find_first_not_of(known) == std::string_view::npos;
}

void check_tasks(std::string const& path, std::span<task_entry const> tasks) {
  if (tasks.empty()) refuse(path, ": it has no task: name one or more in LULL_SIDE_TASKS(…)");
  if (tasks.size() > max_tasks) refuse(path, ": it has more than " + std::to_string(max_tasks) + " tasks");
  for (task_entry const& each : tasks) {
    std::string const name{each.name.substr(0, 2 * max_name)};
    if (!is_name(each.name)) {
      refuse(path, ": \"" + name + "\" cannot be a task's name: use 1 to " + std::to_string(max_name) +
                       " letters, digits, '_' and '-'");
    }
    if (std::ranges::count(tasks, each.name, &task_entry::name) > 1)
      refuse(path, ": it has two tasks of the name " + name + ": rename one");
    if (each.type == nullptr || each.make == nullptr)
      refuse(path, ": its task " + name + " lacks `type` or `make` in its task_entry");
    of_library(path, ": its task " + name + ": ", [&] { check_options(each.options); });
  }
}

}  // namespace

std::span<task_entry const> tasks_in(std::string const& path) {
  // Never freed: tasks are listed and run until the process ends.
  static std::mutex guard;
  static auto& known = *new std::map<void*, std::span<task_entry const>>;  // by handle, because one file has one
  std::string const file = found_file(path);
  std::lock_guard const lock{guard};
  void* const handle = opened(path, file);
  if (auto const found = known.find(handle); found != known.end()) return found->second;
  task_library const& library = checked(path, handle);
  std::span<task_entry const> const tasks =
      of_library(path, ": it cannot list its tasks: ", [&] { return library.tasks(); });
  check_tasks(path, tasks);
  known.emplace(handle, tasks);
  return tasks;
}

task_entry const& task_in(std::string const& path, std::string_view name) {
  std::span<task_entry const> const tasks = tasks_in(path);
  auto const found = std::ranges::find(tasks, name, &task_entry::name);
  if (found != tasks.end()) return *found;
  std::string const known = "; known: " + list_names(name, tasks);
  if (name.empty()) throw usage_error{"the task's name is missing: write " + path + ":NAME" + known};
  throw usage_error{path + " has no task \"" + std::string{name} + "\"" + known};
}

}  // namespace lull
