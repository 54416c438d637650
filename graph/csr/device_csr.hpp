// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/machine_csr.hpp>

namespace lull::detail {

/// What the functions of the same names do where the machine is a GPU; contracts there. A build without nvcc has them,
/// too, and they say why they cannot work.
machine_csr transpose_on_device(executor& executor, machine_csr const& graph, stream_handle stream);
device_array<std::uint64_t> out_degrees_on_device(executor& executor, machine_csr const& graph, stream_handle stream);
device_array<std::uint64_t> in_degrees_on_device(executor& executor, machine_csr const& graph, stream_handle stream);

}  // namespace lull::detail
