// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuLaunchCooperativeKernelMultiDevice: one launch in each stream of a list (R-LCH-05). By default no kernel begins
// before the earlier work of all the streams, and later work in them waits for all kernels. A trace says so by records
// that annotations make as well: each stream signals an object that is used for nothing else, and then awaits it.
//
// The launches are not measured: the kernels wait for each other.
#pragma once

#include <cstdint>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace streamsan::recorder {

/// After the call, which succeeded. `frame`: __builtin_frame_address(0) of the wrapper.
void record_launch_list(const CUDA_LAUNCH_PARAMS* list, std::uint64_t count, std::uint64_t flags, std::uint16_t api,
                        const void* frame);

}  // namespace streamsan::recorder
