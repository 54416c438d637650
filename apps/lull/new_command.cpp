// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/new_task.hpp>
#include <lull/apps/lull/pages/shell_text.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

/// Where this program is installed together with what find_package(lull) looks for; empty: it is not.
fs::path installed_prefix() {
  std::error_code problem;
  fs::path const program = fs::read_symlink("/proc/self/exe", problem);
  fs::path const prefix = program.parent_path().parent_path();
  bool const whole = !problem && fs::exists(prefix / LULL_PACKAGE_DIR / "lullConfig.cmake", problem);
  return whole ? prefix : fs::path{};
}

}  // namespace

exit_code new_task_command(std::string const& name, std::optional<std::string> const& asked_folder, std::ostream& out) {
  std::vector<std::string_view> taken;
  for (task_entry const& each : registry()) taken.push_back(each.name);
  check_task_name(name, taken);
  fs::path const folder = asked_folder.value_or(name);
  std::vector<std::string> const names = write_task(name, folder);

  out << "wrote " << folder.string() << ":\n";
  for (std::string const& each : names) out << "  " << each << '\n';
  fs::path const prefix = installed_prefix();
  std::string const build = in_shell((folder / "build").string());
  out << "next:\n"
      << "  cmake -S " << in_shell(folder.string()) << " -B " << build
      << " -DCMAKE_PREFIX_PATH=" << (prefix.empty() ? "PREFIX" : in_shell(prefix.string())) << "\n  cmake --build "
      << build << "\n  ctest --test-dir " << build << " --output-on-failure\n  "
      << in_shell((folder / "build" / (name + "_bench")).string()) << '\n';
  if (prefix.empty())
    out << "PREFIX is where Lull is installed. This program is not: run cmake --install BUILD --prefix PREFIX\n";
  std::string const library = (folder / "build" / ("lib" + name + ".so")).string();
  std::string const task = format_task({name, option_values{{}}, library});
  out << "to use the task:\n"
      << "  lull run --task " << in_shell(task) << " --verify\n"
      << "  in Python and C the same text names it, in a C++ trainer link " << name << "_worker; see "
      << in_shell((folder / "README.md").string()) << '\n';
  return exit_code::done;
}

}  // namespace lull
