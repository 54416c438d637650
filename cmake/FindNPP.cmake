# SPDX-License-Identifier: Apache-2.0
# find_package(NPP): target NPP::images, with NPP's resizing and composing. Looked for beside the CUDA toolkit and where NPP_ROOT says;
# there a library may have its version in its name alone.
find_package(CUDAToolkit QUIET)
find_path(NPP_INCLUDE_DIR nppi_geometry_transforms.h HINTS ${NPP_ROOT} ENV NPP_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
set(NPP_LIBRARIES)
foreach(part nppig nppial nppc)
  find_library(NPP_${part}_LIBRARY NAMES ${part} lib${part}.so.13 HINTS ${NPP_ROOT} ENV NPP_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib64 lib)
  mark_as_advanced(NPP_${part}_LIBRARY)
  list(APPEND NPP_LIBRARIES ${NPP_${part}_LIBRARY})
endforeach()
mark_as_advanced(NPP_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NPP REQUIRED_VARS NPP_nppig_LIBRARY NPP_nppial_LIBRARY NPP_nppc_LIBRARY NPP_INCLUDE_DIR CUDAToolkit_FOUND)

if(NPP_FOUND AND NOT TARGET NPP::images)
  add_library(NPP::images INTERFACE IMPORTED)
  set_target_properties(
    NPP::images
    PROPERTIES INTERFACE_LINK_LIBRARIES "${NPP_LIBRARIES}"
               INTERFACE_INCLUDE_DIRECTORIES "${NPP_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
endif()
