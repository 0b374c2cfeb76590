// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test with the primary context current. Each test ends with a reset of the primary context, so none sees another's
// streams or memory.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#define ASSERT_CU(call) ASSERT_EQ(CUDA_SUCCESS, call)
#define EXPECT_CU(call) EXPECT_EQ(CUDA_SUCCESS, call)

class NullDriver : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_CU(cuInit(0));
    ASSERT_CU(cuDevicePrimaryCtxRetain(&context, 0));
    ASSERT_CU(cuCtxSetCurrent(context));
  }
  void TearDown() override { EXPECT_CU(cuDevicePrimaryCtxReset(0)); }

  CUcontext context = nullptr;
};
