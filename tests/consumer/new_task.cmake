# SPDX-License-Identifier: Apache-2.0
# Installs the build, has the installed program write a task, and does with it what its README says. Where this build has
# cuda the task gets code for GPUs, too, and its tests say NOT RUN of it without one. Then the mistakes that the chapter shows must
# be found by the contract suite, and a machine without GoogleTest must say what is missing.
file(REMOVE_RECURSE ${WORK})
set(task ${WORK}/word_count)
set(cuda)
if(NVCC)
  set(cuda "CUDACXX=${NVCC}|CUDAARCHS=${ARCHITECTURES}|")
endif()
set(steps
    "${CMAKE_COMMAND}|--install|${LULL_BUILD}|--prefix|${WORK}/prefix"
    "${WORK}/prefix/bin/lull|new|task|word_count|--in|${task}"
    "${CMAKE_COMMAND}|-E|env|--unset=LULL|--unset=LULL_REPORT|PREFIX=${WORK}/prefix|PYTHONPATH=${ROOT}/apps/python|PYTHONDONTWRITEBYTECODE=1|CMAKE_GENERATOR=${GENERATOR}|CXX=${CXX}|CXXFLAGS=-Wall -Wextra -Wpedantic -Werror|${cuda}${PYTHON}|${ROOT}/tests/consumer/readme.py|${task}"
)
foreach(step IN LISTS steps)
  string(REPLACE "|" ";" command "${step}")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The bench ends by itself after six seconds; a busy machine may take longer. It prints a line as soon as it has one: where the reader leaves after the first
# grain, the line of the second one finds nobody.
execute_process(COMMAND ${task}/build/word_count_bench threads TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${task}/build/word_count_bench threads 4 COMMAND head -n 3 RESULTS_VARIABLE codes OUTPUT_VARIABLE text)
list(GET codes 0 code)
if(code EQUAL 0 OR NOT text MATCHES "\n +1 .*\n")
  message(FATAL_ERROR "the bench holds its lines back until its end (${codes}):\n${text}")
endif()

function(expect_failure pattern)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE code
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
  if(code EQUAL 0 OR NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected a failure that says \"${pattern}\", got ${code}:\n${text}")
  endif()
endfunction()

file(READ ${task}/word_count_owner.hpp owner)
string(REPLACE "{lull::array_of(\"sums\", sums_)}" "{}" forgetful "${owner}")
file(WRITE ${task}/word_count_owner.hpp "${forgetful}")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${task}/build --target word_count_test COMMAND_ERROR_IS_FATAL ANY)
expect_failure("by several owners: 0.000000, expected 3.784464 .in this run the job went from owner to owner" ${CMAKE_CTEST_COMMAND}
               --test-dir ${task}/build --output-on-failure -R is_kept_by_teams_of_one)
file(WRITE ${task}/word_count_owner.hpp "${owner}")

file(READ ${task}/word_count.hpp functor)
string(REPLACE "team.sum(mine)" "mine" functor "${functor}")
file(WRITE ${task}/word_count.hpp "${functor}")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${task}/build COMMAND_ERROR_IS_FATAL ANY)
expect_failure("word_count, uninterrupted, grain 1: 13.628332, expected 3.784464" ${CMAKE_CTEST_COMMAND} --test-dir ${task}/build
               --output-on-failure -R is_kept_by_teams_of_four)
if(NVCC)  # what a GPU cannot call is an error there, not a warning and a task that does nothing
  string(REPLACE "LULL_HD std::uint64_t tiles" "std::uint64_t tiles" functor "${functor}")
  file(WRITE ${task}/word_count.hpp "${functor}")
  expect_failure("calling a __host__ function" ${CMAKE_COMMAND} --build ${task}/build)
endif()
expect_failure("component contract needs GoogleTest" ${CMAKE_COMMAND} -S ${task} -B ${WORK}/no_gtest -G ${GENERATOR}
               -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
