// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../c10/cuda/CUDACachingAllocator.h"
#include "../../c10/cuda/CUDAException.h"
#include "../../c10/cuda/CUDAStream.h"
#include "../../cublas_v2.h"

namespace at::cuda {
cublasHandle_t getCurrentCUDABlasHandle();
cudaDeviceProp* getCurrentDeviceProperties();
void device_synchronize();
}  // namespace at::cuda
namespace c10::cuda {
void device_synchronize();
void stream_synchronize(cudaStream_t stream);
}  // namespace c10::cuda
