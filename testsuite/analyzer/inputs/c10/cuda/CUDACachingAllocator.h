// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../core/Allocator.h"
#include "CUDAStream.h"

namespace c10::cuda::CUDACachingAllocator {
Allocator* get();
void* raw_alloc(size_t nbytes);
void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream);
void raw_delete(void* ptr);
void emptyCache();
void recordStream(const DataPtr& ptr, CUDAStream stream);
}  // namespace c10::cuda::CUDACachingAllocator
