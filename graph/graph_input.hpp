// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/memory_need.hpp>
#include <lull/host/task/options.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// The rows with which each task over a graph lets its user choose one.
inline constexpr option graph_options[] = {
    {"graph", option_kind::path, "", "",
     "file with the edges: .el or .wel (a list, source target [weight] a line; # or % comments; a blank, tab, comma or "
     "semicolon between), .mtx (Matrix Market), .gr (DIMACS), .graph (METIS); others by content; each also gzip; "
     "default: the packages of Debian 12"},
    {"undirected", option_kind::choice, "no", "no|yes", "take each edge of a list (.el, .wel) both ways"},
    {"ids", option_kind::choice, "file", "file|zero",
     "numbers of vertices in options, sources and results: the file's (.mtx, .gr and .graph count from 1), or from 0"},
    {"kronecker", option_kind::integer, "", "[1, 27]", "generate a Kronecker graph of 2^SCALE vertices instead"},
    {"uniform", option_kind::integer, "", "[1, 27]", "generate a uniform graph of 2^SCALE vertices instead"},
    {"grid", option_kind::integer, "", "[2, 16384]", "generate a grid of SIDE x SIDE vertices instead"},
    {"seed", option_kind::integer, "1", "[0, inf)", "random seed of a Kronecker or uniform graph"},
};

/// … and what a graph without weights gets, by a task that needs some.
inline constexpr option weight_options[] = {
    {"weights", option_kind::choice, "", "unit|drawn",
     "weights of a graph without any: 1 each, or drawn; default: unit for a file, drawn for a generated graph or with "
     "max_weight or weight_seed"},
    {"max_weight", option_kind::integer, "255", "[1, 16777216]", "greatest weight that is drawn; the least is 1"},
    {"weight_seed", option_kind::integer, "1", "[0, inf)", "random seed of drawn weights"},
};

/// A table of those rows and, after them, further ones, of which a task's own are the last.
template <std::size_t... Further>
constexpr auto with_graph_options(option const (&... further)[Further]) noexcept {
  std::array<option, std::size(graph_options) + (Further + ...)> made{};
  option* end = std::copy(std::begin(graph_options), std::end(graph_options), made.data());
  ((end = std::copy(std::begin(further), std::end(further), end)), ...);
  return made;
}

/// The graph that a task's options name: in a file, generated, or the shipped one. Not thread-safe.
class graph_input {
 public:
  enum class weights {
    dropped,
    kept,
    needed  // 1 each or drawn where there are none, as weight_options say
  };

  /// `values` must outlive it. Throws usage_error, in the task's name, if the options exclude each other.
  graph_input(std::string_view task, option_values const& values, weights wanted,
              symmetric_entries symmetric = symmetric_entries::both_ways);

  /// How large the graph is, and of host memory what is held until `take`. Reads a graph that is in a file. Throws as
  /// load_graph and shipped_file do.
  graph_extent size();
  std::uint64_t held_bytes() const noexcept { return read_.size_bytes(); }

  /// The graph: what `size` read, or read or generated now. Throws as `size` does, limit_error, std::bad_alloc;
  /// usage_error where options would give weights to a file that has its own.
  csr take();

  /// Whether `take` makes the graph's weights; known after `size` or `take`.
  bool makes_weights() const noexcept { return wanted_ == weights::needed && !has_weights_; }
  /// Gives the graph the weights that `take` made for it, again.
  void make_weights(csr& graph) const;

  /// The number of a vertex as the user knows it, and what vertex 0 is called; known after `size` or `take`.
  std::uint64_t id_of(std::uint64_t vertex) const noexcept { return vertex + first_id_; }
  std::uint32_t first_id() const noexcept { return first_id_; }

  /// What the user has to know of the graph: how its file was read, where its weights come from. After `take`.
  std::vector<std::string> notes() const;
  /// Whole weights of the file that are not exact, because no float equals them.
  std::uint64_t rounded_weights() const noexcept { return rounded_weights_; }

  /// For std::bad_alloc, wherever the task meets it.
  limit_error too_large() const;

  /// What a task needs that keeps the graph, and so many further bytes, on the host: `machine_bytes` for its arrays,
  /// `preparing_bytes` besides. Throws as `size` does.
  memory_need need(std::uint64_t machine_bytes, std::uint64_t preparing_bytes, std::uint64_t kept_bytes = 0);
  /// What a task over the graph and its transpose needs, of which it keeps the graph on the host: `machine_bytes` for
  /// its arrays, of which `made_later` will be in host memory, but are not yet while the transpose is made. Throws as
  /// `size` does.
  memory_need need_with_transpose(std::uint64_t machine_bytes, std::uint64_t made_later);

  /// The name of the option that generates the graph; empty: it is in a file.
  std::string_view generated_by() const;
  bool is_shipped() const { return !values_->given("graph") && generated_by().empty(); }
  /// The files that are read.
  std::vector<std::filesystem::path> files() const;

  /// A file of data/ that belongs to the shipped graph. Throws input_error.
  static std::filesystem::path shipped(char const* name);

 private:
  csr load();
  csr generate() const;
  bool draws() const;
  bool is_random() const { return values_->given("kronecker") || values_->given("uniform"); }

  std::string task_;
  option_values const* values_;
  weights wanted_;
  symmetric_entries symmetric_;
  csr read_;
  std::vector<std::string> notes_;  // of the file
  std::uint64_t rounded_weights_ = 0;
  std::uint32_t first_id_ = 0;
  bool has_weights_ = false;  // of its own
};

}  // namespace lull
