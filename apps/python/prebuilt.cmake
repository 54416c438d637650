# SPDX-License-Identifier: Apache-2.0
# LULL_PREBUILT names a built liblull.so, from the root of the repository where it is relative. Sets `library`, and `program` where
# the same build or installation has one.
file(REAL_PATH "${LULL_PREBUILT}" library BASE_DIRECTORY ${root} EXPAND_TILDE)
if(NOT EXISTS ${library})
  message(FATAL_ERROR "LULL_PREBUILT=${LULL_PREBUILT}: there is no file ${library}")
endif()

# The package opens it as it will when it is installed: another file, another machine's or another ABI's is refused here.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(open "import sys
from lull import binding
try: binding.load()
except binding.Error as why: sys.exit(str(why))")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LULL_LIBRARY=${library} PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR} ${Python3_EXECUTABLE} -B -c "${open}"
  RESULT_VARIABLE refused
  ERROR_VARIABLE why)
if(refused)
  message(FATAL_ERROR "LULL_PREBUILT=${LULL_PREBUILT}: ${why}")
endif()

cmake_path(GET library PARENT_PATH folder)
set(program)
foreach(candidate IN ITEMS ${folder}/../bin/lull ${folder}/../../bin/lull)  # lib/, and lib/x86_64-linux-gnu/ or a build's apps/c/
  if(EXISTS ${candidate} AND NOT program)
    file(REAL_PATH ${candidate} program)
  endif()
endforeach()
if(NOT program)
  message(WARNING "LULL_PREBUILT=${LULL_PREBUILT}: no program lull lies beside it, so the package will have no command lull")
endif()
