# SPDX-License-Identifier: BSD-3-Clause
# cpack runs this between installing and packing: adds what only Debian wants, and compresses and strips as it wants.

set(version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, if it is set

# The licence as a field of the file `copyright`: its lines are indented, empty ones have a dot.
file(READ "${CPACK_IW_PACKAGING}/../../LICENSE" licence)
string(REGEX REPLACE "^[^\n]*\n\n|\n\n-----.*$" "" licence "${licence}") # of the BSD's own words
string(REGEX REPLACE "\n" "\n " licence " ${licence}")
string(REPLACE "\n \n" "\n .\n" LICENCE "${licence}")

# finished WORD...: runs a program that has to end well.
function(finished)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} name)
  set(package "${CPACK_DEBIAN_${name}_PACKAGE_NAME}")
  set(top "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr")
  set(doc "${top}/share/doc/${package}")
  configure_file("${CPACK_IW_PACKAGING}/copyright" "${doc}/copyright" @ONLY)
  file(WRITE "${doc}/changelog.Debian" "iwarp-toolkit (${version}) unstable; urgency=medium

  * Built from the sources of iwarp-toolkit ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
  finished(gzip -9n "${doc}/changelog.Debian")
  file(READ "${CPACK_IW_PACKAGING}/overrides/common" overrides)
  if(EXISTS "${CPACK_IW_PACKAGING}/overrides/${package}")
    file(READ "${CPACK_IW_PACKAGING}/overrides/${package}" own)
    string(APPEND overrides "${own}")
  endif()
  file(WRITE "${top}/share/lintian/overrides/${package}" "${overrides}")
  file(GLOB pages "${top}/share/man/man*/*")
  foreach(page ${pages})
    finished(gzip -9n "${page}")
  endforeach()
  file(GLOB_RECURSE archives "${top}/lib/*.a")
  foreach(archive ${archives})
    finished(strip --strip-debug --enable-deterministic-archives --remove-section=.comment "${archive}")
  endforeach()
endforeach()
