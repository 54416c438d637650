# SPDX-License-Identifier: Apache-2.0
include_guard()
include(${CMAKE_CURRENT_LIST_DIR}/lull_cmake_3_25.cmake)

# lull_tensor_cores(my_library)
#
# Code of the target for compute capability 9.0 may use what only that one has (sm_90a): side tasks with large products need it.
function(lull_tensor_cores target)
  if(LULL_CUDA_ENABLED)
    list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90(-real)?$" "90a" OUTPUT_VARIABLE architectures)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
  endif()
endfunction()

# lull_side_task(my_library HEADER <lull/graph/pagerank.hpp> … TYPE lull::pagerank)
#
# Makes a side task known to both executors: adds to the target one generated source for the threads executor and one
# for cuda, each of which instantiates the worker for TYPE (a functor that HEADER defines). Without nvcc the cuda one
# holds an empty worker, so that the program links and says at run time that the task has no device code.
# Works in the tree and, after find_package(lull), in a project of yours (enable CUDA there if the task is to run on it).
function(lull_side_task target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TYPE" "HEADER")
  if(NOT arg_TYPE OR NOT arg_HEADER OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_side_task(TARGET HEADER <header> TYPE type): got ${ARGV}")
  endif()
  set(LULL_SIDE_TASK_TYPE ${arg_TYPE})
  list(TRANSFORM arg_HEADER REPLACE "^(.+)$" "#include \\1")
  list(JOIN arg_HEADER "\n" LULL_SIDE_TASK_INCLUDES)
  string(REPLACE "::" "_" stem ${arg_TYPE})
  string(MAKE_C_IDENTIFIER ${stem} stem)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/side_tasks/${target})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(LULL_CUDA_ENABLED AND CUDA IN_LIST languages)
    set(cuda_template side_task_cuda.cu.in)
    set(cuda_source ${folder}/${stem}_cuda.cu)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
    # --no-compress: a test reads the PTX. A member without LULL_HD is only warned of, and what calls it on a GPU does nothing.
    set_source_files_properties(${cuda_source} PROPERTIES COMPILE_OPTIONS "--no-compress;-Werror=cross-execution-space-call")
  else()
    set(cuda_template side_task_no_cuda.cpp.in)
    set(cuda_source ${folder}/${stem}_no_cuda.cpp)
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/side_task_threads.cpp.in ${folder}/${stem}_threads.cpp @ONLY)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${cuda_template} ${cuda_source} @ONLY)
  target_sources(${target} PRIVATE ${folder}/${stem}_threads.cpp ${cuda_source})
endfunction()
