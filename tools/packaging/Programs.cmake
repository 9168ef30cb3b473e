# SPDX-License-Identifier: BSD-3-Clause
# What is installed, and in which package it goes: programs.csv says so for each program, its man page and its completions. The
# components of CMake's install rules are the packages.

set(IW_PROGRAMS_CSV "${CMAKE_CURRENT_LIST_DIR}/programs.csv")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${IW_PROGRAMS_CSV}")
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME iwarp-toolkit)

# iw_package_of(OUT NAME): the package of the program NAME; iwarp-toolkit for every other name.
function(iw_package_of out name)
  file(STRINGS "${IW_PROGRAMS_CSV}" row REGEX "^${name},")
  if(row MATCHES "^[^,]+,([^,]+),")
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
  else()
    set(${out} iwarp-toolkit PARENT_SCOPE)
  endif()
endfunction()

# iw_needs_row(NAME): a program that is installed has a row.
function(iw_needs_row name)
  file(STRINGS "${IW_PROGRAMS_CSV}" row REGEX "^${name},[^,]+,[^,]+$")
  if(NOT row)
    message(FATAL_ERROR "${IW_PROGRAMS_CSV}: no row `${name},PACKAGE,MAN PAGE`")
  endif()
endfunction()

# iw_packaged(TARGET...): the target iw_installed builds these, and so all that is installed, but no tests.
function(iw_packaged)
  set_property(GLOBAL APPEND PROPERTY IW_PACKAGED ${ARGN})
endfunction()

# iw_install_program(TARGET): installs a program that is built here.
function(iw_install_program name)
  iw_needs_row(${name})
  iw_package_of(package ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${package})
  iw_packaged(${name})
endfunction()

# iw_install_named(FOLDER FILE...): installs files that are named after their program: iwarp-peer.1, _iwarp-peer, iwarp-peer.fish.
function(iw_install_named folder)
  foreach(file ${ARGN})
    get_filename_component(name "${file}" NAME)
    string(REGEX REPLACE "^_|[.].*$" "" name "${name}")
    iw_package_of(package "${name}")
    install(FILES "${file}" DESTINATION "${folder}" COMPONENT ${package})
  endforeach()
endfunction()
