// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "held.cuh"

template void fill_and_read<float>(float*);
