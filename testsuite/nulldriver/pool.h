// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory pool an allocation comes from. Both functions need the lock.
#pragma once

#include "testsuite/nulldriver/memory.h"

namespace streamsan::null {

CUmemoryPool default_pool(CUdevice device);
/// The pool that cuMemAllocAsync uses on the device: the one set by cuDeviceSetMemPool, or the default one.
CUmemoryPool current_pool(CUdevice device);

}  // namespace streamsan::null
