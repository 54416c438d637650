// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/host/error.hpp>
#include <optional>
#include <vector>

namespace lull {
namespace {

constexpr std::uint32_t none = bfs_found::none;

class bfs_verifier {
 public:
  bfs_verifier(csr const& out, std::uint32_t source, std::span<bfs_found const> found)
      : out_(out), source_(source), found_(found), lowest_(found.size(), none) {}

  verification run() {
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (auto const fault = fault_by_itself(vertex)) return {false, *fault};
    }
    for (std::uint32_t from = 0; from < found_.size(); ++from) {
      if (found_[from].depth == none) continue;
      for (std::uint64_t edge = out_.offsets[from]; edge < out_.offsets[from + 1ULL]; ++edge) {
        if (auto const fault = fault_of_edge(from, out_.targets[edge])) return {false, *fault};
      }
    }
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (auto const fault = fault_of_parent(vertex)) return {false, *fault};
    }
    return {true, std::to_string(reached_) + " of " + std::to_string(found_.size()) + " vertices reached, depth " +
                      std::to_string(depth_)};
  }

 private:
  using fault = std::optional<std::string>;

  static std::string name(std::uint32_t vertex) { return "vertex " + std::to_string(vertex); }
  std::string told(std::uint32_t vertex) const {
    std::uint32_t const depth = found_[vertex].depth;
    return name(vertex) + (depth == none ? " (not reached)" : " (depth " + std::to_string(depth) + ")");
  }

  fault fault_by_itself(std::uint32_t vertex) {
    auto const& [depth, parent] = found_[vertex];
    if (vertex == source_) {
      if (depth != 0) return "the source is " + told(vertex) + ", but its depth must be 0";
      if (parent != source_) return "the source, " + name(vertex) + ", must be its own parent";
    } else if (depth == 0) {
      return told(vertex) + " is not the source, but has its depth";
    }
    if (depth == none && parent != none) return told(vertex) + " has a parent, " + name(parent);
    if (depth == none) return {};
    if (parent >= found_.size()) return told(vertex) + " has no vertex as its parent: " + std::to_string(parent);
    ++reached_;
    depth_ = std::max(depth_, depth);
    return {};
  }

  fault fault_of_edge(std::uint32_t from, std::uint32_t to) {
    std::uint32_t const next = found_[from].depth + 1;
    if (found_[to].depth > next) {  // that of one that is not reached is greatest
      return told(to) + " is too deep: an edge leads to it from " + told(from);
    }
    if (found_[to].depth == next) lowest_[to] = std::min(lowest_[to], from);
    return {};
  }

  fault fault_of_parent(std::uint32_t vertex) const {
    auto const& [depth, parent] = found_[vertex];
    if (depth == none || vertex == source_) return {};
    if (lowest_[vertex] == none)
      return told(vertex) + " has no edge from a vertex of depth " + std::to_string(depth - 1);
    if (parent == lowest_[vertex]) return {};
    auto const row =
        std::span{out_.targets}.subspan(out_.offsets[parent], out_.offsets[parent + 1ULL] - out_.offsets[parent]);
    bool const has_edge = std::find(row.begin(), row.end(), vertex) != row.end();
    return told(vertex) + " has as its parent " + told(parent) +
           (!has_edge ? ", from which no edge leads to it"
                      : ", but " + std::to_string(lowest_[vertex]) + " is the lowest of depth " +
                            std::to_string(depth - 1) + " with an edge to it");
  }

  csr const& out_;
  std::uint32_t const source_;
  std::span<bfs_found const> const found_;
  std::vector<std::uint32_t> lowest_;  // (vertices,) with an edge from the depth before
  std::uint64_t reached_ = 0;
  std::uint32_t depth_ = 0;
};

}  // namespace

verification verify_bfs(csr const& out, std::uint32_t source, std::span<bfs_found const> found) {
  validate(out);
  if (found.size() != out.vertices())
    throw usage_error("verify_bfs: " + std::to_string(found.size()) + " results for " + std::to_string(out.vertices()) +
                      " vertices");
  if (source >= out.vertices())
    throw usage_error("verify_bfs: the source is vertex " + std::to_string(source) + ", but the graph has " +
                      std::to_string(out.vertices()));
  return bfs_verifier{out, source, found}.run();
}

}  // namespace lull
