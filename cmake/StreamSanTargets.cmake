# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every target of this project has in common: C++20, the warnings, and where cuda.h is.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# An enumerator that should be a word is never written to JSON as a number. For all targets, as precompiled headers must
# be compiled like those that use them.
add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:JSON_DISABLE_ENUM_SERIALIZATION=1>)

# Names and lines are all that a backtrace shows. The types are what debug information is large with, those of Clang and
# of GoogleTest above all; a Debug build has them.
add_compile_options($<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-g1>)

# Position-independent code takes each function for one that another library may replace, and so inlines none of them.
# Nobody replaces ours. Clang never assumed that.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
endif()

# Errors in CI only (the preset `ci`): a newer compiler has new warnings, and those must not stop a user's build.
option(STREAMSAN_WARNINGS_AS_ERRORS "Compiler warnings are errors" OFF)
add_library(streamsan_warnings INTERFACE)
target_compile_options(streamsan_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wformat-security
                       -Wno-missing-field-initializers $<$<BOOL:${STREAMSAN_WARNINGS_AS_ERRORS}>:-Werror>)

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # In the C++ library of g++ 12: std::stable_sort() uses a function that the standard has deprecated since. And the
  # HTML page is one literal, longer than the shortest limit that the standard allows a compiler.
  target_compile_options(streamsan_warnings INTERFACE -Wno-deprecated-declarations -Wno-overlength-strings)
endif()

# For CI, which compiles everything once and waits longer for that than for the programs: what is neither busy for long
# nor loaded into the guest is compiled with -O1, which takes the compiler a sixth less time. The price: a warning that
# only more inlining leads to, and a bug that only the optimiser brings out, show in the other presets alone. With so
# little inlining GCC 12 takes values of std::optional for uninitialized where they are read behind a test.
option(STREAMSAN_OPTIMISE_LESS "Compile the analyzer, the judge, the reports and the command line with -O1" OFF)
macro(streamsan_optimise_less)
  if(STREAMSAN_OPTIMISE_LESS)
    add_compile_options($<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # Clang does not know the option, and warns of that
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
    endif()
  endif()
endmacro()

# cuda.h alone is needed to build; no CUDA library is linked.
find_package(CUDAToolkit REQUIRED)
add_library(streamsan_cuda_headers INTERFACE)
target_include_directories(streamsan_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})

# Headers of others that are read anew for dozens of sources. ccache takes all sources that use precompiled ones for
# uncacheable, so whoever builds often leaves them off; scripts/test builds once.
option(STREAMSAN_PRECOMPILED_HEADERS "Precompile the headers of the C++ library, GoogleTest and Clang" OFF)
if(STREAMSAN_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 forgets with precompiled headers which code of the library it must not warn of, and takes short strings for
  # arrays that are left (GCC bugs 105329, 105651).
  target_compile_options(streamsan_warnings INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# Several sources to a compilation: half the time, as most of it goes into headers. Whoever edits a source leaves it
# off, because its neighbours are compiled with it. Only targets that name each thing of their unnamed namespaces once
# take part.
option(STREAMSAN_UNITED_SOURCES "Compile several sources of a library at a time" OFF)
function(streamsan_unite target)
  if(STREAMSAN_UNITED_SOURCES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# streamsan_add_headers(NAME LINK target... HEADERS header... [OPTIONS option...]): for streamsan_use_headers(target
# NAME). Precompiled once, as position-independent code of libraries: executables that use them are compiled like that,
# too.
function(streamsan_add_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;HEADERS;OPTIONS")
  if(NOT STREAMSAN_PRECOMPILED_HEADERS OR TARGET ${name})
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Has no content: its headers are what is wanted.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

function(streamsan_use_headers target name)
  if(NOT STREAMSAN_PRECOMPILED_HEADERS)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

# What nearly every source of the libraries includes.
set(streamsan_standard_headers
  <algorithm> <array> <deque> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <tuple>
  <unordered_map> <utility> <vector>)

function(streamsan_use_standard_headers target)
  streamsan_add_headers(streamsan_standard_headers LINK streamsan_warnings HEADERS ${streamsan_standard_headers})
  streamsan_use_headers(${target} streamsan_standard_headers)
endfunction()

# For those of which many sources read or write JSON. The longest header that there is beside those of Clang.
function(streamsan_use_json_headers target)
  find_package(nlohmann_json 3 REQUIRED)
  streamsan_add_headers(streamsan_json_headers LINK streamsan_warnings nlohmann_json::nlohmann_json
    HEADERS ${streamsan_standard_headers} <nlohmann/json.hpp>)
  streamsan_use_headers(${target} streamsan_json_headers)
endfunction()

# A test that compiles what it tests for AddressSanitizer and UBSan. -Og takes the compiler two thirds of the time of
# -O1. The checks of UBSan that are left out stand at every access to memory and take a third of the compiler's time;
# AddressSanitizer and the processor stop at null pointers and at accesses outside of an object, too. Misaligned
# accesses are not found.
function(streamsan_sanitize target)
  target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -g1 -Og
                                           -fno-sanitize=null,object-size,vptr,alignment)
  target_link_options(${target} PRIVATE -fsanitize=address,undefined)
endfunction()

# What nearly every test includes.
set(streamsan_test_headers
  <gtest/gtest.h> ${streamsan_standard_headers} <filesystem> <fstream> <random> <sstream>)

# Tests are most of what a build compiles, and run for milliseconds: the compiler does not optimise their own code,
# which saves more than half of their time. What they test is optimised as everywhere.
set(streamsan_test_options $<$<CONFIG:RelWithDebInfo,Release>:-O0>)

# For sources of a test that compute for many seconds. They cannot use headers that were precompiled for the others.
function(streamsan_optimise_busy_tests)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo,Release>:-O2>"
                                                 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# streamsan_use_test_headers(target [header...]): more headers, which many of its sources include, are precompiled for
# this target alone.
function(streamsan_use_test_headers target)
  find_package(GTest REQUIRED)
  target_compile_options(${target} PRIVATE ${streamsan_test_options})
  if(STREAMSAN_PRECOMPILED_HEADERS AND ARGN)
    target_precompile_headers(${target} PRIVATE ${streamsan_test_headers} ${ARGN})
    return()
  endif()
  streamsan_add_headers(streamsan_test_headers LINK streamsan_warnings GTest::gtest HEADERS ${streamsan_test_headers}
    OPTIONS ${streamsan_test_options})
  streamsan_use_headers(${target} streamsan_test_headers)
endfunction()

# For tests that compile sources of the recorder into themselves, or depend on what frames and instructions look like.
function(streamsan_use_optimised_test_headers target)
  find_package(GTest REQUIRED)
  streamsan_add_headers(streamsan_optimised_test_headers LINK streamsan_warnings GTest::gtest
    HEADERS ${streamsan_test_headers})
  streamsan_use_headers(${target} streamsan_optimised_test_headers)
endfunction()

function(streamsan_use_json_test_headers target)
  find_package(GTest REQUIRED)
  find_package(nlohmann_json 3 REQUIRED)
  streamsan_add_headers(streamsan_json_test_headers LINK streamsan_warnings GTest::gtest nlohmann_json::nlohmann_json
    HEADERS ${streamsan_test_headers} <nlohmann/json.hpp> OPTIONS ${streamsan_test_options})
  target_compile_options(${target} PRIVATE ${streamsan_test_options})
  streamsan_use_headers(${target} streamsan_json_test_headers)
endfunction()
