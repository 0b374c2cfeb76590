# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# CMake toolchain of the wheels: clang, lld, libc++ and the stubs of an old glibc, all out of zig's Python package.
# packaging/build-wheel writes the three programs named here and sets
#
#   STREAMSAN_ZIG_TOOLS   folder of cc, c++, ar and ranlib
#   STREAMSAN_ZIG_ARCH    x86_64 or aarch64
if(NOT STREAMSAN_ZIG_ARCH STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${STREAMSAN_ZIG_ARCH})
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES STREAMSAN_ZIG_TOOLS STREAMSAN_ZIG_ARCH)

set(CMAKE_C_COMPILER ${STREAMSAN_ZIG_TOOLS}/cc)
set(CMAKE_CXX_COMPILER ${STREAMSAN_ZIG_TOOLS}/c++)
set(CMAKE_ASM_COMPILER ${STREAMSAN_ZIG_TOOLS}/cc)
set(CMAKE_AR ${STREAMSAN_ZIG_TOOLS}/ar)
set(CMAKE_RANLIB ${STREAMSAN_ZIG_TOOLS}/ranlib)

# Nothing of this machine's C library may be found: its headers are newer than what is linked.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
