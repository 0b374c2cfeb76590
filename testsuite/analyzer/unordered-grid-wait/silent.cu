// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check unordered-grid-wait %s
//
// Say in one sentence what looks like a case and is none.
#include <cuda_runtime.h>

void run(float* x, cudaStream_t stream) { cudaMemsetAsync(x, 0, 1024, stream); }
