# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# streamsan_static_llvm: all static libraries of LLVM and Clang, of which the linker takes what is needed. For packages
# that run where no LLVM is installed.
#
# By file name: the targets of a distribution whose LLVM is one shared library lead to that library. Clang's libraries
# depend on each other in circles, so all are looked through until nothing is missing.
file(GLOB clang_archives ${LLVM_LIBRARY_DIRS}/libclang[A-Z]*.a)
file(GLOB llvm_archives ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
# clang-tidy's own checks and clangd are no part of the program.
list(FILTER clang_archives EXCLUDE REGEX "libclang(Tidy.*Module|TidyPlugin|Daemon.*|Doc.*|Interpreter)\\.a$")
if(NOT clang_archives OR NOT llvm_archives)
  message(FATAL_ERROR "STREAMSAN_STATIC_LLVM: no static libraries of Clang and LLVM in ${LLVM_LIBRARY_DIRS}")
endif()
add_library(streamsan_static_llvm INTERFACE)
set(archives ${clang_archives} ${llvm_archives})
foreach(name z zstd)
  find_library(STREAMSAN_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND archives ${STREAMSAN_STATIC_${name}})
endforeach()
list(JOIN archives "," archives)
target_link_libraries(streamsan_static_llvm INTERFACE "$<LINK_GROUP:RESCAN,${archives}>")
find_package(Threads REQUIRED)
target_link_libraries(streamsan_static_llvm INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
