// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lull {

/// The rows with which each task that searches a graph lets its user choose where from.
inline constexpr option search_options[] = {
    {"source", option_kind::integer, "", "[0, 4294967294]",
     "vertex to search from, numbered as ids says; default: the lowest that an edge leaves"},
    {"sources", option_kind::path, "", "",
     "file with vertices to search from, one id a line; their column may have a name"},
};

/// The vertices that a task's options name to search from. Not thread-safe.
class search_sources {
 public:
  /// `values` must outlive it. Throws usage_error, in the task's name, if the options exclude each other.
  search_sources(std::string_view task, option_values const& values);

  /// Reads them, once, where the options name any; `first_id` is what they call vertex 0. Throws usage_error or
  /// input_error for one that is no vertex.
  void find(std::uint64_t vertices, std::uint32_t first_id);
  /// … or takes the default: the lowest vertex that an edge leaves; where there is none, vertex 0.
  void find_in(csr const& out, std::uint32_t first_id);
  /// … or takes these, at least one, each a vertex.
  void take(std::vector<std::uint32_t> chosen) noexcept { sources_ = std::move(chosen); }

  /// Before find_in, of the default also 1.
  std::size_t count() const noexcept { return sources_.empty() ? 1 : sources_.size(); }
  std::span<std::uint32_t const> all() const noexcept { return sources_; }
  /// Whether they are of a list, so that each line of the results names its source.
  bool is_list() const { return values_->has("sources"); }
  /// As a summary begins: `from vertex 3`, in the user's numbers, `from 5 vertices`.
  std::string text() const;
  /// Adds how the list was read, where that could be otherwise.
  void add_note(std::vector<std::string>& notes) const;
  /// The files of a task's other inputs, and after them the list.
  std::vector<std::filesystem::path> files_after(std::vector<std::filesystem::path> others) const;

 private:
  std::string task_;
  option_values const* values_;
  std::vector<std::uint32_t> sources_;
  std::uint32_t first_id_ = 0;
  std::string taken_;  // of the list
};

}  // namespace lull
