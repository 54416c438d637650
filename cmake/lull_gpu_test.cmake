# SPDX-License-Identifier: Apache-2.0
# Tests that need a GPU. CTest runs each that is registered here, and tests/run/gpu_tests.py all of them, from gpu_tests.json in the
# build's folder: it has the Python programs of a group in one process, and several groups on the device.
include_guard()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(lull_gpu_tests)  # what they need of the build
add_dependencies(lull_gpu_tests lull_c)

# lull_gpu_test(NAME cuda_runtime KIND gtest COMMAND program [argument …] [MATCHING pattern] [ENVIRONMENT NAME=value …]
#               [GROUP name] [LIMIT seconds] [PROCESSORS n] [BESIDE])
#
# KIND: gtest is a program of GoogleTest, whose tests are counted one by one; python a Python program, whose group
# gpu_tests.py chooses, or GROUP; program any other. Exit code 77 of it: not run.
# LIMIT: for one test (default 120 s). BESIDE: it compares results alone, so that others may use the device at the same time.
function(lull_gpu_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "BESIDE" "NAME;KIND;MATCHING;GROUP;LIMIT;PROCESSORS" "COMMAND;ENVIRONMENT")
  if(NOT arg_NAME OR NOT arg_COMMAND OR NOT arg_KIND MATCHES "^(gtest|python|program)$" OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_gpu_test: NAME, KIND or COMMAND is missing, or not known: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LIMIT)
    set(arg_LIMIT 120)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  if(arg_KIND STREQUAL "gtest")
    add_test(NAME ${arg_NAME} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/run/gpu_tests.py --brief --build ${PROJECT_BINARY_DIR}
                                      ${arg_NAME})
    set(limit 900)
  else()
    add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
    set(limit ${arg_LIMIT})
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS gpu TIMEOUT ${limit} PROCESSORS ${arg_PROCESSORS} SKIP_RETURN_CODE 77 RESOURCE_LOCK device
                                              ENVIRONMENT "${arg_ENVIRONMENT}")
  set(environment "")
  foreach(variable IN LISTS arg_ENVIRONMENT)
    string(REGEX REPLACE "^([^=]*)=(.*)$" "\"\\1\": \"\\2\"" variable "${variable}")
    list(APPEND environment "${variable}")
  endforeach()
  list(JOIN environment ", " environment)
  list(JOIN arg_COMMAND "\", \"" command)
  string(TOLOWER "${arg_BESIDE}" beside)
  set_property(
    GLOBAL APPEND_STRING
    PROPERTY
      LULL_GPU_TESTS
      "{\"name\": \"${arg_NAME}\", \"kind\": \"${arg_KIND}\", \"command\": [\"${command}\"], \"environment\": {${environment}}, \"matching\": \"${arg_MATCHING}\", \"group\": \"${arg_GROUP}\", \"limit\": ${arg_LIMIT}, \"beside\": ${beside}},\n"
  )
endfunction()

# Called once, after all of them.
function(lull_write_gpu_tests)
  get_property(tests GLOBAL PROPERTY LULL_GPU_TESTS)
  string(REGEX REPLACE ",\n$" "" tests "${tests}")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gpu_tests.json
       CONTENT "{\"source\": \"${PROJECT_SOURCE_DIR}\", \"build\": \"${PROJECT_BINARY_DIR}\", \"python\": \"${Python3_EXECUTABLE}\", \"tests\": [\n${tests}\n]}\n")
endfunction()
