# SPDX-License-Identifier: Apache-2.0
# What every target of the tree shares: where compilers are found, which standard, which warnings, and the include
# path. Sets LULL_CUDA_ENABLED for the folders below.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the static libraries end up in the C library and in Python modules
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(LULL_CCACHE ccache)
mark_as_advanced(LULL_CCACHE)
if(LULL_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT LULL_PRECOMPILE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LULL_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${LULL_CCACHE})
endif()

find_package(Threads REQUIRED)

# CUDA. Only the machine that runs the programs needs a driver: nothing here links -lcuda (driver calls go through
# entry points asked of the runtime), and the runtime is linked statically. What is installed links no other library of
# CUDA's either: the program opens cuBLAS when a replay needs it; structure.needed tests that.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
set(LULL_CUDA_ENABLED OFF)
if(LULL_CUDA)  # AUTO is true, too
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(LULL_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(LULL_NVCC)
    if(LULL_NVCC)
      set(CMAKE_CUDA_COMPILER ${LULL_NVCC} CACHE FILEPATH "CUDA compiler")
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(LULL_CUDA_ENABLED ON)
  elseif(NOT LULL_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "LULL_CUDA=${LULL_CUDA}, but no working nvcc was found: put it on PATH, set CUDACXX, or "
                        "configure with -DLULL_CUDA=OFF for the threads executor alone")
  endif()
endif()
if(LULL_CUDA_ENABLED)
  enable_language(CUDA)
  set(LULL_CUDA_VERSION ${CMAKE_CUDA_COMPILER_VERSION})
  include(lull_cmake_3_25)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  find_package(CUDAToolkit REQUIRED)
endif()
message(STATUS "lull: cuda executor ${LULL_CUDA_ENABLED} (LULL_CUDA=${LULL_CUDA})")

# Sanitizers see the whole tree or nothing, hence directory-wide flags.
if(LULL_SANITIZE)
  if(LULL_CUDA_ENABLED)
    message(FATAL_ERROR "LULL_SANITIZE is for the host side: configure with -DLULL_CUDA=OFF")
  endif()
  set(sanitizer_thread thread)
  set(sanitizer_address address,undefined)
  if(NOT DEFINED sanitizer_${LULL_SANITIZE})
    message(FATAL_ERROR "LULL_SANITIZE=${LULL_SANITIZE}: thread and address are known")
  endif()
  add_compile_options(-fsanitize=${sanitizer_${LULL_SANITIZE}} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer_${LULL_SANITIZE}})
  # clang's runtime for C lacks what the C++ in our C library wants
  add_link_options($<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime>)
  link_libraries($<$<LINK_LANG_AND_ID:C,Clang>:stdc++>)
endif()

# libFuzzer follows which code an input reaches, in the libraries too.
if(LULL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT LULL_SANITIZE STREQUAL "address")
    message(FATAL_ERROR "LULL_FUZZ needs clang and LULL_SANITIZE=address, as the preset fuzz has them")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Includes are spelled <lull/host/runtime.hpp> in the tree and installed alike.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/lull SYMBOLIC)
add_library(lull_headers INTERFACE)
add_library(lull::headers ALIAS lull_headers)
set_target_properties(lull_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(lull_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(lull_headers INTERFACE cxx_std_20)
install(TARGETS lull_headers EXPORT lullTargets)

# For our own code only, so never exported: link it as $<BUILD_INTERFACE:lull_warnings>.
# -Wpedantic stays away from nvcc: the line directives of its generated host code are an extension.
# g++ 12 sees an overlapping copy in `"text" + std::string{}` (its bug 105651).
set(quiet $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
add_library(lull_warnings INTERFACE)
target_compile_options(
  lull_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Werror;${quiet}>
                          $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror,-Wno-restrict;-Werror=all-warnings>)
