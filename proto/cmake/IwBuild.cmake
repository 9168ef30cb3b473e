# SPDX-License-Identifier: BSD-3-Clause
# What all rooms share: warnings, instrumentation, and functions that spare a room's author CMake work.

find_package(PkgConfig REQUIRED)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# A compiler cache and a fast linker, where they are installed. AFL++'s compiler depends on variables that ccache does not know;
# libFuzzer's engine of OSS-Fuzz brings flags of its own.
option(IW_FAST_BUILD "Use ccache and lld where they are installed" ON)
if(IW_FAST_BUILD AND NOT CMAKE_CROSSCOMPILING AND NOT IW_FUZZ STREQUAL "afl" AND NOT DEFINED ENV{LIB_FUZZING_ENGINE})
  find_program(IW_CCACHE ccache)
  find_program(IW_LLD ld.lld)
  if(IW_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER "${IW_CCACHE}")
  endif()
  if(IW_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

add_library(iw_warnings INTERFACE)
target_compile_options(iw_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  $<$<BOOL:${IW_WERROR}>:-Werror>)

if(IW_SANITIZE)
  add_compile_options(-fsanitize=${IW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${IW_SANITIZE})
  if(IW_SANITIZE MATCHES "memory")
    add_compile_options(-fsanitize-memory-track-origins)
  endif()
endif()
if(IW_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# Hosted code uses POSIX and a few GNU extensions. The empty value matches a plain "#define _GNU_SOURCE" in a file.
set(IW_HOSTED_DEFINITIONS "_GNU_SOURCE=" "IW_VERSION=\"${PROJECT_VERSION}\"")

# iw_room(TARGET): adds every *.c of the calling folder to the library TARGET (iwarp or iwarp_host).
function(iw_room target)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.c")
  if(sources)
    target_sources(${target} PRIVATE ${sources})
  endif()
endfunction()

# iw_program(NAME LIBS library...): a program from every *.c of the calling folder but its fuzz_*.c, installed; nothing if there are
# none.
function(iw_program name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.c")
  list(FILTER sources EXCLUDE REGEX "/fuzz_[^/]*$")
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_compile_definitions(${name} PRIVATE ${IW_HOSTED_DEFINITIONS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} iw_warnings)
  iw_install_program(${name})
endfunction()

# What test programs are compiled with. IW_SOURCE_DIR and IW_BINARY_DIR are string macros with the two top folders.
add_library(iw_testing INTERFACE)
target_compile_definitions(iw_testing INTERFACE
  ${IW_HOSTED_DEFINITIONS}
  "IW_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"" "IW_BINARY_DIR=\"${PROJECT_BINARY_DIR}\"")
target_link_libraries(iw_testing INTERFACE PkgConfig::CMOCKA iw_warnings)
# Half of what a build compiles is tests, and a test runs once: optimising one costs more than it saves.
target_compile_options(iw_testing INTERFACE -O0)

# iw_test_support(NAME source... [LIBS library...] [INCLUDES folder...]): compiles once what several test programs share; link
# NAME to them.
function(iw_test_support name)
  cmake_parse_arguments(arg "" "" "LIBS;INCLUDES" ${ARGN})
  add_library(${name} OBJECT ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${arg_INCLUDES})
  target_link_libraries(${name} PUBLIC ${arg_LIBS} PRIVATE iw_testing)
endfunction()

# iw_add_test(NAME source... [LIBS library...]): a cmocka program, registered with ctest under NAME.
function(iw_add_test name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} iw_testing)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/tests")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800)
endfunction()

# iw_add_python_test(NAME script argument...): a test in Python, registered with ctest under NAME. It finds tools/harness.py.
function(iw_add_python_test name script)
  get_filename_component(script "${script}" ABSOLUTE)
  add_test(NAME ${name} COMMAND Python3::Interpreter -B "${script}" ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800 ENVIRONMENT "PYTHONPATH=${PROJECT_SOURCE_DIR}/tools")
endfunction()
