# SPDX-License-Identifier: Apache-2.0
# LULL_PRECOMPILE: the standard library's headers, which take more than half of a file's time, are compiled once for all
# libraries, once for the program, and with GoogleTest's once for all tests. For a first build, as scripts/demo.sh makes it,
# and for builds under a sanitizer. With g++ warnings are off: it no longer knows that the standard library's lines are its own,
# and warns of them.
include_guard()

# lull_precompiled(KIND [LIBRARY TARGET HEADER …]): target lull_precompiled_KIND, whose headers others use.
function(lull_precompiled kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBRARY" "HEADERS")
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  add_library(lull_precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(lull_precompiled_${kind} PRIVATE lull_headers lull_warnings ${arg_LIBRARY})
  target_precompile_headers(
    lull_precompiled_${kind}
    PRIVATE
    <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstring> <deque> <filesystem>
    <functional> <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string> <string_view> <system_error> <thread>
    <utility> <vector> ${arg_HEADERS})
  if(NOT kind STREQUAL "library")
    set_target_properties(lull_precompiled_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(lull_precompiled_${kind} PRIVATE -fPIE)
  endif()
endfunction()

# lull_use_precompiled(TARGET KIND)
function(lull_use_precompiled target kind)
  target_precompile_headers(${target} REUSE_FROM lull_precompiled_${kind})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-w>)
endfunction()

# lull_precompile(): for each target of the tree so far.
function(lull_precompile)
  lull_precompiled(library)
  lull_precompiled(program)
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
      lull_use_precompiled(${target} library)
    elseif(type STREQUAL "EXECUTABLE")
      lull_use_precompiled(${target} program)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    lull_precompile_folder(${inner})
  endforeach()
endfunction()
