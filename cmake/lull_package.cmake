# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB: a package for Debian and Ubuntu of all that is installed. What it depends on is read from the files in it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lull)
set(CPACK_PACKAGE_CONTACT "The Lull authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "zlib1g-dev, libpng-dev, libjpeg-dev")  # find_package(lull) looks for them
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libgtest-dev)  # … with COMPONENTS contract
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
include(CPack)
