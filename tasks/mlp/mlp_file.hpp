// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace lull {

/// A trained perceptron.
struct mlp_file {
  std::vector<layer_values> layers;
  float scale = 1;  // of features
};

/// An .npz: `scale` f4 (1,), and for each layer `weights0` f4 (inputs, outputs) and `bias0` f4 (outputs,), counted from
/// 0. Written whole or not at all. Errors: those of npz_writer.
void write_mlp(std::filesystem::path const& path, mlp_file const& model);

/// Throws input_error for a file that is no such model: another kind, damaged, layers that do not fit one another.
mlp_file read_mlp(std::string const& path);

}  // namespace lull
