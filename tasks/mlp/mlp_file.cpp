// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/mlp_file.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <lull/host/error.hpp>
#include <lull/host/io/safetensors_reader.hpp>
#include <lull/host/io/safetensors_writer.hpp>

namespace lull {

namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 34;
constexpr char const* advice =
    "; train the perceptron again. An .npz that Lull wrote becomes such a file in Python: "
    "safetensors.numpy.save_file(dict(numpy.load(\"old.npz\")), \"new.safetensors\")";

constexpr char const* classes_key = "lull.classes";
constexpr char const* columns_key = "lull.columns";
constexpr char const* label_key = "lull.label";
constexpr char const* place_key = "lull.label_column";

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char byte) { return byte == '\n' || byte == '\r' || byte == '\t'; }, ' ');
  return text;
}

std::string joined(std::vector<std::string> const& names) {
  std::string lines;
  for (std::string const& each : names) lines += one_line(each) + "\n";
  return lines;
}

/// The lines of a metadata entry, of which there are `count`; empty where there is no such entry.
std::vector<std::string> read_names(safetensors_reader const& file, char const* key, std::uint64_t count) {
  std::vector<std::string> names;
  auto const found = file.metadata().find(key);
  if (found == file.metadata().end()) return names;
  std::string_view left = found->second;
  for (; !left.empty(); left.remove_prefix(std::min(left.find('\n') + 1, left.size())))
    names.emplace_back(left.substr(0, left.find('\n')));
  if (names.size() != count || !found->second.ends_with('\n'))
    throw input_error(file.path(), 0,
                      std::string{"its "} + key + " are not as many as its layers have: train the perceptron again");
  return names;
}

std::string numbered(char const* name, std::size_t layer) { return name + std::to_string(layer); }

std::vector<float> read_array(safetensors_reader const& file, std::string const& name,
                              std::vector<std::uint64_t> const& shape) {
  tensor_info const* const found = file.find(name);
  tensor_info const wanted{name, tensor_type::f32, shape};
  if (found == nullptr) throw input_error(file.path(), 0, "is no perceptron of Lull's: it holds no " + name);
  if (*found != wanted) {
    throw input_error(file.path(), 0,
                      name + " is " + format_shape(*found) + ", and " + format_shape(wanted) + " is needed");
  }
  std::vector<float> values(found->bytes() / sizeof(float));
  file.read_into(name, std::as_writable_bytes(std::span{values}));
  if (!std::all_of(values.begin(), values.end(), [](float each) { return std::isfinite(each); })) {
    throw input_error(file.path(), 0, name + " holds what is no number: train the perceptron again, or mend the file");
  }
  return values;
}

}  // namespace

void write_mlp(std::filesystem::path const& path, mlp_file const& model) {
  std::vector<tensor_view> tensors;
  auto const add = [&](std::string const& name, std::vector<std::uint64_t> shape, std::span<float const> values) {
    tensors.push_back({{name, tensor_type::f32, std::move(shape)}, std::as_bytes(values)});
  };
  add("scale", {1}, {&model.scale, 1});
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    layer_values const& layer = model.layers[l];
    add(numbered("weights", l), {layer.inputs, layer.outputs}, layer.weights);
    add(numbered("bias", l), {layer.outputs}, layer.bias);
  }
  if (!model.columns.shift.empty()) {
    add("column_shift", {model.columns.shift.size()}, model.columns.shift);
    add("column_factor", {model.columns.factor.size()}, model.columns.factor);
  }
  safetensors_metadata metadata;
  if (!model.names.classes.empty()) metadata[classes_key] = joined(model.names.classes);
  if (!model.names.values.empty()) metadata[columns_key] = joined(model.names.values);
  if (!model.names.label.empty()) metadata[label_key] = one_line(model.names.label);
  if (model.names.label_place != 0) metadata[place_key] = std::to_string(model.names.label_place);
  write_safetensors(path, tensors, metadata);
}

mlp_file read_mlp(std::string const& path) {
  safetensors_reader const file{path, max_bytes, advice};
  mlp_file made;
  made.scale = read_array(file, "scale", {1}).front();
  bool const scaled = file.find("column_shift") != nullptr;
  std::size_t const others = scaled ? 3 : 1;
  std::uint64_t const layers = file.tensors().size() < others ? 0 : (file.tensors().size() - others) / 2;
  if (layers < 1 || layers > mlp_model::max_layers || file.tensors().size() != others + 2 * layers) {
    throw input_error(path, 0,
                      "is no perceptron of Lull's: it holds " + std::to_string(file.tensors().size()) + " tensors");
  }
  for (std::uint64_t l = 0; l < layers; ++l) {
    tensor_info const* const weights = file.find(numbered("weights", l));
    if (weights == nullptr || weights->shape.size() != 2)
      throw input_error(path, 0, "is no perceptron of Lull's: " + numbered("weights", l) + " is missing or no matrix");
    std::uint64_t const inputs = made.layers.empty() ? weights->shape[0] : made.layers.back().outputs;
    std::uint64_t const outputs = weights->shape[1];
    if (inputs == 0 || outputs == 0 || inputs > 0xffff'ffff || outputs > 0xffff'ffff)
      throw input_error(path, 0, numbered("weights", l) + " has an impossible size");
    made.layers.push_back({static_cast<std::uint32_t>(inputs), static_cast<std::uint32_t>(outputs),
                           read_array(file, numbered("weights", l), {inputs, outputs}),
                           read_array(file, numbered("bias", l), {outputs})});
  }
  if (scaled) {
    std::vector<std::uint64_t> const shape{made.layers.front().inputs};
    made.columns = {read_array(file, "column_shift", shape), read_array(file, "column_factor", shape)};
  }
  made.names.classes = read_names(file, classes_key, made.layers.back().outputs);
  made.names.values = read_names(file, columns_key, made.layers.front().inputs);
  if (auto const label = file.metadata().find(label_key); label != file.metadata().end())
    made.names.label = label->second;
  if (auto const place = file.metadata().find(place_key); place != file.metadata().end()) {
    std::string const& digits = place->second;
    auto const [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), made.names.label_place);
    if (code != std::errc{} || end != digits.data() + digits.size())
      throw input_error(path, 0, std::string{"its "} + place_key + " is no number: train the perceptron again");
  }
  return made;
}

}  // namespace lull
