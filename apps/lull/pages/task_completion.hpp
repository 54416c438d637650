// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// Returns what the value of a --task that begins so may go on as, each from its beginning: a task, an option, a
/// choice, a default, or a file, of which at most 1,000 are listed; or the path of a library. Nothing where none is
/// known.
std::vector<std::string> task_completions(std::string_view begun);

}  // namespace lull
