// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/safetensors_header.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <lull/host/io/crc32.hpp>
#include <lull/host/io/whole_number.hpp>

namespace lull::detail {
namespace {

using json = nlohmann::json;

constexpr std::size_t digits = 8;
constexpr std::string_view before_checksums = R"({"__metadata__":{"lull.crc32":")";
constexpr std::size_t max_quoted_bytes = 128;

std::string quoted(std::string const& text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

/// Returns a name for a message: any bytes, and cut.
std::string shown(std::string const& name) { return quoted(name.substr(0, max_quoted_bytes)); }

std::string hexadecimal(std::uint32_t value) {
  char text[digits + 1];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(value));
  return text;
}

/// Returns the checksum that a header with checksums must begin with.
std::string checksum_of(std::string header) {
  header.replace(before_checksums.size(), digits, digits, '0');
  return hexadecimal(crc32_of(0, std::as_bytes(std::span{header})));
}

/// Returns the checksums of the tensors' data from a header that begins with checksums.
std::vector<std::uint32_t> checksums_in(std::string_view header) {
  std::string_view sums = header.substr(before_checksums.size());
  sums = sums.substr(0, sums.find('"'));
  if (sums.substr(0, digits) != checksum_of(std::string{header})) {
    throw header_fault{"is damaged, or carries the metadata lull.crc32 of another file: its header does not match"};
  }
  std::vector<std::uint32_t> found;
  for (sums.remove_prefix(digits); !sums.empty(); sums.remove_prefix(digits + 1)) {
    std::uint32_t value = 0;
    std::string_view const each = sums.substr(1, digits);
    auto const [end, fault] = std::from_chars(each.data(), each.data() + each.size(), value, 16);
    if (sums.front() != ' ' || each.size() != digits || fault != std::errc{} || end != each.data() + digits)
      throw header_fault{"has no checksums in lull.crc32 of its metadata, but other text"};
    found.push_back(value);
  }
  return found;
}

/// Refuses two members of one name: JSON would keep the last, and readers that keep the first would see another file.
json parse_json(std::string_view text) {
  // The library takes a zero byte for the end: what follows would be ignored, and other readers refuse it.
  if (text.find('\0') != text.npos)
    throw header_fault{"is damaged, or no safetensors file: its header has a zero byte"};
  constexpr int max_depth = 3;  // the header, a tensor, its shape
  std::set<std::string> names[max_depth + 1];
  auto const look = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= max_depth) throw header_fault{"is no safetensors file: its header is nested too deeply"};
      names[depth + 1].clear();
    }
    if (event == json::parse_event_t::key) {
      auto const name = value.get<std::string>();
      if (!names[depth].insert(name).second) throw header_fault{"has " + shown(name) + " twice in its header"};
    }
    return true;
  };
  json found = text.starts_with('{') ? json::parse(text, look, false) : json();
  if (!found.is_object()) throw header_fault{"is damaged, or no safetensors file: its header is no JSON object"};
  return found;
}

struct placed_tensor {
  std::uint64_t begin;
  std::uint64_t end;
  tensor_info info;
};

placed_tensor tensor_of(std::string const& name, json const& value) {
  auto const fail = [&](std::string const& fault) {
    throw header_fault{"has a bad tensor " + shown(name) + ": " + fault};
  };
  auto const member = [&](char const* key) {
    auto const found = value.find(key);
    return found == value.end() ? json() : *found;
  };
  auto const counts = [&](char const* key) {
    json const list = member(key);
    std::vector<std::uint64_t> found;
    for (json const& each : list) {
      if (auto const count = count_in(each)) found.push_back(*count);
    }
    return list.is_array() && found.size() == list.size() ? std::optional{found} : std::nullopt;
  };
  json const type = member("dtype");
  auto const shape = counts("shape");
  auto const offsets = counts("data_offsets");
  if (!type.is_string() || !shape || !offsets || offsets->size() != 2) fail("it has no dtype, shape and data_offsets");
  auto const known = std::find(tensor_type_names.begin(), tensor_type_names.end(), type.get<std::string>());
  if (known == tensor_type_names.end()) fail("Lull reads no element type " + shown(type.get<std::string>()));
  placed_tensor const found{
      offsets->front(), offsets->back(), {name, static_cast<tensor_type>(known - tensor_type_names.begin()), *shape}};
  if (std::string const fault = tensor_fault(found.info); !fault.empty()) fail(fault);
  if (found.begin > found.end || found.end - found.begin != found.info.bytes()) {
    fail(format_shape(found.info) + " has " + std::to_string(found.info.bytes()) + " bytes, but its data_offsets are " +
         json(*offsets).dump());
  }
  return found;
}

}  // namespace

std::string safetensors_header::bytes() const {
  std::string text{before_checksums};
  text.append(digits, '0');
  for (std::uint32_t const each : checksums) text += ' ' + hexadecimal(each);
  text += '"';
  for (auto const& [key, value] : metadata) text += ',' + quoted(key) + ':' + quoted(value);
  text += '}';
  std::uint64_t offset = 0;
  for (tensor_info const& each : tensors) {
    std::uint64_t const end = offset + each.bytes();
    text += ',' + quoted(each.name) + R"(:{"dtype":")" + std::string{name_of(each.type)} + R"(","shape":)" +
            json(each.shape).dump() + R"(,"data_offsets":[)" + std::to_string(offset) + ',' + std::to_string(end) +
            "]}";
    offset = end;
  }
  text += '}';
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');
  text.replace(before_checksums.size(), digits, checksum_of(text));
  std::string all;
  for (std::size_t byte = 0; byte < length_bytes; ++byte) all += static_cast<char>(text.size() >> (8 * byte) & 0xff);
  return all + text;
}

safetensors_header parse_header(std::string_view text, std::uint64_t data_bytes) {
  safetensors_header made;
  made.has_checksums = text.starts_with(before_checksums);
  if (made.has_checksums) made.checksums = checksums_in(text);
  std::vector<placed_tensor> tensors;
  json const all = parse_json(text);
  for (auto const& [name, value] : all.items()) {
    if (name != "__metadata__") {
      tensors.push_back(tensor_of(name, value));
      continue;
    }
    if (value.is_null()) continue;  // none
    if (!value.is_object()) throw header_fault{"has metadata that are not texts by their names"};
    for (auto const& [key, one] : value.items()) {
      if (!one.is_string()) throw header_fault{"has metadata that are not texts by their names"};
      if (key != checksums_key) made.metadata[key] = one.get<std::string>();
    }
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](placed_tensor const& one, placed_tensor const& other) {
    return std::tie(one.begin, one.end) < std::tie(other.begin, other.end);
  });
  std::uint64_t end = 0;
  for (placed_tensor& each : tensors) {
    if (each.begin != end) {
      throw header_fault{"has a tensor " + shown(each.info.name) + " that begins at byte " +
                         std::to_string(each.begin) + " of the data, where " + std::to_string(end) +
                         " is expected: data without gaps, each byte once"};
    }
    end = each.end;
    made.tensors.push_back(std::move(each.info));
  }
  if (end != data_bytes) {
    throw header_fault{std::string{end > data_bytes ? "is cut short" : "has more data than tensors"} + ": " +
                       std::to_string(data_bytes) + " bytes of data, where its header says " + std::to_string(end)};
  }
  if (made.has_checksums && made.checksums.size() != made.tensors.size())
    throw header_fault{"has another number of checksums than of tensors"};
  return made;
}

}  // namespace lull::detail
