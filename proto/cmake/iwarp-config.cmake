# SPDX-License-Identifier: BSD-3-Clause
# find_package(iwarp): target iwarp::iwarp, the core; iwarp::iwarp_shared, the same as a shared library.
# find_package(iwarp COMPONENTS host): also iwarp::host and iwarp::host_shared, the rooms that need an operating system.

include("${CMAKE_CURRENT_LIST_DIR}/iwarp-targets.cmake")

if("host" IN_LIST iwarp_FIND_COMPONENTS)
  include(CMakeFindDependencyMacro)
  find_dependency(PkgConfig)
  pkg_check_modules(PCAP REQUIRED QUIET IMPORTED_TARGET libpcap)
  pkg_check_modules(JANSSON REQUIRED QUIET IMPORTED_TARGET jansson)
  pkg_check_modules(ISAL QUIET IMPORTED_TARGET libisal)
  include("${CMAKE_CURRENT_LIST_DIR}/iwarp-host-targets.cmake")
endif()
