# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages: `tools/dev packages`, or cpack in a build of the preset `packages`.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "iWARP toolkit")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/deb")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/repack.cmake")
set(CPACK_IW_PACKAGING "${CMAKE_CURRENT_LIST_DIR}")

# Another release of the same sources: cpack -D CPACK_DEBIAN_PACKAGE_RELEASE=2.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE iwarp-toolkit)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")

# Who packages: as Debian's own tools take it from the environment.
set(name "$ENV{DEBFULLNAME}")
set(mail "$ENV{DEBEMAIL}")
if(NOT mail)
  set(name "iWARP toolkit")
  set(mail "iwarp-toolkit@packages.invalid")
endif()
set(IW_MAINTAINER "${name} <${mail}>" CACHE STRING "Maintainer of the packages")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${IW_MAINTAINER}")

# iw_package(NAME [COMPONENT component] SUMMARY text DESCRIPTION text SECTION section [FIELD value]...): a package of what the
# component (default: NAME) installs. NEEDS: packages of this table, of the same version. Fields: DEPENDS, RECOMMENDS, SUGGESTS,
# ENHANCES, ARCHITECTURE, and EXTRA, files of the control archive. Texts have no semicolons, and lines as they are to be shown.
macro(iw_package name)
  cmake_parse_arguments(arg "" "COMPONENT;SUMMARY;DESCRIPTION;SECTION;ARCHITECTURE" "NEEDS;DEPENDS;RECOMMENDS;SUGGESTS;ENHANCES;EXTRA" ${ARGN})
  if(NOT arg_COMPONENT)
    set(arg_COMPONENT ${name})
  endif()
  list(APPEND CPACK_COMPONENTS_ALL ${arg_COMPONENT})
  string(TOUPPER ${arg_COMPONENT} component)
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${arg_SUMMARY}\n${arg_DESCRIPTION}")
  set(CPACK_COMPONENT_${component}_DEPENDS ${arg_NEEDS})
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${arg_SECTION})
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${arg_EXTRA})
  if(arg_ARCHITECTURE)
    set(CPACK_DEBIAN_${component}_PACKAGE_ARCHITECTURE ${arg_ARCHITECTURE})
  endif()
  foreach(field DEPENDS RECOMMENDS SUGGESTS ENHANCES)
    list(JOIN arg_${field} ", " CPACK_DEBIAN_${component}_PACKAGE_${field})
  endforeach()
endmacro()

iw_package(iwarp-toolkit SECTION net
  SUMMARY "conformance suite, judge and reference peer for iWARP"
  DESCRIPTION "Finds out whether an RNIC, a soft-iWARP driver or an iWARP stack obeys its
RFCs (5044, 5041, 5040, 6581, 7306), and names the rule that it breaks, with a
capture that shows it. Beside the suite, iwarp-conform, the package has iwarp-
lint, which judges captures and interfaces, the reference stack as a program
(iwarp-peer), iwarp-fuzz, iwarp-perf, and iwarp-golden, which writes captures
to test decoders with."
  NEEDS iwarp-agent
  SUGGESTS iwarp-run iwarp-siw wireshark-plugin-iwarp)

iw_package(iwarp-agent SECTION net
  SUMMARY "carries out verbs on a host for the iWARP conformance suite"
  DESCRIPTION "The program iwarp-agent runs on the host that is tested. It carries out the
verbs of a remote iwarp-conform (package iwarp-toolkit): on a stack of its
own, or with --backend verbs on an RDMA device."
  RECOMMENDS ibverbs-providers
  SUGGESTS iwarp-toolkit)

iw_package(iwarp-run SECTION net
  SUMMARY "runs RDMA programs on iWARP over plain TCP"
  DESCRIPTION "Runs programs of libibverbs and librdmacm, as they are, on a user-space iWARP
stack on TCP sockets: no RDMA device, no kernel module and no privileges are
needed. An observer can judge both ends of each connection by the RFCs. The
package has a libibverbs of its own, which only iwarp-run finds."
  SUGGESTS iwarp-toolkit rdmacm-utils perftest)

iw_package(iwarp-siw SECTION net ARCHITECTURE all
  SUMMARY "Linux's soft-iWARP driver inside a user-mode kernel"
  DESCRIPTION "Builds a user-mode Linux kernel with the driver siw, once, from Debian's
sources of Linux, and runs it as an ordinary process without privileges: a
target for the conformance suite of iwarp-toolkit, and a place to run RDMA
programs in."
  DEPENDS bc bison flex gcc iproute2 libc6-dev make procps python3 xz-utils
  RECOMMENDS ibverbs-providers linux-source-6.1 rdmacm-utils
  SUGGESTS iwarp-toolkit)

if(TARGET iwarp_shared)
  set(library libiwarp${IW_ABI})
  configure_file("${CMAKE_CURRENT_LIST_DIR}/shlibs.in" shlibs @ONLY)
  iw_package(${library} SECTION libs
    SUMMARY "strict user-space stack of iWARP, shared libraries"
    DESCRIPTION "A stack of MPA, DDP and RDMAP (RFC 5044, 5041, 5040, 6581, 7306), in which
every check can be skipped, made too strict or broken on purpose. The core,
libiwarp, does no I/O and allocates no memory. The other library,
libiwarp_host, puts it on sockets, reads captures and judges them."
    EXTRA "${CMAKE_CURRENT_BINARY_DIR}/shlibs" "${CMAKE_CURRENT_LIST_DIR}/triggers")
endif()

set(required libpcap-dev libjansson-dev)
if(ISAL_FOUND)
  list(APPEND required libisal-dev)
endif()
if(TARGET iw_messages)
  list(APPEND required nettle-dev libibverbs-dev librdmacm-dev)
endif()
iw_package(libiwarp-dev SECTION libdevel
  SUMMARY "strict user-space stack of iWARP, for development"
  DESCRIPTION "A stack of MPA, DDP and RDMAP (RFC 5044, 5041, 5040, 6581, 7306), in which
every check can be skipped, made too strict or broken on purpose. This package
has headers, static libraries, a CMake package and files for pkg-config."
  NEEDS ${library}
  DEPENDS ${required})

if(TARGET iwarp_dissector)
  iw_package(wireshark-plugin-iwarp COMPONENT wireshark SECTION net
    SUMMARY "explains iWARP in Wireshark and names broken rules"
    DESCRIPTION "A plugin for Wireshark and tshark that dissects MPA, DDP and RDMAP, follows
connections from their start-up, and names each rule of the RFCs that a side
breaks. It fits the minor version of Wireshark that it was built with. A
profile with columns, colours and filters comes with it."
    ENHANCES wireshark tshark)
endif()

include(CPack)
