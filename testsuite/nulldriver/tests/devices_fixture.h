// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test with three devices. Its executable has no other tests: the number of devices is settled at the first call.
#pragma once

#include <cstdlib>

#include "testsuite/nulldriver/tests/fixture.h"

inline const int kSettled = setenv("STREAMSAN_NULL_DEVICES", "3", 1);

/// The primary contexts of the first two devices, that of the first one current.
class Devices : public NullDriver {
 protected:
  void SetUp() override {
    ASSERT_EQ(0, kSettled);
    NullDriver::SetUp();
    ASSERT_CU(cuDevicePrimaryCtxRetain(&other, 1));
  }
  void TearDown() override {
    NullDriver::TearDown();
    EXPECT_CU(cuDevicePrimaryCtxReset(1));
  }
  /// A stream of the second device; the first one stays current.
  CUstream stream_of_other() const {
    CUstream stream = nullptr;
    EXPECT_CU(cuCtxSetCurrent(other));
    EXPECT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CU(cuCtxSetCurrent(context));
    return stream;
  }
  CUdeviceptr memory_of_other(std::size_t bytes) const {
    CUdeviceptr pointer = 0;
    EXPECT_CU(cuCtxSetCurrent(other));
    EXPECT_CU(cuMemAlloc(&pointer, bytes));
    EXPECT_CU(cuCtxSetCurrent(context));
    return pointer;
  }
  CUcontext other = nullptr;
};
