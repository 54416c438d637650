# SPDX-License-Identifier: Apache-2.0
# What CMake 3.25, Debian 12's, does not know of newer CUDA; later versions do. Included before CUDA's toolkit is looked for.

# nvcc speaks C++20 from 12.0 on.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()

# CUDA 13 has no nvToolsExt any more, and FindCUDAToolkit there fails without it. Nothing links it.
if(CMAKE_VERSION VERSION_LESS 3.26 AND LULL_CUDA_VERSION VERSION_GREATER_EQUAL 13 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED GLOBAL)
endif()
