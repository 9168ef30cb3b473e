# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` gives users of the libraries: archives, headers, CMake package, pkg-config files.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/iwarp")

install(TARGETS iwarp EXPORT iwarp-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT iwarp-targets NAMESPACE iwarp:: DESTINATION ${package_dir})
install(DIRECTORY include/iwarp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/include/iwarp/checks.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/iwarp)

install(TARGETS iwarp_host EXPORT iwarp-host-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT iwarp-host-targets NAMESPACE iwarp:: DESTINATION ${package_dir})

write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/iwarp-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/iwarp-config.cmake "${CMAKE_CURRENT_BINARY_DIR}/iwarp-config-version.cmake"
  DESTINATION ${package_dir})

# The .pc files find their prefix from where they lie, so that `cmake --install --prefix` and DESTDIR work.
file(RELATIVE_PATH IW_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(IW_HOST_REQUIRES "libpcap jansson")
if(ISAL_FOUND)
  string(APPEND IW_HOST_REQUIRES " libisal")
endif()
foreach(name iwarp iwarp-host)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
