// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/checkpoint_file.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/npz_reader.hpp>
#include <lull/host/io/npz_writer.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

constexpr char const* description_name = "lull.checkpoint";
constexpr char const* cursor_name = "lull.cursor";
constexpr std::string_view taken_names = "lull.";
constexpr std::uint64_t max_description_bytes = 1 << 20;
// Nothing of a file's size is allocated, so a larger one than expected may be looked into, to say whose it is.
constexpr std::uint64_t max_file_bytes = std::uint64_t{1} << 48;
constexpr std::size_t max_quoted_bytes = 1000;
constexpr char const* start_again = "; remove the file, or name another folder for checkpoints, to start again";

/// Options may name files whose names are no UTF-8; JSON must be, so such bytes become U+FFFD, in what is compared,
/// too.
std::string printable(std::string const& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string quoted(std::string const& text) {
  std::string shown = text.substr(0, max_quoted_bytes);
  std::replace_if(
      shown.begin(), shown.end(), [](char byte) { return static_cast<unsigned char>(byte) < ' '; }, '?');
  return '"' + shown + (text.size() > max_quoted_bytes ? "…\"" : "\"");
}

npz_array description_array(std::uint64_t bytes) { return {description_name, npz_type::u1, {bytes}}; }
npz_array cursor_array(std::uint64_t words) { return {cursor_name, npz_type::u8, {words}}; }

void check(std::filesystem::path const& path, checkpoint_description const& description, std::span<std::byte> buffer) {
  auto const fail = [&](std::string const& fault) { throw usage_error(path.string() + ": a checkpoint " + fault); };
  if (buffer.empty()) fail("needs a buffer to go through");
  if (description.task.empty()) fail("needs the name of its task");
  auto const digit = [](char byte) { return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f'); };
  if (description.inputs.empty() || description.inputs.size() > 64 ||
      !std::all_of(description.inputs.begin(), description.inputs.end(), digit)) {
    fail("needs a fingerprint of 1 to 64 hexadecimal digits");
  }
  for (npz_array const& array : description.arrays) {
    if (array.name.starts_with(taken_names))
      fail("cannot hold an array " + quoted(array.name) + ": such names are Lull's own");
  }
}

std::string text_of(checkpoint_description const& description) {
  return json{{"format", description_name},
              {"version", checkpoint_version},
              {"task", printable(description.task)},
              {"settings", printable(description.settings)},
              {"inputs", description.inputs}}
      .dump(1);
}

/// Holds a file against what is expected; every fault is an input_error.
class checker {
 public:
  checker(npz_reader const& file, checkpoint_description const& expected) : file_(file), expected_(expected) {}

  void check() const {
    json const found = read_description();
    check_version(found);
    check_same("task", printable(expected_.task), found, "the task",
               "give each job a folder of its own for checkpoints");
    check_same("settings", printable(expected_.settings), found, "the settings",
               "resume with those, or remove the file to start again");
    check_same("inputs", expected_.inputs, found, "inputs of the fingerprint",
               "the input files have changed since: put the old ones back, or remove the file to start again");
    check_array(cursor_array(expected_.cursor_words));
    for (npz_array const& array : expected_.arrays) check_array(array);
    check_no_more();
  }

 private:
  json read_description() const {
    npz_array const* const array = file_.find(description_name);
    bool const fits =
        array != nullptr && *array == description_array(array->bytes()) && array->bytes() <= max_description_bytes;
    if (!fits)
      refuse(std::string{"is an .npz file, but no checkpoint: it has no member "} + description_name +
             " that tells of one");
    std::string text(static_cast<std::size_t>(array->bytes()), '\0');
    file_.read_into(description_name, std::as_writable_bytes(std::span{text}));
    json description = json::parse(text, nullptr, false);
    bool const ours =
        description.is_object() && description.contains("format") && description["format"] == description_name;
    if (!ours)
      refuse(std::string{"is no checkpoint: its member "} + description_name + " is not the description of one");
    return description;
  }

  void check_version(json const& found) const {
    auto const version = found.find("version");
    if (version == found.end() || !version->is_number_unsigned())
      refuse("is no checkpoint: its description has no version");
    auto const number = version->get<std::uint64_t>();
    if (number == checkpoint_version) return;
    refuse("is a checkpoint of version " + std::to_string(number) + ", " +
           (number < checkpoint_version ? "older" : "newer") + " than version " + std::to_string(checkpoint_version) +
           ", which this Lull reads: resume with the Lull that wrote it" + start_again);
  }

  void check_same(char const* key, std::string const& wanted, json const& description, std::string const& what,
                  std::string const& advice) const {
    auto const found = description.find(key);
    if (found == description.end() || !found->is_string()) {
      refuse(std::string{"is no checkpoint: its description has no "} + key);
    }
    if (*found == wanted) return;
    refuse("is a checkpoint of " + what + " " + quoted(found->get<std::string>()) + ", but " + quoted(wanted) +
           " was asked for: " + advice);
  }

  void check_array(npz_array const& wanted) const {
    npz_array const* const found = file_.find(wanted.name);
    if (found == nullptr) {
      refuse("lacks the array " + wanted.name + ", " + format_npz_shape(wanted) +
             ", that the task has: it was written by another version of the task" + start_again);
    }
    if (*found != wanted) {
      refuse("holds the array " + wanted.name + " as " + format_npz_shape(*found) + ", but the task has it as " +
             format_npz_shape(wanted) + start_again);
    }
  }

  void check_no_more() const {
    for (std::size_t at = 0; at < file_.size(); ++at) {
      npz_array const& found = file_.array(at);
      bool const known = found.name == description_name || found.name == cursor_name ||
                         std::find(expected_.arrays.begin(), expected_.arrays.end(), found) != expected_.arrays.end();
      if (!known) {
        refuse("holds an array " + found.name + ", " + format_npz_shape(found) +
               ", that the task does not have: it was written by another version of the task" + start_again);
      }
    }
  }

  [[noreturn]] void refuse(std::string const& message) const { throw input_error(file_.path(), 0, message); }

  npz_reader const& file_;
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
  std::string const text = text_of(description);
  if (text.size() > max_description_bytes) {
    throw usage_error(path.string() + ": the settings are too long for a checkpoint's description of 1 MiB");
  }
  remove_leftovers(path);
  npz_writer file(path);
  file.add(description_array(text.size()), std::as_bytes(std::span{text}));
  file.add(cursor_array(cursor.size()), std::as_bytes(cursor));
  for (std::size_t at = 0; at < description.arrays.size(); ++at) {
    npz_array const& array = description.arrays[at];
    file.add(array);
    for (std::uint64_t offset = 0; offset < array.bytes();) {
      auto const piece =
          buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), array.bytes() - offset)));
      source(at, offset, piece);
      file.write(piece);
      offset += piece.size();
    }
  }
  file.commit();
}

std::vector<std::uint64_t> read_checkpoint(std::filesystem::path const& path, checkpoint_description const& expected,
                                           checkpoint_sink const& sink, std::span<std::byte> buffer) {
  check(path, expected, buffer);
  npz_reader const file(path.string(), max_file_bytes);
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
