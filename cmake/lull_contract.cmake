# SPDX-License-Identifier: Apache-2.0
include_guard()
include(${CMAKE_CURRENT_LIST_DIR}/lull_side_task.cmake)

# lull_contract(my_test HEADER <my_task.hpp> … TYPE my_task)
#
# Lets a side task join the contract suite in this target, whose source says lull::join_contract<my_task>(…): adds the workers
# of the task that closes its own bubbles, and links the suite. The task itself has its lull_side_task(), here or in a library
# that the target links. In the tree and, after find_package(lull COMPONENTS contract), in a project of yours.
function(lull_contract target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TYPE" "HEADER")
  if(NOT arg_TYPE OR NOT arg_HEADER OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_contract(TARGET HEADER <header> TYPE type): got ${ARGV}")
  endif()
  if(NOT TARGET GTest::gtest)
    message(FATAL_ERROR "lull_contract: there is no GoogleTest: ask for it by find_package(lull REQUIRED COMPONENTS contract)")
  endif()
  lull_side_task(${target} HEADER <lull/host/contract/preempted.hpp> ${arg_HEADER} TYPE lull::preempted<${arg_TYPE}>)
  target_link_libraries(${target} PRIVATE lull::contract GTest::gtest)
endfunction()
