// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/queue/power_cuts.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace lull::queue {

namespace {

namespace fs = std::filesystem;

std::string content_of(fs::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Returns the path that a call names by a folder and a text.
fs::path named(test::traced_child const& child, std::size_t folder, std::size_t text) {
  auto const& arguments = child.call().arguments;
  fs::path const name = child.text(arguments[text]);
  if (name.is_absolute()) return name.lexically_normal();
  return (child.path_of(arguments[folder]) / name).lexically_normal();
}

}  // namespace

power_cuts::power_cuts(fs::path root) : root_(std::move(root)) { load(root_); }

int power_cuts::make(bool is_folder) {
  nodes_.push_back({.is_folder = is_folder});
  return static_cast<int>(nodes_.size()) - 1;
}

int power_cuts::load(fs::path const& from) {
  int const made = make(fs::is_directory(from));
  if (!nodes_[static_cast<std::size_t>(made)].is_folder) {
    nodes_[static_cast<std::size_t>(made)].data = nodes_[static_cast<std::size_t>(made)].on_disk = content_of(from);
    return made;
  }
  std::map<std::string, int> names;
  for (auto const& each : fs::directory_iterator{from}) names[each.path().filename()] = load(each.path());
  nodes_[static_cast<std::size_t>(made)].names = std::move(names);
  return made;
}

std::map<std::string, int> power_cuts::seen(node const& folder) {
  std::map<std::string, int> names = folder.names;
  for (auto const& change : folder.changes)
    for (auto const& [name, to] : change) names[name] = to;
  std::erase_if(names, [](auto const& each) { return each.second < 0; });
  return names;
}

int power_cuts::at(fs::path const& path) const {
  fs::path const below = path.lexically_relative(root_);
  if (below.empty() || *below.begin() == "..") return -1;
  int found = 0;
  for (fs::path const& part : below) {
    if (part == ".") continue;
    auto const names = seen(nodes_[static_cast<std::size_t>(found)]);
    auto const next = names.find(part);
    if (next == names.end()) return -1;
    found = next->second;
  }
  return found;
}

void power_cuts::change(fs::path const& path, int to) {
  int const folder = folder_of(path);
  if (folder >= 0) nodes_[static_cast<std::size_t>(folder)].changes.push_back({{path.filename(), to}});
}

/// Within one folder, as the queue renames.
void power_cuts::rename(fs::path const& from, fs::path const& to, bool exchanges) {
  int const folder = folder_of(from);
  if (folder < 0 || folder != folder_of(to)) return;
  int const other = exchanges ? at(to) : -1;
  nodes_[static_cast<std::size_t>(folder)].changes.push_back({{from.filename(), other}, {to.filename(), at(from)}});
}

void power_cuts::flush(node& one) {
  one.names = seen(one);
  one.changes.clear();
  one.on_disk = one.data;
  one.is_flushed = true;
}

void power_cuts::was_not_flushed(std::string const& name) {
  int const file = at(root_ / name);
  node& folder = nodes_.at(static_cast<std::size_t>(folder_of(root_ / name)));
  folder.names.erase(fs::path{name}.filename());
  change(root_ / name, file);
  nodes_.at(static_cast<std::size_t>(file)).on_disk.clear();
  nodes_.at(static_cast<std::size_t>(file)).is_flushed = false;
}

bool power_cuts::follow(test::traced_child const& child) {
  auto const& call = child.call();
  if (call.result < 0) return false;
  switch (call.number) {
    case SYS_openat: {
      fs::path const path = named(child, 0, 1);
      if ((call.arguments[2] & O_CREAT) == 0 || folder_of(path) < 0 || at(path) >= 0) return false;
      change(path, make(false));
      break;
    }
    case SYS_mkdir:
    case SYS_mkdirat: {
      fs::path const path = call.number == SYS_mkdir ? named(child, 0, 0) : named(child, 0, 1);
      change(path, make(true));
      break;
    }
    case SYS_write: {
      int const file = at(child.path_of(call.arguments[0]));
      if (file < 0) return false;
      nodes_[static_cast<std::size_t>(file)].data +=
          child.bytes(call.arguments[1], static_cast<std::size_t>(call.result));
      nodes_[static_cast<std::size_t>(file)].is_flushed = false;
      break;
    }
    case SYS_sendfile: {  // as a standard library copies a file: from its beginning, once
      int const file = at(child.path_of(call.arguments[0]));
      int const from = at(child.path_of(call.arguments[1]));
      if (file < 0 || from < 0 || call.result == 0) return false;
      nodes_[static_cast<std::size_t>(file)].data = nodes_[static_cast<std::size_t>(from)].data;
      nodes_[static_cast<std::size_t>(file)].is_flushed = false;
      break;
    }
    case SYS_linkat:
      change(named(child, 2, 3), at(named(child, 0, 1)));
      break;
    case SYS_link:
      change(named(child, 0, 1), at(named(child, 0, 0)));
      break;
    case SYS_unlinkat:
      change(named(child, 0, 1), -1);
      break;
    case SYS_unlink:
    case SYS_rmdir:
      change(named(child, 0, 0), -1);
      break;
    case SYS_rename:
      rename(named(child, 0, 0), named(child, 0, 1), false);
      break;
    case SYS_renameat:
    case SYS_renameat2: {
      constexpr std::uint64_t exchange = 2;  // RENAME_EXCHANGE
      rename(named(child, 0, 1), named(child, 2, 3), call.number == SYS_renameat2 && call.arguments[4] == exchange);
      break;
    }
    case SYS_fsync:
    case SYS_fdatasync: {
      int const one = at(child.path_of(call.arguments[0]));
      if (one < 0) return false;
      flush(nodes_[static_cast<std::size_t>(one)]);
      break;
    }
    case SYS_syncfs:
      for (node& each : nodes_) flush(each);
      break;
    default:
      return false;
  }
  made_.clear();
  return true;
}

void power_cuts::collect(int from, std::string const& name, kept what, std::mt19937& random,
                         std::map<std::string, std::string>& files, std::vector<std::string>& folders) const {
  node const& one = nodes_[static_cast<std::size_t>(from)];
  if (!one.is_folder) {
    unsigned const choice = random() % 4;
    bool const is_some = what == kept::some;
    std::string const zeros(one.data.size(), '\0');
    std::string const half = one.data.substr(0, (one.on_disk.size() + one.data.size()) / 2);
    if (one.is_flushed || what == kept::data || what == kept::everything || (is_some && choice == 0)) {
      files[name] = one.data;
    } else if (what == kept::names_with_zeros || (is_some && choice == 1)) {
      files[name] = zeros;
    } else {
      files[name] = is_some && choice == 2 ? half : one.on_disk;
    }
    return;
  }
  if (!name.empty()) folders.push_back(name);
  bool const keeps_all = what == kept::names || what == kept::names_with_zeros || what == kept::everything;
  std::map<std::string, int> names = one.names;
  for (auto const& change : one.changes) {
    bool const is_kept = keeps_all || (what == kept::some && random() % 2 == 0);
    for (auto const& [each, to] : change)
      if (is_kept) names[each] = to;
  }
  for (auto const& [each, to] : names)
    if (to >= 0) collect(to, name.empty() ? each : name + "/" + each, what, random, files, folders);
}

bool power_cuts::cut(kept what, std::mt19937& random) {
  std::map<std::string, std::string> files;
  std::vector<std::string> folders;
  collect(0, "", what, random, files, folders);
  std::string all;
  for (std::string const& each : folders) all += each + "\n";
  for (auto const& [name, data] : files) all += name + "\t" + std::to_string(data.size()) + data + "\n";
  if (!made_.insert(std::move(all)).second) return false;
  for (auto const& each : fs::directory_iterator{root_}) fs::remove_all(each);
  for (std::string const& each : folders) {
    fs::create_directory(root_ / each);
    fs::permissions(root_ / each, fs::perms::owner_all);
  }
  for (auto const& [name, data] : files)
    std::ofstream{root_ / name, std::ios::binary}.write(data.data(), static_cast<std::streamsize>(data.size()));
  return true;
}

}  // namespace lull::queue
