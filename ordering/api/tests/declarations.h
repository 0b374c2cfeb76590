// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every declaration of the driver API, all versions and all per-thread variants. Included by the test for its types,
// and run through the preprocessor for its parameter names, which the types do not have.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
