// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/job_document.hpp>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <type_traits>

#include <lull/host/error.hpp>
#include <lull/host/io/lined_json.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

namespace {

using json = lined_json::json;

constexpr std::size_t max_arguments = 1'000;
constexpr std::size_t max_awaited = 1'000;
constexpr std::size_t max_labels = 64;
constexpr std::size_t max_name_bytes = 200;
constexpr unsigned max_attempts = 100;

/// A value of an option or of an array, as a user would spell it.
std::string spelled(lined_json const& document, std::string const& pointer, json const& value) {
  if (!value.is_string() && !value.is_number())
    document.fail(pointer, "takes a string or a number, not " + kind_of(value));
  return spelling_of(value);
}

std::string with(std::string text, std::string const& name, std::string const& value) {
  std::string const mark = "${" + name + "}";
  for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos; at += value.size())
    text.replace(at, mark.size(), value);
  return text;
}

class reader {
 public:
  reader(std::string_view text, std::string const& file) : document_(text, file, max_document_bytes) {}

  std::vector<job_document> read() {
    lined_object const all{document_,
                           "",
                           {"schema", "name", "run", "user", "priority", "deadline", "at_most", "memory", "attempts",
                            "after", "labels", "array"}};
    if (all.text("schema").value_or("") != job_schema)
      all.fail("schema", "\"schema\" must be \"" + std::string{job_schema} + "\"");
    read_run(all);
    job_.name = short_text(all, "name").value_or(program_of(job_.run).substr(0, max_name_bytes));
    job_.user = short_text(all, "user").value_or("");
    job_.priority = static_cast<int>(all.whole_number("priority", -max_priority, max_priority).value_or(0));
    job_.attempts = static_cast<unsigned>(all.whole_number("attempts", 1, max_attempts).value_or(job_.attempts));
    if (auto const text = all.text("deadline"))
      job_.deadline_s = in_units(all, "deadline", [&] { return parse_time(*text); });
    if (auto const text = all.text("memory"))
      job_.memory_bytes = in_units(all, "memory", [&] { return parse_size(*text); });
    if (all.has("at_most")) read_limits();
    if (all.has("after")) read_after();
    if (all.has("labels")) read_labels();
    return all.has("array") ? combined() : std::vector{job_};
  }

 private:
  static std::optional<std::string> short_text(lined_object const& of, std::string_view key) {
    auto const found = of.text(key);
    bool const is_line = !found || std::none_of(found->begin(), found->end(), [](unsigned char c) { return c < ' '; });
    if (found && (found->empty() || found->size() > max_name_bytes || !is_line))
      of.fail(key, "\"" + std::string{key} + "\" is one line of 1 to " + std::to_string(max_name_bytes) + " bytes");
    return found;
  }
  template <class Parse>
  static std::invoke_result_t<Parse> in_units(lined_object const& of, std::string_view key, Parse parse) {
    try {
      return parse();
    } catch (usage_error const& wrong) {
      of.fail(key, "\"" + std::string{key} + "\": " + wrong.what());
    }
  }
  void read_run(lined_object const& all) {
    all.at("run");  // or it is missing
    lined_object const run{document_, "/run", {"task", "python", "options", "results", "command", "folder"}};
    if (run.has("task") + run.has("python") + run.has("command") != 1)
      document_.fail("/run", R"("run" has one of "task", "python" and "command")");
    job_.run.folder = run.text("folder").value_or("");
    bool const is_path = job_.run.folder.find('\0') == std::string::npos;
    if (run.has("folder") && (!is_path || !std::filesystem::path{job_.run.folder}.is_absolute()))
      run.fail("folder", "\"folder\" is an absolute path");
    if (run.has("command")) {
      if (run.has("options")) run.fail("options", "a command has arguments, and no \"options\"");
      if (run.has("results")) run.fail("results", "\"results\" are options, and a command has none");
      job_.run.command = *run.texts("command", max_arguments);
      if (job_.run.command.empty() || job_.run.command.front().empty())
        run.fail("command", "\"command\" begins with a program");
      for (std::string const& each : job_.run.command)
        if (each.find('\0') != each.npos) run.fail("command", "an argument cannot hold a zero byte");
      return;
    }
    if (run.has("task")) job_.run.task = *short_text(run, "task");
    if (run.has("python")) read_python(run);
    if (run.has("options")) read_options(run);
    if (run.has("results")) read_results(run);
  }
  void read_python(lined_object const& run) {
    job_.run.python = *short_text(run, "python");
    auto const [code, function] = split_entry(job_.run.python);
    if (code.empty() || function.empty())
      run.fail("python", R"("python" is "FILE.py:FUNCTION" or "MODULE:FUNCTION", not ")" + job_.run.python + "\"");
  }
  void read_options(lined_object const& run) {
    json const& given = run.at("options");
    std::string const pointer = run.pointer("options");
    if (!given.is_object()) document_.fail(pointer, "\"options\" is an object, not " + kind_of(given));
    for (auto const& [key, value] : given.items()) {
      if (key.find_first_of(std::string_view{"=\0", 2}) != key.npos)
        document_.fail(lined_object::pointer_to(pointer, key), "an option's name holds no \"=\" and no zero byte");
      job_.run.options.emplace_back(key, spelled(document_, lined_object::pointer_to(pointer, key), value));
    }
  }
  void read_results(lined_object const& run) {
    job_.run.results = *run.texts("results", max_arguments);
    for (std::string const& each : job_.run.results)
      if (std::ranges::find(job_.run.options, each, &std::pair<std::string, std::string>::first) ==
          job_.run.options.end())
        run.fail("results", "\"results\" names options, and there is no \"" + each + "\"");
  }
  void read_limits() {
    lined_object const limits{document_, "/at_most", {"wall"}};
    auto const text = limits.text("wall");
    if (!text) return;
    job_.wall = in_units(limits, "wall", [&] { return parse_duration(*text); });
    if (job_.wall->count() <= 0) limits.fail("wall", "\"wall\" must be above 0");
  }
  void read_after() {
    lined_object const after{document_, "/after", {"jobs", "if"}};
    job_.after.jobs = after.texts("jobs", max_awaited).value_or(std::vector<std::string>{});
    if (job_.after.jobs.empty()) after.fail("jobs", "\"jobs\" names one job or more, by id");
    for (std::string const& each : job_.after.jobs)
      if (!is_job_id(each)) after.fail("jobs", "\"" + each + "\" is no job's id");
    std::string const when = after.text("if").value_or("done");
    if (when != "done" && when != "any") after.fail("if", R"("if" is "done" or "any", not ")" + when + "\"");
    job_.after.any_end = when == "any";
  }
  void read_labels() {
    json const& given = document_.whole()["labels"];
    if (!given.is_object() || given.size() > max_labels)
      document_.fail("/labels", "\"labels\" is an object of at most " + std::to_string(max_labels) + " strings");
    for (auto const& [key, value] : given.items()) {
      if (!value.is_string())
        document_.fail(lined_object::pointer_to("/labels", key), "a label is a string, not " + kind_of(value));
      job_.labels[key] = value.get<std::string>();
    }
  }

  std::vector<job_document> combined() {
    json const& array = document_.whole()["array"];
    if (!array.is_object() || array.empty())
      document_.fail("/array", R"("array" is an object of lists: {"seed": [1, 2, 3]})");
    std::vector<job_document> all{job_};
    for (auto const& [name, values] : array.items()) {
      std::string const pointer = lined_object::pointer_to("/array", name);
      if (!values.is_array() || values.empty()) document_.fail(pointer, "is a list of strings or numbers");
      if (all.size() * values.size() > max_array)
        document_.fail(pointer, "makes more than " + std::to_string(max_array) + " jobs of one document");
      std::vector<job_document> more;
      for (job_document const& each : all) {
        for (std::size_t i = 0; i < values.size(); ++i)
          more.push_back(with_value(each, name, spelled(document_, pointer + "/" + std::to_string(i), values[i])));
      }
      all = std::move(more);
    }
    return all;
  }

  lined_json document_;
  job_document job_;
};

}  // namespace

std::string const& program_of(what_runs const& run) {
  if (!run.task.empty()) return run.task;
  return run.python.empty() ? run.command.front() : run.python;
}

std::pair<std::string, std::string> split_entry(std::string const& python) {
  std::size_t const colon = python.rfind(':');
  if (colon == python.npos) return {python, ""};
  return {python.substr(0, colon), python.substr(colon + 1)};
}

job_document with_value(job_document of, std::string const& name, std::string const& value) {
  of.name = with(of.name, name, value);
  for (auto& [key, text] : of.run.options) text = with(text, name, value);
  for (std::string& each : of.run.command) each = with(each, name, value);
  return of;
}

std::int64_t parse_time(std::string_view text) {
  std::string const whole{text};
  std::tm parts{};
  char const* const end = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::tm same = parts;
  std::time_t const found = ::timegm(&same);  // which takes 31 February for a day in March
  if (end != whole.c_str() + whole.size() || same.tm_mday != parts.tm_mday || same.tm_sec != parts.tm_sec)
    throw usage_error{"it is a time in UTC such as \"2026-12-01T10:00:00Z\", not \"" + whole + "\""};
  return found;
}

std::string format_time(std::int64_t seconds) {
  std::time_t const when = seconds;
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  char room[32];
  return {room, std::strftime(room, sizeof room, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::vector<job_document> parse_jobs(std::string_view json, std::string const& file) {
  return reader{json, file}.read();
}

std::string to_json(job_document const& job) {
  json all{{"schema", job_schema}, {"name", job.name}};
  if (!job.run.task.empty()) all["run"]["task"] = job.run.task;
  if (!job.run.python.empty()) all["run"]["python"] = job.run.python;
  for (auto const& [key, value] : job.run.options) all["run"]["options"][key] = value;
  if (!job.run.results.empty()) all["run"]["results"] = job.run.results;
  if (!job.run.command.empty()) all["run"]["command"] = job.run.command;
  if (!job.run.folder.empty()) all["run"]["folder"] = job.run.folder;
  if (!job.user.empty()) all["user"] = job.user;
  if (job.priority != 0) all["priority"] = job.priority;
  if (job.deadline_s) all["deadline"] = format_time(*job.deadline_s);
  if (job.wall) all["at_most"]["wall"] = std::to_string(job.wall->count()) + "ns";
  if (job.memory_bytes != 0) all["memory"] = std::to_string(job.memory_bytes);
  all["attempts"] = job.attempts;
  if (!job.after.jobs.empty()) all["after"] = {{"jobs", job.after.jobs}, {"if", job.after.any_end ? "any" : "done"}};
  if (!job.labels.empty()) all["labels"] = job.labels;
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lull::queue
