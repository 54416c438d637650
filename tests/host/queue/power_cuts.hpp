// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <lull/tests/support/traced_child.hpp>

namespace lull::queue {

/// What a folder may hold after the power has gone in the middle of a child's work. The model:
///
/// - A file's bytes are on the disk after an fsync of that file. Before, any of these may be there: what was at the
/// last
///   fsync, a half of what was written since, all of it, or as many zeros.
/// - A name that was made, renamed or removed is so on the disk after an fsync of its folder. Before, each such change
///   may have happened or not, in any combination, also of one folder. A rename happens as a whole.
/// - syncfs is an fsync of everything. What was there when the recording began is on the disk.
///
/// After Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014, section 3: what POSIX leaves open, but for
/// renames, which the file systems of their table 1 keep whole.
class power_cuts {
 public:
  /// Begins with what is in a folder.
  explicit power_cuts(std::filesystem::path root);
  /// Says that a file there was written by a process that flushed neither it nor its name.
  void was_not_flushed(std::string const& name);
  /// Follows the call that a child has made. Returns whether the folder or what is on the disk may have changed.
  bool follow(test::traced_child const& child);

  enum class kept { nothing, names, names_with_zeros, data, everything, some };
  /// Writes into the folder what may be there after the power has gone now, in the place of all else. Returns false if
  /// it has made the same since `follow` saw a change.
  bool cut(kept what, std::mt19937& random);

 private:
  struct node {
    bool is_folder = false;
    std::string data{};     // of a file, as processes see it
    std::string on_disk{};  // … after the last fsync
    bool is_flushed = true;
    std::map<std::string, int> names{};                 // of a folder, on the disk: nodes
    std::vector<std::map<std::string, int>> changes{};  // since its last fsync; -1: the name is removed
  };

  int load(std::filesystem::path const& from);
  int at(std::filesystem::path const& path) const;  // -1: there is none
  static std::map<std::string, int> seen(node const& folder);
  int folder_of(std::filesystem::path const& path) const { return at(path.parent_path()); }
  void change(std::filesystem::path const& path, int to);
  void rename(std::filesystem::path const& from, std::filesystem::path const& to, bool exchanges);
  int make(bool is_folder);
  void flush(node& one);
  void collect(int from, std::string const& name, kept what, std::mt19937& random,
               std::map<std::string, std::string>& files, std::vector<std::string>& folders) const;

  std::filesystem::path root_;
  std::vector<node> nodes_;
  std::set<std::string> made_;  // states since the last change
};

}  // namespace lull::queue
