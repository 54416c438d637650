# SPDX-License-Identifier: Apache-2.0
# find_package(Libpq): target Libpq::pq, the client library of PostgreSQL. CMake's own FindPostgreSQL also wants the
# server's headers, which a client does not need.
find_path(LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql pgsql)
find_library(LIBPQ_LIBRARY pq)
mark_as_advanced(LIBPQ_INCLUDE_DIR LIBPQ_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libpq REQUIRED_VARS LIBPQ_LIBRARY LIBPQ_INCLUDE_DIR)

if(Libpq_FOUND AND NOT TARGET Libpq::pq)
  add_library(Libpq::pq UNKNOWN IMPORTED)
  set_target_properties(Libpq::pq PROPERTIES IMPORTED_LOCATION ${LIBPQ_LIBRARY})
  target_include_directories(Libpq::pq INTERFACE ${LIBPQ_INCLUDE_DIR})
endif()
