// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lull::fuzz {

/// A reader of files from outside, called on any bytes. `read` returns, or throws `lull::error`. Anything else that it
/// throws is a fault, and so is a result that contradicts itself: `require` ends the process then.
struct reader {
  std::string_view name;
  void (*read)(std::string_view input);
};

/// All of them, by rising name.
std::span<reader const> readers();

/// Returns null if there is none of that name.
reader const* find_reader(std::string_view name);

/// Calls the reader; what it refuses with `lull::error` counts as read.
void read(reader const& with, std::string_view input);

/// Ends the process with the message unless what a reader promises holds.
void require(bool holds, char const* promise);

/// A file in memory that holds the input and whose name ends in `suffix`. Returns its path. There is one for each
/// suffix, so it holds the input until the next call.
std::string file_of(std::string_view input, std::string const& suffix);

/// What graphs, ratings, rows and pictures may take: a few bytes may ask for gigabytes, and the reader must refuse
/// before it allocates. It is small, because a graph of millions of vertices and one edge takes long.
inline constexpr std::uint64_t max_machine_bytes = 1UL << 20;

// A function for each reader, in the file of its kind.
void read_dimacs(std::string_view input);
void read_edge_list(std::string_view input);
void read_entry_name(std::string_view input);
void read_event(std::string_view input);
void read_exif(std::string_view input);
void read_gzip(std::string_view input);
void read_job_document(std::string_view input);
void read_job(std::string_view input);
void read_manifest(std::string_view input);
void read_matrix_market(std::string_view input);
void read_metis(std::string_view input);
void read_picture(std::string_view input);
void read_profile(std::string_view input);
void read_rating_lines(std::string_view input);
void read_rows(std::string_view input);
void read_safetensors(std::string_view input);
void read_task_text(std::string_view input);
void read_text(std::string_view input);
void read_vertices(std::string_view input);
void read_watched_folder(std::string_view input);
void read_weighted_edge_list(std::string_view input);

}  // namespace lull::fuzz
