# SPDX-License-Identifier: BSD-3-Clause
# cpack runs this at the end: takes the scripts that it has put into each package with a library out again. They call ldconfig,
# which is up to the trigger (Debian Policy 8.1.1).

foreach(package ${CPACK_PACKAGE_FILES})
  if(package MATCHES "/libiwarp[0-9]+_[^/]*$")
    set(folder "${CPACK_TOPLEVEL_DIRECTORY}/repacked")
    file(REMOVE_RECURSE "${folder}")
    execute_process(COMMAND dpkg-deb --raw-extract "${package}" "${folder}" COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE "${folder}/DEBIAN/postinst" "${folder}/DEBIAN/postrm")
    execute_process(COMMAND dpkg-deb --root-owner-group -Zxz --build "${folder}" "${package}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE "${folder}")
  endif()
endforeach()
