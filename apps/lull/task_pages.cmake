# SPDX-License-Identifier: Apache-2.0
# Embeds the files of FOLDER into a source: lull_task_pages(SOURCE FOLDER file …).
function(lull_task_pages source folder)
  set(rows)
  foreach(name IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
    file(READ ${folder}/${name} text)
    string(APPEND rows "    {\"${name}\", R\"pages(${text})pages\"},\n")
  endforeach()
  file(
    CONFIGURE
    OUTPUT ${source}
    CONTENT [=[// Generated from docs/examples/new_task/.
#include <lull/apps/lull/new_task.hpp>

namespace lull {

std::span<task_page const> task_pages() {
  static constexpr task_page pages[] = {
@rows@  };
  return pages;
}

}  // namespace lull
]=]
    @ONLY)
endfunction()
