# SPDX-License-Identifier: BSD-3-Clause
# libiwarp.so and libiwarp_host.so, from the objects of the archives. They export what the public headers declare, nothing else.
# Programs of this project use the archives, whose inner functions they call, too.

option(IW_SHARED "Build shared libraries, too" ON)
if(NOT IW_SHARED OR IW_SANITIZE OR IW_COVERAGE OR IW_PROVE OR CMAKE_CROSSCOMPILING)
  set(IW_SHARED OFF)
  return()
endif()

set(map "${CMAKE_CURRENT_BINARY_DIR}/libiwarp.map")
set(checks "${CMAKE_CURRENT_BINARY_DIR}/include/iwarp/checks.h") # made by rules/
file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/iwarp/*.h")
list(REMOVE_ITEM headers # of libiwarp-sockets.so and libiwarp-messages.so, which export it
  "${CMAKE_CURRENT_SOURCE_DIR}/include/iwarp/sockets.h" "${CMAKE_CURRENT_SOURCE_DIR}/include/iwarp/messages.h")
add_custom_command(OUTPUT "${map}"
  COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/cmake/public_symbols.py" "${map}" IWARP_${IW_ABI} ${headers} "${checks}"
  DEPENDS cmake/public_symbols.py ${headers} "${checks}"
  COMMENT "Listing what the public headers declare"
  VERBATIM)
add_custom_target(iw_public_symbols DEPENDS "${map}")

# One list for both libraries: each lacks what is in the other.
include(CheckLinkerFlag)
check_linker_flag(C LINKER:--undefined-version IW_UNDEFINED_VERSION)

foreach(name iwarp iwarp_host)
  set(library ${name}_shared)
  add_library(${library} SHARED $<TARGET_OBJECTS:${name}>)
  add_dependencies(${library} iw_public_symbols)
  set_target_properties(${library} PROPERTIES
    OUTPUT_NAME ${name} VERSION ${IW_ABI}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH} SOVERSION ${IW_ABI} LINKER_LANGUAGE C
    BUILD_WITH_INSTALL_RPATH ON # no trace of the build folder
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib" LINK_DEPENDS "${map}")
  target_link_options(${library} PRIVATE "LINKER:--version-script=${map},-z,defs,--as-needed,-Bsymbolic-functions"
    $<$<BOOL:${IW_UNDEFINED_VERSION}>:LINKER:--undefined-version>)
  iw_packaged(${library} ${name})
endforeach()
target_include_directories(iwarp_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(iwarp_shared PROPERTIES EXPORT_NAME iwarp_shared)
set_target_properties(iwarp_host_shared PROPERTIES EXPORT_NAME host_shared)
target_link_libraries(iwarp_host_shared PUBLIC iwarp_shared PRIVATE PkgConfig::PCAP PkgConfig::JANSSON)
if(ISAL_FOUND)
  target_link_libraries(iwarp_host_shared PRIVATE PkgConfig::ISAL)
endif()
