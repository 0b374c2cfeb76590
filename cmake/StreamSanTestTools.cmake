# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The programs that the tests are run with, looked for once and named when they are missing:
#
#   STREAMSAN_PYTHON      the interpreter itself
#   STREAMSAN_LIT         LLVM's test runner
#   STREAMSAN_FILECHECK   compares output with the expectations in a source
#   STREAMSAN_NVCC        compiles the tests' programs
#
# Each can be given with -D. Distributions keep lit and FileCheck in the folder of some LLVM version, and not each
# version has both: FileCheck of one and lit of another go together. `scripts/test` installs lit into .cache/tools where
# no package has it.

# What is found first may be a script that chooses among several interpreters (pyenv's "shims"). It takes longer than
# most of what the tests ask of Python, which they start more than a thousand times.
find_package(Python3 3.9 COMPONENTS Interpreter REQUIRED)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                OUTPUT_VARIABLE STREAMSAN_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(_streamsan_llvm_bin "")
set(_streamsan_llvm_lit "")
foreach(version RANGE 24 14 -1)
  list(APPEND _streamsan_llvm_bin /usr/lib/llvm-${version}/bin)
  list(APPEND _streamsan_llvm_lit /usr/lib/llvm-${version}/build/utils/lit)
endforeach()

function(streamsan_find_test_tool variable packages)
  find_program(${variable} ${ARGN})
  if(NOT ${variable})
    message(FATAL_ERROR "The tests need ${packages}. Install it, or name the program with -D${variable}=PATH, "
                        "or build without tests: -DSTREAMSAN_TESTS=OFF")
  endif()
endfunction()

streamsan_find_test_tool(STREAMSAN_LIT "lit (Debian and Ubuntu: llvm-22-tools; elsewhere: pip install lit)"
  NAMES lit llvm-lit lit-22 lit.py HINTS ${CMAKE_SOURCE_DIR}/.cache/tools/bin ${_streamsan_llvm_bin} PATHS ${_streamsan_llvm_lit})
streamsan_find_test_tool(STREAMSAN_FILECHECK "FileCheck (Debian and Ubuntu: llvm-22-tools, or another version's)"
  NAMES FileCheck FileCheck-22 HINTS ${_streamsan_llvm_bin})
streamsan_find_test_tool(STREAMSAN_NVCC "nvcc (the CUDA Toolkit, 13.0 or later)" NAMES nvcc HINTS ${CUDAToolkit_BIN_DIR})
