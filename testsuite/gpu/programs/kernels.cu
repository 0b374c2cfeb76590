// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels as a translation unit of their own: compiled to PTX for the driver-API program.
#include "kernels.cuh"
