// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/checkpoints.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <span>
#include <utility>

#include <lull/host/detail/deadline.hpp>
#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/crc32.hpp>

namespace lull {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t piece = std::size_t{8} << 20;

/// Returns false also if the path cannot be read; writing or reading it then reports why.
bool is_there(std::filesystem::path const& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

/// Of all that was read, file after file.
std::string fingerprint(std::vector<std::filesystem::path> const& files) {
  std::uint32_t sum = 0;
  std::vector<char> buffer(piece);
  for (std::filesystem::path const& each : files) {
    std::ifstream in{each, std::ios::binary};
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
      sum = crc32_of(sum, std::as_bytes(std::span{buffer}.first(static_cast<std::size_t>(in.gcount()))));
    }
  }
  char text[16];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(sum));
  return text;
}

/// Returns the type: a library's file name counts, not its folder: "libmine.so:components".
std::string type_of(task_request const& request) {
  if (request.shared_library.empty()) return request.name;
  return std::filesystem::path{request.shared_library}.filename().string() + ":" + request.name;
}

}  // namespace

checkpoints::checkpoints(std::filesystem::path folder, std::chrono::nanoseconds every, bool resume,
                         std::string const& name, task_request const& request, task_owner& owner, executor& executor)
    : owner_(owner),
      file_(files_of(folder, name)[0]),
      every_(every),
      resume_(resume),
      executor_(executor),
      arrays_(owner.arrays()),
      buffer_(piece) {
  if (arrays_.empty()) {
    file_ = files_of(folder, name)[1];
    account const kept = owner.keep_account(file_, resume);
    if (kept == account::none)
      throw usage_error{"task " + request.name + " has no state that could be saved: leave the checkpoint out"};
    own_account_ = true;
    resumed_ = kept == account::resumed;
  } else if (auto const older = folder / (name + ".npz"); is_there(older)) {
    throw usage_error{older.string() +
                      " is a checkpoint in .npz, and Lull reads safetensors now: resume with the Lull that wrote it; "
                      "remove the file, or name another folder for checkpoints, to start again"};
  }
  std::error_code why;
  std::filesystem::create_directories(folder, why);
  if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored))
    throw usage_error{"checkpoint folder " + folder.string() + " cannot be created: " + why.message()};
  try {
    atomic_file const probe{folder / ".lull-writable"};
  } catch (device_error const& reason) {
    throw usage_error{"checkpoint folder " + folder.string() + " cannot be written: " + reason.what()};
  }
  if (!resume_ && is_there(file_)) {
    throw usage_error{file_.string() +
                      " exists: use --resume to continue, or remove it or name another folder to start again"};
  }
  what_ = {type_of(request),
           format_task(request, task_text::without_files),
           own_account_ ? "" : fingerprint(owner.inputs()),
           detail::image_words,
           {}};
  for (task_array const& each : arrays_) what_.arrays.push_back(each.array);
}

std::vector<std::filesystem::path> checkpoints::files_of(std::filesystem::path const& folder, std::string const& name) {
  return {folder / (name + ".safetensors"), folder / (name + ".manifest")};
}

void checkpoints::begin(detail::job_core& job) {
  next_ = deadline_after(every_);
  if (own_account_ || !resume_ || !is_there(file_)) return;
  auto const sink = [&](std::size_t array, std::uint64_t offset, std::span<std::byte const> bytes) {
    executor_.write(static_cast<std::byte*>(arrays_[array].memory) + offset, bytes.data(), bytes.size());
  };
  saved_ = read_checkpoint(file_, what_, sink, buffer_);
  job.restore(saved_);
  resumed_ = true;
}

void checkpoints::save(detail::job_core& job) {
  auto const begin = std::chrono::steady_clock::now();
  write(job);
  auto const took = std::chrono::steady_clock::now() - begin;
  next_ = deadline_after(std::max<std::chrono::nanoseconds>(every_, 4 * took));
}

void checkpoints::write(detail::job_core& job) {
  if (own_account_) {
    owner_.save_account(file_);
    return;
  }
  std::vector<std::uint64_t> state = job.save();
  if (state == saved_ && is_there(file_)) return;
  auto const source = [&](std::size_t array, std::uint64_t offset, std::span<std::byte> bytes) {
    executor_.read(bytes.data(), static_cast<std::byte const*>(arrays_[array].memory) + offset, bytes.size());
  };
  write_checkpoint(file_, what_, state, source, buffer_);
  saved_ = std::move(state);
}

void checkpoints::put_off() { next_ = deadline_after(std::max<std::chrono::nanoseconds>(every_, 1s)); }

void checkpoints::forget() noexcept {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace lull
