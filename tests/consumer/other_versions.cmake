# SPDX-License-Identifier: Apache-2.0
# A project that asks for an older version, or a newer one, is refused, and the error says what to do.
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES NONE)\n"
                                  "find_package(lull \${asked} CONFIG REQUIRED)\n")

function(expect_refusal asked pattern)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/build -G ${GENERATOR} -Dlull_DIR=${LULL_BUILD} -Dasked=${asked}
    RESULT_VARIABLE code
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(code EQUAL 0 OR NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "lull ${asked}: expected a refusal that says \"${pattern}\", got ${code}:\n${text}")
  endif()
endfunction()

string(REGEX MATCH "^[0-9]+[.][0-9]+" minor "${VERSION}")
set(changed "and ${minor} changed names, options and files: follow its CHANGELOG.md, then ask for ${minor}")
expect_refusal(0.1 "version: ${VERSION}: this project asks for 0.1, ${changed}")
expect_refusal(0.1.5 "version: ${VERSION}: this project asks for 0.1.5, ${changed}")
expect_refusal(99.3 "version: ${VERSION}: this project asks for 99.3: install that version of Lull")

# Where a version fits, or none is asked for, nothing is added to it.
foreach(PACKAGE_FIND_VERSION IN ITEMS "" ${minor} ${VERSION})
  string(REGEX MATCHALL "[0-9]+" parts "${PACKAGE_FIND_VERSION}")
  list(LENGTH parts PACKAGE_FIND_VERSION_COUNT)
  list(APPEND parts 0 0)
  list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)
  list(GET parts 1 PACKAGE_FIND_VERSION_MINOR)
  include(${LULL_BUILD}/lullConfigVersion.cmake)
  if(NOT PACKAGE_VERSION STREQUAL VERSION)
    message(FATAL_ERROR "asked for '${PACKAGE_FIND_VERSION}', the package says version '${PACKAGE_VERSION}'")
  endif()
endforeach()
