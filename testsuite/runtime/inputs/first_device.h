// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program of the driver API begins with, and what the run-time library does by itself.
#pragma once

#include <cuda.h>

#include "must.h"

/// Initialises the driver and makes the primary context of the first device current.
inline CUdevice use_first_device() {
  must(cuInit(0));
  CUdevice device;
  must(cuDeviceGet(&device, 0));
  CUcontext context;
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  return device;
}
