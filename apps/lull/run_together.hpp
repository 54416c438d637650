// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>

namespace lull {

/// `lull run` of several tasks: all are submitted to one runtime, which is given one long bubble after the other until
/// they are over. A task that fails ends alone. Errors: usage_error.
exit_code run_together(run_settings const& asked, std::vector<job_spec> const& tasks, std::ostream& out);

}  // namespace lull
