// SPDX-License-Identifier: Apache-2.0
// The program `lull`: what stands on the command line, and what each way to end returns to the shell.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include <lull/apps/lull/command_line.hpp>
#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/pages/completion.hpp>
#include <lull/apps/lull/pages/man_page.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>

namespace {

using namespace lull;

exit_code dispatch(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--version" && std::string_view{argv[2]} == "--json") {
    std::cout << R"({"version": ")" LULL_VERSION R"("})" << '\n';
    return exit_code::done;
  }
  command_line asked;
  CLI::App& app = asked.app;
  if (argc > 2 && std::string_view{argv[1]} == "complete") {  // for the scripts of `completion`; in no help
    std::cout << completions(app, std::vector<std::string>{argv + 2, argv + argc});
    return exit_code::done;
  }
  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& help) {  // --help, --version
    app.exit(help);
    return exit_code::done;
  } catch (CLI::ParseError const& wrong) {
    std::cerr << refusal(app, argc, argv, wrong.what());
    return exit_code::usage;
  }
  if (app.got_subcommand("tasks")) return tasks_command(asked.tasks, std::cout);
  if (app.got_subcommand("completion") || app.got_subcommand("man")) {
    std::cout << (app.got_subcommand("man") ? man_page(app, LULL_VERSION)
                                            : std::string{completion_script(asked.shell)});
    return exit_code::done;
  }
  if (app.got_subcommand("new")) return new_task_command(asked.new_task, asked.new_task_folder, std::cout);
  if (app.got_subcommand("doctor")) return doctor_command(asked.doctor, std::cout);
  if (app.got_subcommand("choose")) return choose_command(asked.choose, std::cout);
  // Never destroyed: a second signal may come while the process ends, and what was there before would kill it.
  static stop_request const& stop = *new stop_request;
  if (app.got_subcommand("profile")) return profile_command(asked.profile, stop, std::cout);
  if (app.got_subcommand("run")) return run_command(asked.run, stop, std::cout);
  if (app.got_subcommand("work")) return work_command(asked.work, stop, std::cout);
  if (app.got_subcommand("top")) return top_command(asked.top, stop, std::cout);
  if (auto const code = asked.queues->dispatch(stop, std::cout)) return *code;
  return harvest_command(asked.harvest, stop, std::cout);
}

/// Whether a pipe's reader has closed it, as `head` does when it has seen enough.
bool reader_left(int descriptor) {
  pollfd asked{descriptor, 0, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  // An error of the call that it comes from, like a disk that is full: nothing else is lost with it.
  for (int const signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  exit_code code = exit_code::failed;
  try {
    code = dispatch(argc, argv);
  } catch (input_error const& wrong) {
    std::cerr << "lull: " << wrong.what() << '\n';
    code = exit_code::usage;
  } catch (usage_error const& wrong) {
    std::cerr << "lull: " << wrong.what() << '\n';
    code = exit_code::usage;
  } catch (std::bad_alloc const&) {
    std::cerr << "lull: this computer has too little memory for this run: take a smaller input or fewer tasks\n";
  } catch (std::system_error const& problem) {
    std::cerr << "lull: a system call failed: " << problem.what() << '\n';
  } catch (std::exception const& problem) {
    std::cerr << "lull: " << problem.what() << '\n';
  }
  if (!std::cout.flush()) {
    bool const left = reader_left(STDOUT_FILENO);
    if (!left) std::cerr << "lull: cannot write to standard output\n";
    if (code == exit_code::done) code = left ? exit_code::reader_left : exit_code::failed;
  }
  return static_cast<int>(code);
}
