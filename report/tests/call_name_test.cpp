// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of functions with the suffixes of their symbols, and names that only look like that.
#include "report/common/call_name.h"

#include <gtest/gtest.h>

namespace streamsan::report {
namespace {

TEST(CallName, IsWhatAProgramWrites) {
  EXPECT_EQ(written_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(written_name("cuMemcpy_ptds"), "cuMemcpy");
  EXPECT_EQ(written_name("cuStreamBeginCapture_v12"), "cuStreamBeginCapture");
  EXPECT_EQ(written_name("cuInit"), "cuInit");
}

TEST(CallName, OtherEndsStay) {
  for (const char* name : {"", "_v", "copy_v", "copy_v2b", "copy_vectors", "copy_ptsz2"})
    EXPECT_EQ(written_name(name), name);
}

TEST(CallName, OnlyTheDefaultStreamIsLeftOut) {
  EXPECT_EQ(without_variant("cudaMemcpyAsync_ptsz"), "cudaMemcpyAsync");
  EXPECT_EQ(without_variant("cudaGraphGetEdges_v2_ptsz"), "cudaGraphGetEdges_v2");
  EXPECT_EQ(without_variant("cudaGraphGetEdges_v2"), "cudaGraphGetEdges_v2");
}

}  // namespace
}  // namespace streamsan::report
