// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/task/options.hpp>

namespace lull {

/// What can be asked for: a task's name and the options that its owner takes. Views are to literals and tables.
struct task_options {
  std::string_view name;
  std::string_view help;  // one line
  option_table options;
};

/// One task with its options, as somebody asked for it.
struct task_request {
  std::string name;
  option_values values;          // refers to the table of the task_options it was made from
  std::string shared_library{};  // path of the one that has the task; empty: the task is linked in
};

/// Finds the task of that name in the library at `path`. Errors: usage_error, also for an empty name.
using library_lookup = task_options (*)(std::string const& path, std::string_view name);
/// Refuses them all.
task_options no_library(std::string const& path, std::string_view name);

/// Reads `NAME`, or `NAME:key=value,key=value`. Blanks around keys and values are skipped. A value that holds a comma
/// or such blanks is quoted: 'as it stands', or "with \" and \\ escaped". Quotes count only where they begin a value.
///
/// Or reads `PATH:NAME,key=value,…` of a task of a shared library. A path has a '/', before any of ":,;="; one that
/// holds a colon, or a comma in a list, is quoted as values are. After its NAME a colon will do, too.
///
/// Errors: usage_error that names the text, the column (from 1) and what to do; an unknown task or key lists the known
/// ones, the nearest first.
task_request parse_task(std::string_view text, std::span<task_options const> known,
                        library_lookup of_library = no_library);

/// Reads `NAME,NAME:key=value;key=value,…`: several tasks, where ';' separates the options of one. A value that holds a
/// comma or a semicolon is quoted. An empty text holds no task; at most 1,000. Errors as of parse_task.
std::vector<task_request> parse_task_list(std::string_view text, std::span<task_options const> known,
                                          library_lookup of_library = no_library);

/// The same as JSON: {"task": "pagerank", "options": {"damping": 0.85, "graph": "web.el"}}, or an array of such
/// objects (1 to 1,000). Values are strings or numbers; 5.0 and 1e3 are whole numbers. A library's task is "PATH:NAME",
/// as in a text. `file` is named in messages.
///
/// Errors: input_error with file and line.
std::vector<task_request> parse_job_file(std::string_view json, std::string const& file,
                                         std::span<task_options const> known, library_lookup of_library = no_library);

/// parse_job_file of what a file holds (at most 1 MiB).
std::vector<task_request> read_job_file(std::filesystem::path const& path, std::span<task_options const> known,
                                        library_lookup of_library = no_library);

/// NAME:key=value,… with what was given only, quoted where needed: parse_task reads it back as the same request. Or
/// without the names of files, the library's too: what a job's state depends on, but for what is in them.
enum class task_text { whole, without_files };
std::string format_task(task_request const& request, task_text which = task_text::whole);

/// Every task with its options.
void print_tasks(std::ostream& out, std::span<task_options const> known, std::size_t width = 80);

namespace detail {
/// A task's name as a text begins with it.
struct task_name {
  std::string shared_library;  // as of task_request
  std::string name;
};
/// Reads `NAME` or `PATH:NAME`; what follows the colon is the name. Errors: usage_error for a quote that is not closed.
task_name read_task_name(std::string_view text);

/// The task of that name. Errors: usage_error, "unknown task …; known: …".
task_options const& find_task(std::string_view name, std::span<task_options const> known);
}  // namespace detail

}  // namespace lull
