// SPDX-License-Identifier: Apache-2.0
#include <lull/host/attach/expendable.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace lull::attach {

namespace {

constexpr std::string_view first_to_go = "1000";
constexpr int yields = 10;

}  // namespace

void become_expendable() noexcept {
  if (int const file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    static_cast<void>(::write(file, first_to_go.data(), first_to_go.size()) < 0);
    ::close(file);
  }
  errno = 0;
  int const now = ::getpriority(PRIO_PROCESS, 0);
  if (errno == 0) ::setpriority(PRIO_PROCESS, 0, std::max(now, yields));
}

}  // namespace lull::attach
