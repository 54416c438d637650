// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/watched_folder.hpp>

#include <system_error>
#include <utility>

#include <lull/host/error.hpp>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

std::string state_of_file(fs::path const& file) {
  std::error_code gone;
  auto const bytes = fs::file_size(file, gone);
  auto const time = fs::last_write_time(file, gone).time_since_epoch().count();
  return file.string() + " " + std::to_string(bytes) + " " + std::to_string(time) + "\n";
}

/// What changes while somebody writes there. A file that goes meanwhile is another state, too.
std::string state_of(fs::path const& at) {
  std::error_code gone;
  if (!fs::is_directory(at, gone)) return state_of_file(at);
  std::string text;
  std::size_t count = 0;
  for (auto each = fs::recursive_directory_iterator{at, fs::directory_options::skip_permission_denied, gone};
       !gone && each != fs::recursive_directory_iterator{}; each.increment(gone)) {
    if (++count > watched_folder::max_entries)
      throw limit_error{at.string() + " holds more than " + std::to_string(watched_folder::max_entries) + " files"};
    if (!each->is_directory(gone)) text += state_of_file(each->path());
  }
  return text;
}

}  // namespace

watched_folder::watched_folder(fs::path folder, options asked) : folder_(std::move(folder)), asked_(std::move(asked)) {
  if (!fs::is_directory(folder_)) throw usage_error{folder_.string() + " is no folder that can be watched"};
}

std::vector<std::string> watched_folder::complete(time_point now) {
  std::set<std::string> names;
  std::error_code problem;
  for (auto const& each : fs::directory_iterator{folder_, problem}) {
    std::string name = each.path().filename().string();
    if (name.front() != '.') names.insert(std::move(name));
    if (names.size() > max_entries)
      throw limit_error{folder_.string() + " holds more than " + std::to_string(max_entries) + " entries"};
  }
  if (problem) throw device_error{problem.value(), problem.message(), "listing it", folder_.string()};
  std::vector<std::string> found;
  for (std::string const& name : names) {
    if (told_.contains(name)) continue;
    fs::path const at = folder_ / name;
    if (!asked_.marker.empty()) {
      if (fs::exists(at / asked_.marker, problem)) found.push_back(name);
      continue;
    }
    std::string state = state_of(at);
    auto const [known, is_new] = growing_.try_emplace(name, seen{state, now});
    if (!is_new && known->second.state != state) known->second = {std::move(state), now};
    if (now - known->second.since >= asked_.quiet) found.push_back(name);
  }
  for (std::string const& each : found) {
    told_.insert(each);
    growing_.erase(each);
  }
  std::erase_if(growing_, [&](auto const& each) { return !names.contains(each.first); });
  return found;
}

}  // namespace lull::queue
