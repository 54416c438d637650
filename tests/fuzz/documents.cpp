// SPDX-License-Identifier: Apache-2.0
// Job files and the text of a task, profiles, safetensors, manifests.
#include <lull/tests/fuzz/readers.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/crc32.hpp>
#include <lull/host/io/safetensors_reader.hpp>
#include <lull/host/profile/choice.hpp>
#include <lull/host/profile/machine_profiles.hpp>
#include <lull/host/task/task_request.hpp>
#include <lull/tasks/images/image_manifest.hpp>

namespace lull::fuzz {
namespace {

constexpr option every_kind[] = {
    {"path", option_kind::path, "", "", "a file"},
    {"real", option_kind::real, "0.85", "[0, 1)", "a number"},
    {"integer", option_kind::integer, "100", "[-9, 1000000]", "a whole number"},
    {"size", option_kind::size, "1GiB", "[1KiB, 4GiB]", "memory"},
    {"choice", option_kind::choice, "one", "one|two", "a word"},
};
constexpr task_options tasks[] = {{"task", "has an option of each kind", every_kind}};

task_options any_library(std::string const&, std::string_view) { return tasks[0]; }

/// What is written of a request is read as the same.
void check(std::vector<task_request> const& found) {
  for (task_request const& each : found) {
    std::string const text = format_task(each);
    require(format_task(parse_task(text, tasks, any_library)) == text, "a request is read as it is written");
  }
}

template <class Read>
void read_apart(Read const& read) {
  try {
    read();
  } catch (error const&) {  // what comes next may still be read
  }
}

}  // namespace

void read_job(std::string_view input) { check(parse_job_file(input, "job.json", tasks, any_library)); }

void read_task_text(std::string_view input) {
  read_apart([&] { check({parse_task(input, tasks, any_library)}); });
  check(parse_task_list(input, tasks, any_library));
}

void read_profile(std::string_view input) {
  std::string const path = file_of(input, ".json");
  read_apart([&] { read_idle_time(path); });
  machine_profiles const found = read_profiles(path);
  require(!found.works.empty(), "there are profiles");
  for (work_profile const& each : found.works) slowdown_to_assume(each);
  idle_time idle;
  idle.sites.push_back({std::chrono::microseconds{700}, 0.3});
  prospects_of(found, idle);
}

void read_safetensors(std::string_view input) {
  safetensors_reader const file{file_of(input, ".safetensors"), 1UL << 20};
  std::array<std::byte, 100> buffer{};
  std::uint64_t bytes = 0;
  for (tensor_info const& each : file.tensors()) {
    require(file.find(each.name) == &each, "a tensor is found by its name");
    file.read_into(each.name, buffer, [&](std::uint64_t, std::span<std::byte const> piece) { bytes += piece.size(); });
  }
  require(bytes < input.size(), "tensors have no more bytes than the file");
}

/// A sum at the end keeps foreign bytes away from most of the reader: read with the right one, too.
void read_manifest(std::string_view input) {
  read_apart([&] { image_manifest::read(file_of(input, ".manifest"), "settings"); });
  char sum[16];
  std::snprintf(sum, sizeof sum, "sum %08x\n", crc32_of(0, std::as_bytes(std::span{input})));
  image_manifest::read(file_of(std::string{input} + sum, ".manifest"), "settings");
}

}  // namespace lull::fuzz
