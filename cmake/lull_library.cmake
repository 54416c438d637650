# SPDX-License-Identifier: Apache-2.0
include_guard()

# lull_library(NAME graph [SOURCES load.cpp …] [CUDA_SOURCES sort.cu …] [PUBLIC lull::runtime …] [PRIVATE ZLIB::ZLIB …])
#
# A library of the tree: target lull_graph, known as lull::graph here and in the installed package. With SOURCES or
# CUDA_SOURCES it is static, without any it is headers only. CUDA_SOURCES are left out where there is no nvcc.
# The include path, C++20 and (for our own compilation only) the warnings come with it.
function(lull_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;CUDA_SOURCES;PUBLIC;PRIVATE")
  if(NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lull_library: NAME is missing, or not known: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target lull_${arg_NAME})
  set(sources ${arg_SOURCES})
  if(LULL_CUDA_ENABLED)
    list(APPEND sources ${arg_CUDA_SOURCES})
  endif()
  if(arg_SOURCES OR arg_CUDA_SOURCES)
    add_library(${target} STATIC ${sources})
    target_link_libraries(
      ${target}
      PUBLIC lull_headers ${arg_PUBLIC}
      PRIVATE $<BUILD_INTERFACE:lull_warnings> ${arg_PRIVATE})
    if(NOT arg_NAME STREQUAL "contract")  # that is for tests
      set_property(GLOBAL APPEND PROPERTY LULL_TRAINERS_LIBRARIES ${target})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE lull_headers ${arg_PUBLIC})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  add_library(lull::${arg_NAME} ALIAS ${target})
  install(TARGETS ${target} EXPORT lullTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# lull_everything(): target lull::lull, all that a trainer links: the runtime, its executors and the shipped side tasks. And the
# packages lull, for the C library, and lull-cpp, for the static ones, of which a linker needs some twice.
function(lull_everything)
  get_property(libraries GLOBAL PROPERTY LULL_TRAINERS_LIBRARIES)
  list(APPEND libraries lull_tasks)
  add_library(lull_everything INTERFACE)
  target_link_libraries(lull_everything INTERFACE ${libraries})
  set_target_properties(lull_everything PROPERTIES EXPORT_NAME lull)
  add_library(lull::lull ALIAS lull_everything)
  install(TARGETS lull_everything EXPORT lullTargets)

  list(JOIN libraries " -l" archives)
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(more "-lpthread")
  if(LULL_CUDA_ENABLED)
    set(more "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
    set(cuda_flags " -isystem ${CUDAToolkit_INCLUDE_DIRS}")
  endif()
  foreach(name IN ITEMS lull lull-cpp)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endfunction()

# Installs the headers, the program, the licences, the targets named so far and the package files. Called once, last.
function(lull_install)
  set(headers ${CMAKE_INSTALL_INCLUDEDIR}/lull)
  foreach(folder IN ITEMS device host graph tasks)
    install(
      DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
      DESTINATION ${headers}
      FILES_MATCHING
      PATTERN "*.h"
      PATTERN "*.hpp"
      PATTERN "*.cuh"
      PATTERN detail EXCLUDE
      PATTERN measure EXCLUDE)
  endforeach()
  if(LULL_PROGRAM)
    install(TARGETS lull RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
  install(FILES ${PROJECT_SOURCE_DIR}/data/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/lull)

  lull_everything()

  include(CMakePackageConfigHelpers)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lull)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lullConfig.cmake.in ${PROJECT_BINARY_DIR}/lullConfig.cmake
                                INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lullSameMinorVersion.cmake COMPATIBILITY SameMinorVersion)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lullConfigVersion.cmake.in ${PROJECT_BINARY_DIR}/lullConfigVersion.cmake @ONLY)
  install(EXPORT lullTargets NAMESPACE lull:: DESTINATION ${package})
  install(FILES ${PROJECT_BINARY_DIR}/lullConfig.cmake ${PROJECT_BINARY_DIR}/lullConfigVersion.cmake
                ${PROJECT_BINARY_DIR}/lullSameMinorVersion.cmake ${PROJECT_SOURCE_DIR}/cmake/lull_contract.cmake ${PROJECT_SOURCE_DIR}/cmake/lull_side_task.cmake
                ${PROJECT_SOURCE_DIR}/cmake/lull_task_library.cmake
                ${PROJECT_SOURCE_DIR}/cmake/lull_cmake_3_25.cmake
                ${PROJECT_SOURCE_DIR}/cmake/side_task_threads.cpp.in ${PROJECT_SOURCE_DIR}/cmake/side_task_cuda.cu.in
                ${PROJECT_SOURCE_DIR}/cmake/side_task_no_cuda.cpp.in
          DESTINATION ${package})
endfunction()
