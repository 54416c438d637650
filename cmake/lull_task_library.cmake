# SPDX-License-Identifier: Apache-2.0
include_guard()

# lull_task_library(my_task SOURCES my_task_library.cpp … [LINK my_worker …])
#
# A shared library of side tasks, libmy_task.so, for `lull run --task ./libmy_task.so:my_task`, Python, C and job files. One of its
# sources says LULL_SIDE_TASKS(…); LINK has the libraries with the workers, built with POSITION_INDEPENDENT_CODE. It shows that one
# symbol: what it carries of Lull meets no other copy in the process. With g++, what nothing defines is an error of the linker.
# In the tree and, after find_package(lull), in a project of yours.
function(lull_task_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_task_library(TARGET SOURCES source … [LINK library …]): got ${ARGV}")
  endif()
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/side_tasks/${target}.map)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: lull_side_tasks; local: *; };\n")
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE lull::headers lull::options lull::runtime ${arg_LINK})
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports} $<$<CXX_COMPILER_ID:GNU>:LINKER:-z,defs>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
