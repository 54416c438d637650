# SPDX-License-Identifier: Apache-2.0
# Installs the build into a prefix of its own, then configures, builds and runs the project against it.
file(REMOVE_RECURSE ${WORK})
set(steps
    "${CMAKE_COMMAND}|--install|${LULL_BUILD}|--prefix|${WORK}/prefix"
    "${CMAKE_COMMAND}|-S|${PROJECT}|-B|${WORK}/build|-G|${GENERATOR}|-DCMAKE_PREFIX_PATH=${WORK}/prefix|-DCMAKE_CXX_COMPILER=${CXX}|-DCONSUMER_CUDA=${CONSUMER_CUDA}|-DCMAKE_CUDA_COMPILER=${NVCC}|-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES}"
    "${CMAKE_COMMAND}|--build|${WORK}/build"
    "${WORK}/build/consumer")
foreach(step IN LISTS steps)
  string(REPLACE "|" ";" command "${step}")
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
