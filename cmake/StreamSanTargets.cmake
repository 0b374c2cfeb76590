# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every target of this project has in common: C++20, warnings as errors, and where cuda.h is.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(streamsan_warnings INTERFACE)
target_compile_options(streamsan_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wno-missing-field-initializers)

# cuda.h alone is needed to build; no CUDA library is linked.
find_package(CUDAToolkit REQUIRED)
add_library(streamsan_cuda_headers INTERFACE)
target_include_directories(streamsan_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
