// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/load/vertex_list.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/host/error.hpp>

namespace lull {

search_sources::search_sources(std::string_view task, option_values const& values) : task_(task), values_(&values) {
  if (values.given("source") && values.given("sources"))
    throw usage_error(task_ + ": source and sources exclude each other: give one of them");
}

void search_sources::find(std::uint64_t vertices, std::uint32_t first_id) {
  first_id_ = first_id;
  if (!sources_.empty()) return;
  if (is_list()) {
    sources_ = read_vertex_list(values_->path("sources"), vertices, first_id, &taken_);
  } else if (values_->has("source")) {
    auto const source = static_cast<std::uint64_t>(values_->integer("source"));
    if (source < first_id || source - first_id >= vertices)
      throw usage_error(task_ + ": source=" + std::to_string(source) + " is no vertex: the graph has vertices " +
                        std::to_string(first_id) + " to " + std::to_string(vertices - 1 + first_id));
    sources_ = {static_cast<std::uint32_t>(source - first_id)};
  }
}

void search_sources::find_in(csr const& out, std::uint32_t first_id) {
  find(out.vertices(), first_id);
  if (!sources_.empty()) return;
  auto const after = std::upper_bound(out.offsets.begin(), out.offsets.end(), std::uint64_t{0});
  sources_ = {after == out.offsets.end() ? 0 : static_cast<std::uint32_t>(after - out.offsets.begin() - 1)};
}

std::string search_sources::text() const {
  return sources_.size() == 1 ? "from vertex " + std::to_string(std::uint64_t{sources_.front()} + first_id_)
                              : "from " + std::to_string(sources_.size()) + " vertices";
}

void search_sources::add_note(std::vector<std::string>& notes) const {
  if (!taken_.empty()) notes.push_back("sources: " + taken_);
}

std::vector<std::filesystem::path> search_sources::files_after(std::vector<std::filesystem::path> others) const {
  if (is_list()) others.push_back(values_->path("sources"));
  return others;
}

}  // namespace lull
