// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Reads a job's document; its user is the owner, where the store knows one. Throws as `job_store::document`.
job_document owned_document(job_store& store, std::string const& id);

/// … of one that is not there, or cannot be read, which agents refuse, only the owner is known.
job_document readable_document(job_store& store, std::string const& id);

}  // namespace lull::queue
