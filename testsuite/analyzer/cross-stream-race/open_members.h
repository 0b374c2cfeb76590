// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What other files can assign, and what they have no business to: for open_members.cu.
#pragma once

#include <cuda_runtime.h>

struct Open {
  cudaStream_t compute;
  cudaStream_t transfer;
};

struct Owner {
  Owner() {
    cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking);
  }
  ~Owner() {
    cudaStreamDestroy(compute);
    cudaStreamDestroy(transfer);
  }
  cudaStream_t compute;
  cudaStream_t transfer;
};
