# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file: Debian's cross compiler for IW_TRIPLET, tests under qemu-user, and cmocka from the root that
# tools/foreign-root.sh has laid under the build folder.

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES IW_TRIPLET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${IW_TRIPLET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "${IW_TRIPLET}-gcc")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR};-L;/usr/${IW_TRIPLET}")

# CMake's own trial builds run in the same process, and have another build folder.
get_property(trial GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT trial)
  set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_BINARY_DIR}/root")
  set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_BINARY_DIR}/root/usr/lib/${IW_TRIPLET}/pkgconfig")
endif()
