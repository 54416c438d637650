// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <lull/tasks/mlp/column_scaling.hpp>
#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace lull {

/// A trained perceptron.
struct mlp_file {
  std::vector<layer_values> layers;
  float scale = 1;           // of features
  column_scaling columns{};  // before that; empty: none
  table_names names{};       // classes without are numbers, columns without are told by their order
};

/// Writes a safetensors file: `scale` F32 (1,), and for each layer `weights0` F32 (inputs, outputs) and `bias0` F32
/// (outputs,), counted from 0. Where columns were scaled, `column_shift` and `column_factor` F32 (inputs,). Names of
/// classes are the metadata `lull.classes`, a line each, and names of columns `lull.columns`, that of the label
/// `lull.label`; `lull.label_column` is the place of the label's column, from 1. The file appears whole or not at all.
/// Errors: those of write_safetensors.
void write_mlp(std::filesystem::path const& path, mlp_file const& model);

/// Reads such a file, of Lull or of another program. Throws input_error for a file that is no such model: another kind,
/// damaged, or with layers that do not fit together.
mlp_file read_mlp(std::string const& path);

}  // namespace lull
