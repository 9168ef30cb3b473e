# SPDX-License-Identifier: BSD-3-Clause
# Harnesses and the engines that run them.

set(IW_FUZZ "" CACHE STRING "Build the fuzzers (target fuzzers) for: libfuzzer (clang) or afl (afl-clang-fast); empty: replay only")

option(IW_FUZZ_COMPARE "libFuzzer sees what is compared with what, at half the speed" ON)

# OSS-Fuzz names its engine, and its compiler flags have the instrumentation.
set(IW_FUZZ_ENGINE "$ENV{LIB_FUZZING_ENGINE}")
if(IW_FUZZ STREQUAL "libfuzzer")
  if(IW_FUZZ_ENGINE)
    enable_language(CXX)
  else()
    add_compile_options(-fsanitize=fuzzer-no-link)
    if(NOT IW_FUZZ_COMPARE)
      add_compile_options(-fno-sanitize-coverage=trace-cmp)
    endif()
  endif()
elseif(IW_FUZZ AND NOT IW_FUZZ STREQUAL "afl")
  message(FATAL_ERROR "IW_FUZZ is '${IW_FUZZ}', not libfuzzer or afl")
endif()

set(IW_FUZZ_DIR "${CMAKE_CURRENT_LIST_DIR}/..")
add_custom_target(fuzzers)

# The code shared by the programs of all harnesses, compiled once.
add_library(iw_fuzz_engine OBJECT "${IW_FUZZ_DIR}/engine/fuzz.c")
add_library(iw_fuzz_replay OBJECT "${IW_FUZZ_DIR}/engine/replay.c")
foreach(part iw_fuzz_engine iw_fuzz_replay)
  target_compile_definitions(${part} PRIVATE ${IW_HOSTED_DEFINITIONS})
  target_link_libraries(${part} PRIVATE iw_warnings)
endforeach()

# iw_fuzz_program(TARGET HARNESS GLUE...): one of a harness's programs, in bin/fuzz.
function(iw_fuzz_program target harness)
  add_executable(${target} ${ARGN} $<TARGET_OBJECTS:fuzz-${harness}-objects>)
  target_include_directories(${target} PRIVATE "${IW_FUZZ_DIR}")
  target_compile_definitions(${target} PRIVATE ${IW_HOSTED_DEFINITIONS})
  target_link_libraries(${target} PRIVATE fuzz-${harness}-objects iw_fuzz_engine iw_warnings)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/fuzz")
endfunction()

# iw_fuzz(HARNESS source... [LIBS library...] [DEFINES definition...]): the programs of a harness.
#   fuzz-HARNESS            replays files and folders; not with IW_FUZZ=libfuzzer
#   fuzz-HARNESS-libfuzzer  IW_FUZZ=libfuzzer; also for another engine that LIB_FUZZING_ENGINE names
#   fuzz-HARNESS-afl        IW_FUZZ=afl
# The test fuzz_HARNESS replays fuzz/corpus/HARNESS and the inputs that once failed, fuzz/regress/HARNESS.
function(iw_fuzz harness)
  cmake_parse_arguments(arg "" "" "LIBS;DEFINES" ${ARGN})
  add_library(fuzz-${harness}-objects OBJECT ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(fuzz-${harness}-objects PRIVATE "${IW_FUZZ_DIR}")
  target_compile_definitions(fuzz-${harness}-objects PRIVATE ${IW_HOSTED_DEFINITIONS} ${arg_DEFINES})
  target_link_libraries(fuzz-${harness}-objects PUBLIC ${arg_LIBS} PRIVATE iw_warnings)

  # Instrumented for libFuzzer, fuzz-HARNESS would lack libFuzzer's functions; the fuzzer replays as well.
  set(replay fuzz-${harness})
  if(IW_FUZZ STREQUAL "libfuzzer")
    set(replay fuzz-${harness}-libfuzzer -runs=0 -detect_leaks=0) # after the last input, leaks are still reported
  else()
    iw_fuzz_program(fuzz-${harness} ${harness})
    target_link_libraries(fuzz-${harness} PRIVATE iw_fuzz_replay)
  endif()
  set(folders)
  foreach(folder corpus regress)
    if(EXISTS "${IW_FUZZ_DIR}/${folder}/${harness}")
      list(APPEND folders "${IW_FUZZ_DIR}/${folder}/${harness}")
    endif()
  endforeach()
  if(folders AND NOT IW_FUZZ_ENGINE)
    add_test(NAME fuzz_${harness} COMMAND ${replay} ${folders})
    set_tests_properties(fuzz_${harness} PROPERTIES LABELS "fuzz;sanitizer" TIMEOUT 1800)
  endif()

  if(IW_FUZZ STREQUAL "libfuzzer")
    iw_fuzz_program(fuzz-${harness}-libfuzzer ${harness}
      "${IW_FUZZ_DIR}/engine/libfuzzer.c" "${IW_FUZZ_DIR}/mutate/mutate_libfuzzer.c")
    target_link_libraries(fuzz-${harness}-libfuzzer PRIVATE fuzz_mutate)
    if(IW_FUZZ_ENGINE)
      target_link_libraries(fuzz-${harness}-libfuzzer PRIVATE ${IW_FUZZ_ENGINE})
      set_target_properties(fuzz-${harness}-libfuzzer PROPERTIES LINKER_LANGUAGE CXX)
    else()
      target_link_options(fuzz-${harness}-libfuzzer PRIVATE -fsanitize=fuzzer)
    endif()
    add_dependencies(fuzzers fuzz-${harness}-libfuzzer)
  elseif(IW_FUZZ STREQUAL "afl")
    iw_fuzz_program(fuzz-${harness}-afl ${harness} "${IW_FUZZ_DIR}/engine/afl.c")
    add_dependencies(fuzzers fuzz-${harness}-afl)
  endif()
endfunction()
