// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/fuzz/readers.hpp>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>

#include <lull/host/error.hpp>

namespace lull::fuzz {
namespace {

constexpr reader all[] = {
    {"dimacs", read_dimacs},
    {"edge_list", read_edge_list},
    {"entry_name", read_entry_name},
    {"event", read_event},
    {"exif", read_exif},
    {"gzip", read_gzip},
    {"job_document", read_job_document},
    {"job_file", read_job},
    {"manifest", read_manifest},
    {"matrix_market", read_matrix_market},
    {"metis", read_metis},
    {"picture", read_picture},
    {"profile", read_profile},
    {"ratings", read_rating_lines},
    {"rows", read_rows},
    {"safetensors", read_safetensors},
    {"task_text", read_task_text},
    {"text", read_text},
    {"vertices", read_vertices},
    {"watched_folder", read_watched_folder},
    {"weighted_edge_list", read_weighted_edge_list},
};

/// Readers choose by the end of a name, which a file in memory lacks: a link in a folder has it.
class memory_files {
 public:
  memory_files() : folder_((std::filesystem::temp_directory_path() / "lull_fuzz_XXXXXX").string()) {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder: " + folder_);
  }
  ~memory_files() {
    for (auto const& [suffix, descriptor] : descriptors_) ::close(descriptor);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  memory_files(memory_files const&) = delete;
  memory_files& operator=(memory_files const&) = delete;

  std::string write(std::string_view input, std::string const& suffix) {
    std::string path = folder_ + "/input" + suffix;
    auto const [found, is_new] = descriptors_.try_emplace(suffix, -1);
    if (is_new) {
      found->second = ::memfd_create("input", MFD_CLOEXEC);
      std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(found->second), path);
    }
    if (::ftruncate(found->second, 0) != 0 ||
        ::pwrite(found->second, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size()))
      throw std::runtime_error("the input cannot be written to memory");
    return path;
  }

 private:
  std::string folder_;
  std::map<std::string, int> descriptors_;  // by suffix
};

}  // namespace

std::span<reader const> readers() { return all; }

reader const* find_reader(std::string_view name) {
  auto const found =
      std::find_if(std::begin(all), std::end(all), [&](reader const& each) { return each.name == name; });
  return found == std::end(all) ? nullptr : found;
}

void read(reader const& with, std::string_view input) {
  try {
    with.read(input);
  } catch (error const& refused) {
    require(refused.what()[0] != '\0', "a refusal says why");
  }
}

void require(bool holds, char const* promise) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", promise);
  ::abort();
}

std::string file_of(std::string_view input, std::string const& suffix) {
  static memory_files files;
  return files.write(input, suffix);
}

}  // namespace lull::fuzz
