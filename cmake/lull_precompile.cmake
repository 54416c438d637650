# SPDX-License-Identifier: Apache-2.0
# LULL_PRECOMPILE: the standard library's headers, which take more than half of a file's time, are compiled once for all
# libraries and once for the program. For a first build, as scripts/demo.sh makes it: without a compiler cache, which finds
# nothing again where they are used.
include_guard()

# lull_precompile(): for each target of the tree so far. One of each kind has the headers, the others use them.
function(lull_precompile)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  foreach(kind IN ITEMS library program)
    add_library(lull_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(lull_precompiled_${kind} PRIVATE lull_headers lull_warnings)
    target_precompile_headers(
      lull_precompiled_${kind}
      PRIVATE
      <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstring> <deque> <filesystem>
      <functional> <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string> <string_view> <system_error> <thread>
      <utility> <vector>)
  endforeach()
  set_target_properties(lull_precompiled_program PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(lull_precompiled_program PRIVATE -fPIE)
  lull_precompile_folder(${PROJECT_SOURCE_DIR})
endfunction()

function(lull_precompile_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(has ${target} PRECOMPILE_HEADERS)
    if(has)
      continue()
    elseif(type STREQUAL "STATIC_LIBRARY")
      target_precompile_headers(${target} REUSE_FROM lull_precompiled_library)
    elseif(type STREQUAL "EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM lull_precompiled_program)
    else()
      continue()
    endif()
    # g++ no longer knows that the standard library's lines are its own, and warns of them.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-w>)
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    lull_precompile_folder(${inner})
  endforeach()
endfunction()
