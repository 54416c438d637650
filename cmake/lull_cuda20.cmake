# SPDX-License-Identifier: Apache-2.0
# CMake 3.25 does not know that nvcc speaks C++20 (nvcc 12.0 and later do); later versions of CMake do.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
