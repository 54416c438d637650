# SPDX-License-Identifier: Apache-2.0
include_guard()
include(GoogleTest)
include(lull_gpu_test)
find_package(GTest REQUIRED)

# What tests test is optimised. Optimising the many checks of a test takes a compiler longer than all else in its file.
set(lull_test_options "")
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(lull_test_options $<$<COMPILE_LANGUAGE:CXX>:-O0>)
endif()

if(NOT LULL_SANITIZE)
  add_library(lull_one_thread OBJECT ${PROJECT_SOURCE_DIR}/tests/support/one_thread.cpp)
  target_link_libraries(lull_one_thread PRIVATE lull_warnings)
endif()

if(LULL_PRECOMPILE)
  include(lull_precompile)
  lull_precompiled(test LIBRARY GTest::gtest HEADERS <gtest/gtest.h>)
  target_compile_options(lull_precompiled_test PRIVATE ${lull_test_options})
endif()

# lull_test(NAME graph_load SOURCES load_test.cpp … [LINK lull::graph …] [LABELS gpu …] [TIMEOUT seconds]
#           [PROCESSORS n] [ALONE] [FILTER pattern] [BESIDE] [ONE_THREAD] [RESULTS pattern …])
#
# A GoogleTest executable (target graph_load_test); CTest runs each of its tests, as graph_load.Suite.Case, in a
# process of its own. Where nothing is said each of them runs under ThreadSanitizer and AddressSanitizer, too.
# ONE_THREAD: no process of it makes a thread. ThreadSanitizer, which would have nothing to watch, does not build it; in
# other builds one that makes a thread fails (tests/support/one_thread.cpp).
# RESULTS: those of its tests that compare results alone, on larger or on more inputs than other tests, which run the same
# code. They are labelled `results` and not `host`, and no sanitizer runs them.
# LABELS: `host` by default; `simulated` by default where NAME ends in _simulated; `gpu` for tests that need a device: those
# of one executable share a process (lull_gpu_test.cmake), since to make one with a device takes seconds.
# GPU tests skip themselves (GTEST_SKIP) where no device answers, and are counted as not run. Where there is no nvcc
# they cannot be built: one line that is counted as not run stands for them, except under LULL_CUDA=OFF, where they were
# not asked for.
# Under a sanitizer only tests labelled `host` are built. The simulated world switches stacks itself, on one thread: a
# sanitizer would see no races there, and ThreadSanitizer keeps state for every stack it ever saw, gigabytes in the end.
# TIMEOUT: a limit for one test against hangs (default 300 s), never a measurement.
# FILTER: those of the executable's tests that are meant, as --gtest_filter has it (default all).
# BESIDE: a GPU test that compares results alone, so that others may use the device at the same time.
# PROCESSORS: how many it keeps busy (default 1), so that CTest does not start others beside it for which no core is left.
# ALONE: it tells moments apart, so that CTest starts none beside it.
function(lull_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "ALONE;BESIDE;ONE_THREAD" "NAME;TIMEOUT;PROCESSORS;FILTER" "SOURCES;LINK;LABELS;RESULTS")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_test: NAME or SOURCES is missing, or not known: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABELS AND arg_NAME MATCHES "_simulated$")
    set(arg_LABELS simulated)
  elseif(NOT arg_LABELS)
    set(arg_LABELS host)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  if(gpu IN_LIST arg_LABELS AND NOT LULL_CUDA_ENABLED)
    if(LULL_CUDA)
      add_test(NAME ${arg_NAME} COMMAND ${CMAKE_COMMAND} -E echo "not run: there is no nvcc to build it with")
      set_tests_properties(${arg_NAME} PROPERTIES SKIP_REGULAR_EXPRESSION "not run:" LABELS "${arg_LABELS}")
    endif()
    return()
  endif()
  if(LULL_SANITIZE AND NOT host IN_LIST arg_LABELS)
    return()
  endif()
  if(arg_ONE_THREAD)
    if(LULL_SANITIZE STREQUAL "thread")  # the lines after it may speak of the target
      add_executable(${arg_NAME}_test EXCLUDE_FROM_ALL ${arg_SOURCES})
      return()
    elseif(NOT LULL_SANITIZE)
      list(APPEND arg_LINK lull_one_thread)
    endif()
  endif()

  set(target ${arg_NAME}_test)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE lull_headers lull_warnings ${arg_LINK} GTest::gtest_main Threads::Threads)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  if(LULL_PRECOMPILE)
    lull_use_precompiled(${target} test)
  endif()
  if(NOT simulated IN_LIST arg_LABELS)  # the simulated world is in the tests' own files, and runs for minutes
    target_compile_options(${target} PRIVATE ${lull_test_options})
  endif()
  if(gpu IN_LIST arg_LABELS)
    set(beside "")
    if(arg_BESIDE)
      set(beside BESIDE)
    endif()
    lull_gpu_test(NAME ${arg_NAME} KIND gtest COMMAND $<TARGET_FILE:${target}> MATCHING "${arg_FILTER}" ${beside})
    add_dependencies(lull_gpu_tests ${target})
    return()
  endif()
  set(discovery TEST_PREFIX ${arg_NAME}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  set(properties TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS} RUN_SERIAL ${arg_ALONE})
  if(arg_RESULTS)
    list(JOIN arg_RESULTS ":" results)
    if(NOT LULL_SANITIZE)
      gtest_discover_tests(${target} ${discovery} TEST_FILTER "${results}" TEST_LIST ${target}_results PROPERTIES LABELS results ${properties})
    endif()
    string(APPEND arg_FILTER "-${results}")
  endif()
  gtest_discover_tests(${target} ${discovery} TEST_FILTER "${arg_FILTER}" PROPERTIES LABELS "${arg_LABELS}" ${properties})
endfunction()
