// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/checkpoint_file.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/safetensors_reader.hpp>

namespace lull {
namespace {

using json = nlohmann::json;

constexpr char const* version_key = "lull.checkpoint";
constexpr char const* task_key = "lull.task";
constexpr char const* settings_key = "lull.settings";
constexpr char const* inputs_key = "lull.inputs";
constexpr char const* cursor_name = "lull.cursor";
constexpr std::string_view taken_names = "lull.";
// Nothing of a file's size is allocated, so a file may be larger than expected: opening it shows whose it is.
constexpr std::uint64_t max_file_bytes = std::uint64_t{1} << 48;
constexpr std::size_t max_quoted_bytes = 1000;
constexpr char const* start_again = "; remove the file, or name another folder for checkpoints, to start again";

/// Options may name files whose names are not UTF-8. JSON must be UTF-8, so such bytes become U+FFFD, also in
/// comparisons.
std::string printable(std::string const& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string quoted(std::string const& text) {
  std::string shown = text.substr(0, max_quoted_bytes);
  std::replace_if(
      shown.begin(), shown.end(), [](char byte) { return static_cast<unsigned char>(byte) < ' '; }, '?');
  return '"' + shown + (text.size() > max_quoted_bytes ? "…\"" : "\"");
}

tensor_info cursor_tensor(std::uint64_t words) { return {cursor_name, tensor_type::u64, {words}}; }

void check(std::filesystem::path const& path, checkpoint_description const& description, std::span<std::byte> buffer) {
  auto const fail = [&](std::string const& fault) { throw usage_error(path.string() + ": a checkpoint " + fault); };
  if (buffer.empty()) fail("needs a buffer to go through");
  if (description.task.empty()) fail("needs the name of its task");
  auto const digit = [](char byte) { return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f'); };
  if (description.inputs.empty() || description.inputs.size() > 64 ||
      !std::all_of(description.inputs.begin(), description.inputs.end(), digit)) {
    fail("needs a fingerprint of 1 to 64 hexadecimal digits");
  }
  for (tensor_info const& array : description.arrays) {
    if (array.name.starts_with(taken_names))
      fail("cannot hold an array " + quoted(array.name) + ": such names are Lull's own");
  }
}

safetensors_metadata metadata_of(checkpoint_description const& description) {
  return {{version_key, std::to_string(checkpoint_version)},
          {task_key, printable(description.task)},
          {settings_key, printable(description.settings)},
          {inputs_key, description.inputs}};
}

/// Compares a file with what is expected; every fault is an input_error.
class checker {
 public:
  checker(safetensors_reader const& file, checkpoint_description const& expected) : file_(file), expected_(expected) {}

  void check() const {
    check_version();
    safetensors_metadata const wanted = metadata_of(expected_);
    check_same(task_key, wanted, "the task", "give each job a folder of its own for checkpoints");
    check_same(settings_key, wanted, "the settings", "resume with those, or remove the file to start again");
    check_same(inputs_key, wanted, "inputs of the fingerprint",
               "the input files have changed since: put the old ones back, or remove the file to start again");
    check_array(cursor_tensor(expected_.cursor_words));
    for (tensor_info const& array : expected_.arrays) check_array(array);
    check_no_more();
  }

 private:
  std::string const& metadata(char const* key) const {
    auto const found = file_.metadata().find(key);
    if (found != file_.metadata().end()) return found->second;
    refuse(std::string{"is a safetensors file, but no checkpoint: it has no metadata "} + key + start_again);
  }

  void check_version() const {
    std::string const& text = metadata(version_key);
    std::uint64_t number = 0;
    auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size())
      refuse("is no checkpoint: its version is " + quoted(text) + start_again);
    if (number != checkpoint_version) {
      refuse("is a checkpoint of version " + std::to_string(number) + ", " +
             (number < checkpoint_version ? "older" : "newer") + " than version " + std::to_string(checkpoint_version) +
             ", which this Lull reads: resume with the Lull that wrote it" + start_again);
    }
    if (!file_.has_checksums()) {
      refuse("has no checksums: another program has written it since, or it is damaged" + std::string{start_again});
    }
  }

  void check_same(char const* key, safetensors_metadata const& wanted, std::string const& what,
                  std::string const& advice) const {
    std::string const& found = metadata(key);
    if (found == wanted.at(key)) return;
    refuse("is a checkpoint of " + what + " " + quoted(found) + ", but " + quoted(wanted.at(key)) +
           " was asked for: " + advice);
  }

  void check_array(tensor_info const& wanted) const {
    tensor_info const* const found = file_.find(wanted.name);
    if (found == nullptr) {
      refuse("lacks the array " + wanted.name + ", " + format_shape(wanted) +
             ", that the task has: it was written by another version of the task" + start_again);
    }
    if (*found != wanted) {
      refuse("holds the array " + wanted.name + " as " + format_shape(*found) + ", but the task has it as " +
             format_shape(wanted) + start_again);
    }
  }

  void check_no_more() const {
    for (tensor_info const& found : file_.tensors()) {
      bool const known = found.name == cursor_name ||
                         std::find(expected_.arrays.begin(), expected_.arrays.end(), found) != expected_.arrays.end();
      if (!known) {
        refuse("holds an array " + found.name + ", " + format_shape(found) +
               ", that the task does not have: it was written by another version of the task" + start_again);
      }
    }
  }

  [[noreturn]] void refuse(std::string const& message) const { throw input_error(file_.path(), 0, message); }

  safetensors_reader const& file_;
  checkpoint_description const& expected_;
};

}  // namespace

void write_checkpoint(std::filesystem::path const& path, checkpoint_description const& description,
                      std::span<std::uint64_t const> cursor, checkpoint_source const& source,
                      std::span<std::byte> buffer) {
  check(path, description, buffer);
  if (cursor.size() != description.cursor_words) {
    throw usage_error(path.string() + ": a cursor of " + std::to_string(cursor.size()) + " words where " +
                      std::to_string(description.cursor_words) + " are described");
  }
  std::vector<tensor_info> tensors{cursor_tensor(cursor.size())};
  tensors.insert(tensors.end(), description.arrays.begin(), description.arrays.end());
  auto const source_of_all = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) {
    if (tensor == 0) {
      std::memcpy(piece.data(), std::as_bytes(cursor).data() + offset, piece.size());
    } else {
      source(tensor - 1, offset, piece);
    }
  };
  remove_leftovers(path);
  write_safetensors(path, tensors, metadata_of(description), source_of_all, buffer);
}

std::vector<std::uint64_t> read_checkpoint(std::filesystem::path const& path, checkpoint_description const& expected,
                                           checkpoint_sink const& sink, std::span<std::byte> buffer) {
  check(path, expected, buffer);
  safetensors_reader const file(path.string(), max_file_bytes, start_again);
  checker(file, expected).check();
  std::vector<std::uint64_t> cursor(static_cast<std::size_t>(expected.cursor_words));
  file.read_into(cursor_name, std::as_writable_bytes(std::span{cursor}));
  for (std::size_t at = 0; at < expected.arrays.size(); ++at) {
    file.read_into(expected.arrays[at].name, buffer,
                   [&](std::uint64_t offset, std::span<std::byte const> piece) { sink(at, offset, piece); });
  }
  return cursor;
}

}  // namespace lull
