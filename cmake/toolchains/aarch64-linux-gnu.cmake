# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds for AArch64 (Grace) with the cross compiler of Debian or Ubuntu: package g++-aarch64-linux-gnu.
#
# STREAMSAN_SYSROOT: a folder with that machine's packages, as `scripts/test-aarch64` makes one. What is not in there is
# taken from where the cross compiler has its own. Where qemu-aarch64-static is installed, what is built can run, and so
# be tested; nothing that the build itself needs is run by it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(STREAMSAN_SYSROOT "" CACHE PATH "Folder with the packages of the machine that is built for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STREAMSAN_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${STREAMSAN_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(STREAMSAN_QEMU NAMES qemu-aarch64-static qemu-aarch64 DOC "Runs programs of AArch64")
mark_as_advanced(STREAMSAN_QEMU)
if(STREAMSAN_QEMU AND STREAMSAN_SYSROOT)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${STREAMSAN_QEMU} -L ${STREAMSAN_SYSROOT})
elseif(STREAMSAN_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${STREAMSAN_QEMU} -L /usr/aarch64-linux-gnu)
endif()
