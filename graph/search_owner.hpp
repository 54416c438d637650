// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <lull/graph/graph_owner.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// The owner of a task that searches a graph from the sources that its options name, of the rows `search_options`.
/// `Arrays` has `summary`, with `over` and the number of `searches` that are done, `each_found` and `total`.
template <class Arrays>
class search_owner : public graph_owner<Arrays> {
 public:
  void reset() final {
    total_.reset();
    graph_owner<Arrays>::reset();
  }
  std::vector<std::filesystem::path> inputs() const final {
    return sources_.files_after(graph_owner<Arrays>::inputs());
  }
  std::vector<std::string> notes() const final {
    std::vector<std::string> all = graph_owner<Arrays>::notes();
    sources_.add_note(all);
    return all;
  }

 protected:
  search_owner(std::string_view name, option_values const& values,
               graph_input::weights weights = graph_input::weights::dropped)
      : graph_owner<Arrays>(name, values, weights), sources_(name, this->values_) {}

  /// Results of many searches are gigabytes: where the run is over, they are added up once.
  search_total total() const {
    if (total_) return *total_;
    search_total const all = this->arrays_.value().total(this->graph_);
    if (is_over()) total_ = all;
    return all;
  }

  /// Judges each search by verify(source, found), up to the first that is wrong.
  verification verify_each(auto const& verify) const {
    if (!is_over()) {
      return {false, "the run has not ended: " + std::to_string(this->arrays_->summary().searches) + " of " +
                         std::to_string(sources_.count()) + " searches are done"};
    }
    verification last;
    this->arrays_->each_found([&](std::uint64_t search, auto const& found) {
      std::uint32_t const source = sources_.all()[search];
      last = verify(source, found);
      last.message = "from vertex " + (last.ok ? id_text(source) : std::to_string(source)) + ": " + last.message;
      return last.ok;
    });
    if (last.ok && sources_.count() != 1)
      last.message = std::to_string(sources_.count()) + " searches, of which the last: " + last.message;
    return last;
  }

  /// Where the option `out` names a file: writes a line for each vertex of each search there, its number, a tab and
  /// text(found); with the source and a tab before it where sources are a list. Adds a line that says so.
  void write_each(std::string const& what, auto const& text, std::vector<std::string>& lines) const {
    if (!this->values_.has("out")) return;
    atomic_file file{this->values_.path("out")};
    std::string line;
    this->arrays_->each_found([&](std::uint64_t search, auto const& found) {
      std::string const first = sources_.is_list() ? id_text(sources_.all()[search]) + '\t' : "";
      for (std::size_t vertex = 0; vertex < found.size(); ++vertex) {
        line = first;
        file.write(line.append(id_text(vertex)).append(1, '\t').append(text(found[vertex])).append(1, '\n'));
      }
      return true;
    });
    file.commit();
    lines.push_back(what + ": " + this->values_.path("out").string());
  }

  std::string id_text(std::uint64_t vertex) const { return std::to_string(this->input_.id_of(vertex)); }

  search_sources sources_;

 private:
  bool is_over() const { return this->arrays_.value().summary().over; }

  mutable std::optional<search_total> total_;  // of a run that is over
};

}  // namespace lull
