// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/picture_folder.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {

namespace fs = std::filesystem;
using fs::path;

void check_input(path const& in, path const& out) {
  std::error_code why;
  if (!fs::is_directory(in, why))
    throw input_error(in.string(), 0, why ? why.message() : "is no folder: give one in in=");
  fs::directory_iterator const listed{in, why};
  if (why) throw input_error(in.string(), 0, "cannot be read: " + why.message() + ": give another folder in in=");
  if (fs::equivalent(in, out, why))
    throw usage_error("images: in and out are one folder, and every picture would be lost: give another in out=");
}

void check_output(path const& out) {
  path folder = std::filesystem::absolute(out);
  std::error_code why;
  while (!std::filesystem::exists(folder, why) && !why && folder.has_relative_path()) folder = folder.parent_path();
  if (!why && !std::filesystem::is_directory(folder, why)) why = std::make_error_code(std::errc::not_a_directory);
  if (why) throw usage_error("images: out=" + out.string() + " cannot be made a folder: " + why.message());
  try {
    atomic_file const probe{folder / ".lull-writable"};
  } catch (device_error const& reason) {
    throw usage_error("images: out=" + out.string() + " cannot be written: " + reason.what());
  }
}

void make_output(path const& out) {
  std::error_code why;
  std::filesystem::create_directories(out, why);
  check_output(out);
  if (why) throw usage_error("images: out=" + out.string() + " cannot be made a folder: " + why.message());
}

std::vector<path> files_of(path const& in) {
  std::vector<path> files;
  std::error_code ignored;
  for (fs::directory_entry const& each : fs::directory_iterator{in, ignored}) {
    if (!each.is_directory(ignored) && !each.path().filename().string().starts_with('.')) files.push_back(each.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void remove_torn_results(path const& out) {
  std::set<path> of;
  for (fs::directory_entry const& each : fs::directory_iterator{out}) {
    std::string name = each.path().filename().string();
    if (!name.starts_with('.') || !name.ends_with(".tmp")) continue;
    for (int part = 0; part < 3 && !name.empty(); ++part)
      name.resize(name.rfind('.') == std::string::npos ? 0 : name.rfind('.'));
    if (name.size() > 1) of.insert(out / name.substr(1));
  }
  for (path const& each : of) remove_leftovers(each);
}

}  // namespace lull
