// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/work_limits.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>

#include <sched.h>
#include <sys/resource.h>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>

namespace lull {
namespace {

[[noreturn]] void refuse(std::string const& cpus) {
  throw usage_error{"--cpus " + cpus + ": it must be numbers of CPUs that this process may use, such as 0-3,8"};
}

/// Takes a number from the front of the text.
int number(std::string_view& text, std::string const& all) {
  int found = -1;
  auto const end = std::from_chars(text.data(), text.data() + text.size(), found);
  if (end.ec != std::errc{} || found < 0 || found >= CPU_SETSIZE) refuse(all);
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return found;
}

}  // namespace

void use_cpus_only(std::string const& cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (std::string_view rest = cpus;; rest.remove_prefix(1)) {
    int const first = number(rest, cpus);
    int last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = number(rest, cpus);
    }
    if (last < first) refuse(cpus);
    for (int each = first; each <= last; ++each) CPU_SET(each, &wanted);
    if (rest.empty()) break;
    if (!rest.starts_with(',')) refuse(cpus);
  }
  cpu_set_t allowed;
  cpu_set_t both;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) refuse(cpus);
  CPU_AND(&both, &wanted, &allowed);
  if (CPU_EQUAL(&both, &wanted) == 0 || ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) refuse(cpus);
}

void limit_host_memory(std::string const& size) {
  std::uint64_t bytes = 0;
  try {
    bytes = parse_size(size);
  } catch (usage_error const& wrong) {
    throw usage_error{"--host-memory " + size + ": " + wrong.what()};
  }
  rlimit const limit{bytes, bytes};
  if (bytes == 0 || ::setrlimit(RLIMIT_DATA, &limit) != 0)
    throw usage_error{"--host-memory " + size + ": it must be above 0, and at most what this process may take now"};
}

}  // namespace lull
