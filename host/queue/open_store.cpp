// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/open_store.hpp>

#include <string_view>

#include <lull/host/error.hpp>
#include <lull/host/queue/spool.hpp>

namespace lull::queue {

namespace {

constexpr std::string_view spool_scheme = "spool:";

bool is_postgres(std::string const& address) {
  return address.starts_with("postgresql://") || address.starts_with("postgres://");
}

std::filesystem::path spool_path(std::string const& address) {
  // What comes after the scheme may hold a password.
  if (!address.starts_with(spool_scheme) || address.size() == spool_scheme.size())
    throw usage_error{"\"" + address.substr(0, address.find(':')) +
                      ":\" is no queue's address: it must be spool:PATH, a folder of this user's alone, or "
                      "postgresql://USER@HOST/DATABASE"};
  return std::filesystem::absolute(address.substr(spool_scheme.size())).lexically_normal();
}

}  // namespace

std::unique_ptr<job_store> open_store(std::string const& address) {
  if (is_postgres(address)) return detail::open_postgres(address);
  return std::make_unique<spool>(spool_path(address));
}

void make_store(std::string const& address, new_queue const& with) {
  if (is_postgres(address)) return detail::make_postgres(address, with);
  if (!with.folder.empty()) throw usage_error{"--folder is for postgresql://: a spool is a folder itself"};
  spool::make(spool_path(address), with.lease);
}

std::optional<std::filesystem::path> spool_folder(std::string const& address) {
  if (is_postgres(address)) return std::nullopt;
  return spool_path(address);
}

std::string shown_address(std::string const& address) {
  if (is_postgres(address)) return detail::shown_postgres(address);
  return std::string{spool_scheme} + spool_path(address).string();
}

}  // namespace lull::queue
