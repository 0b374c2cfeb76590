// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdint.h>

#include "../../cuda_runtime_api.h"

namespace c10::cuda {
void c10_cuda_check_implementation(const int32_t err, const char* filename, const char* function_name,
                                   const int line_number, const bool include_device_assertions);
}
#define C10_CUDA_CHECK(EXPR)                                                                                   \
  do {                                                                                                         \
    const cudaError_t __err = EXPR;                                                                            \
    c10::cuda::c10_cuda_check_implementation(static_cast<int32_t>(__err), __FILE__, __func__, __LINE__, true); \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
