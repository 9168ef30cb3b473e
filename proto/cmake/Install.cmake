# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` gives users of the libraries: archives, shared libraries, headers, CMake package, pkg-config files.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/iwarp")
set(dev COMPONENT libiwarp-dev)

install(TARGETS iwarp EXPORT iwarp-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${dev})
install(TARGETS iwarp_host EXPORT iwarp-host-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${dev})
if(IW_SHARED)
  foreach(pair iwarp_shared=iwarp-targets iwarp_host_shared=iwarp-host-targets)
    string(REGEX MATCH "^(.*)=(.*)$" _ ${pair})
    install(TARGETS ${CMAKE_MATCH_1} EXPORT ${CMAKE_MATCH_2} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      COMPONENT libiwarp${IW_ABI} NAMELINK_COMPONENT libiwarp-dev)
  endforeach()
endif()
install(EXPORT iwarp-targets NAMESPACE iwarp:: DESTINATION ${package_dir} ${dev})
install(EXPORT iwarp-host-targets NAMESPACE iwarp:: DESTINATION ${package_dir} ${dev})
install(DIRECTORY include/iwarp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${dev} FILES_MATCHING PATTERN "*.h")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/include/iwarp/checks.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/iwarp ${dev})

write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/iwarp-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES cmake/iwarp-config.cmake "${CMAKE_CURRENT_BINARY_DIR}/iwarp-config-version.cmake"
  DESTINATION ${package_dir} ${dev})

# The .pc files find their prefix from where they lie, so that `cmake --install --prefix` and DESTDIR work. What the archive needs
# is of no concern to a program that uses the shared library: pkg-config --static.
file(RELATIVE_PATH IW_UP "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(IW_HOST_REQUIRES "libpcap jansson")
if(ISAL_FOUND)
  string(APPEND IW_HOST_REQUIRES " libisal")
endif()
set(IW_REQUIRES_ARCHIVE Requires)
if(IW_SHARED)
  set(IW_REQUIRES_ARCHIVE Requires.private)
endif()
set(IW_PC_NAMES iwarp iwarp-host)
if(TARGET iw_messages)
  list(APPEND IW_PC_NAMES iwarp-messages)
endif()
foreach(name ${IW_PC_NAMES})
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${dev})
endforeach()
