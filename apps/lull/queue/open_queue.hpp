// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <lull/host/queue/store.hpp>

namespace lull {

/// Opens the queue that --queue names, or LULL_QUEUE in the environment where it is empty. Throws usage_error.
std::unique_ptr<queue::job_store> open_queue(std::string const& asked);
/// Returns the address of that queue. Throws usage_error if neither says one.
std::string queue_address(std::string const& asked);

}  // namespace lull
