// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <lull/tasks/images/codec/image.hpp>

namespace lull {

/// Counts what a user must know of how pictures were read. Not thread-safe.
class image_notes {
 public:
  void add(std::vector<image_note> const& notes, std::string const& file);
  /// Returns a line for each kind of note: the file that is first by name, and how many there are.
  std::vector<std::string> lines() const;
  /// Returns the number of files with notes, each as often as it has notes.
  std::size_t count() const;

 private:
  struct noted {
    std::size_t files = 0;
    std::string first;
  };
  std::map<image_note, noted> kinds_;
};

}  // namespace lull
