// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/owned_document.hpp>

#include <utility>

#include <lull/host/error.hpp>

namespace lull::queue {

namespace {

job_document with_owner(job_document found, job_store& store, std::string const& id) {
  if (auto owner = store.owner(id)) found.user = std::move(*owner);
  return found;
}

}  // namespace

job_document owned_document(job_store& store, std::string const& id) {
  return with_owner(store.document(id), store, id);
}

job_document readable_document(job_store& store, std::string const& id) {
  try {
    return owned_document(store, id);
  } catch (input_error const&) {
  } catch (usage_error const&) {
  }
  return with_owner({}, store, id);
}

}  // namespace lull::queue
