// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of the host's own accesses, of the ends of memory and of PyTorch's tensors; see lowering_test.cpp.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/lowering/tests/lowered.h"

namespace streamsan::analyzer {
namespace {

// ---- the host and the ends of memory

TEST(Lowering, HostLoopsAreOneAccessFromTheirFirstIndexOn) {
  const auto touched = [](const std::string& body) {
    const std::string ops = ops_of(
        "void f(float* h, float* d, int n, int k, int step, float* const* rows, cudaStream_t s) {"
        "  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s); " +
        body + " }");
    const std::size_t host = ops.find("host writes ");
    return host == std::string::npos ? ops : ops.substr(host + 12, ops.find('\n', host) - host - 12);
  };
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) h[i] = 0;"), "h bytes {(((n + -1)) - (0)) * 4 + (4)}");
  EXPECT_EQ(touched("for (int i = 0; i < 8; ++i) h[i] = 0;"), "h bytes {32}");
  EXPECT_EQ(touched("for (int i = n; i <= 2 * n; i++) h[i] = 0;"),
            "h + {(n) @* 4} bytes {(((2 * n)) - ((n))) * 4 + (4)}");
  EXPECT_EQ(touched("for (int i = 7; i >= 4; --i) h[i] = 0;"), "h + {4 @* 4} bytes {16}");
  EXPECT_EQ(touched("for (int i = 0; i < 4; ++i) h[7 - i] = 0;"), "h + {4 @* 4} bytes {16}");
  EXPECT_EQ(touched("for (int i = 2; i < 4; ++i) for (int j = 0; j < 8; ++j) h[i * 8 + j] = 0;"),
            "h + {16 @* 4} bytes {64}");
  EXPECT_EQ(touched("int i; for (i = 3; i < 5; ++i) h[i] = 0;"), "h + {3 @* 4} bytes {8}");
  // With gaps, or not to the end: only the first element is sure.
  EXPECT_EQ(touched("for (int i = 2; i < 4; ++i) for (int j = 1; j < 8; ++j) h[i * 8 + j] = 0;"), "h + {17 @* 4}");
  EXPECT_EQ(touched("for (int i = k; i < n; i += 2) h[i] = 0;"), "h + {(k) @* 4}");
  EXPECT_EQ(touched("for (int i = 3; i < 9; ++i) { h[i] = 0; if (h[i] == d[0]) return; }"), "h + {3 @* 4}");
}

TEST(Lowering, WhatAHostLoopTouchesMayBeUnknown) {
  const auto touched = [](const std::string& body) {
    const std::string ops = ops_of(
        "bool odd(int);\nvoid f(float* h, float* d, int n, int k, const int* map, cudaStream_t s) {"
        "  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s); " +
        body + " }");
    const std::size_t host = ops.find("host writes ");
    return host == std::string::npos ? ops : ops.substr(host + 12, ops.find('\n', host) - host - 12);
  };
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) h[i % 4] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) h[(i - k) * (n - i)] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) h[map[i]] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) if (i > k) h[i] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; i *= 2) h[i] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (; k < n; ++k) h[k] = 0;"), "h + {?}");
  EXPECT_EQ(touched("int i = 3; while (i < 5) { h[i] = 0; ++i; }"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; i += k) h[i] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 7; i >= 0; i -= 2) h[i] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) { if (i == k) continue; h[i] = 0; }"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) for (int j = k; j <= i; ++j) h[i] = 0;"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) h[(unsigned char)i] = 0;"), "h + {(unsigned char)i @* 4} bytes {4}");
  EXPECT_EQ(touched("int i = 0; i = n; while (i < 2 * n) { h[i] = 0; ++i; }"), "h + {?}");
  EXPECT_EQ(touched("for (int i = 0; i < n; ++i) { h[i] = 0; int& j = i; ++j; }"), "h + {?}");
  EXPECT_EQ(touched("h[k] = 0;"), "h + {k @* 4} bytes {4}");
}

TEST(Lowering, HostAccessesThatCanMatter) {
  EXPECT_EQ(ops_of("float f(float* d, cudaStream_t s) { float h = 0; int i = 1; i += 2;\n"
                   "  cudaMemcpyAsync(&h, d, 4, cudaMemcpyDeviceToHost, s); return h + i; }"),
            "enqueue copy cudaMemcpyAsync on s writes &h bytes {4} on_host, reads d bytes {4} on_device\n"
            "host reads &h\nend_of_life &h detail \"goes out of scope\" pageable\nreturn none\n");
}

TEST(Lowering, VectorsOwnABlock) {
  EXPECT_EQ(ops_of("#include <vector>\nvoid f(float* d, cudaStream_t s) { std::vector<float> v(4);\n"
                   "  cudaMemcpyAsync(d, v.data(), 16, cudaMemcpyHostToDevice, s); v.resize(8); }"),
            "allocate v.std::vector::$data pageable\nenqueue copy cudaMemcpyAsync on s writes d bytes {16} on_device, "
            "reads v.std::vector::$data bytes {16} pageable on_host\nend_of_life v.std::vector::$data detail \"is "
            "resized\" pageable\nallocate v.std::vector::$data pageable\nend_of_life v.std::vector::$data detail "
            "\"goes out of scope\" pageable\nreturn none\n");
}

TEST(Lowering, MovedVectorsKeepTheirBlock) {
  EXPECT_EQ(ops_of("#include <utility>\n#include <vector>\nvoid f(float* d, std::vector<float>& out) {\n"
                   "  std::vector<float> v(4); cudaMemcpyAsync(d, v.data(), 16, cudaMemcpyHostToDevice, 0);\n"
                   "  out = std::move(v); }"),
            "allocate v.std::vector::$data pageable\nenqueue copy cudaMemcpyAsync on default writes d bytes {16} "
            "on_device, reads v.std::vector::$data bytes {16} pageable on_host\nend_of_life out.std::vector::$data "
            "detail \"ends\" pageable\nassign out = v\nassign out.std::vector::$data = v.std::vector::$data\nassign "
            "v.std::vector::$data = null\nend_of_life v.std::vector::$data detail \"goes out of scope\" "
            "pageable\nreturn none\n");
}

TEST(Lowering, NewAndDelete) {
  EXPECT_EQ(ops_of("void f(float* d) { float* h = new float[4]; cudaMemcpyAsync(h, d, 16, cudaMemcpyDeviceToHost, 0);\n"
                   "  delete[] h; }"),
            "allocate h pageable\nenqueue copy cudaMemcpyAsync on default writes h bytes {16} on_host, reads d bytes "
            "{16} on_device\nend_of_life h detail \"is deleted\" pageable\nreturn none\n");
}

TEST(Lowering, VariablesOfMainLiveUntilTheProcessEnds) {
  const std::string body = "{ float h[4]; cudaMemcpyAsync(h, nullptr, 16, cudaMemcpyDeviceToHost, 0); return 0; }";
  EXPECT_EQ(ops_of("int main() " + body, "main").find("end_of_life"), std::string::npos);
  EXPECT_NE(ops_of("int f() " + body).find("end_of_life"), std::string::npos);
}

TEST(Lowering, ErrorPathsThatEndTheProcessAreDropped) {
  EXPECT_EQ(ops_of("#include <stdlib.h>\n#include <stdio.h>\n"
                   "#define CHECK(x) do { cudaError_t e = (x); if (e) { printf(\"%d\", e); exit(1); } } while (0)\n"
                   "void f(cudaStream_t s) { CHECK(cudaStreamSynchronize(s)); }"),
            "sync_stream s\nreturn none\n");
}

// ---- PyTorch

TEST(Lowering, GuardsChangeTheCurrentStream) {
  EXPECT_EQ(ops_of("#include <c10/cuda/CUDAGuard.h>\n#include <torch/torch.h>\n"
                   "void f(const at::Tensor& t, c10::cuda::CUDAStream s) {\n"
                   "  c10::cuda::CUDAStreamGuard g(s); t.zero_(); }"),
            "assign g.$previous = ::$current_stream\nassign ::$current_stream = s\nenqueue library "
            "\"at::Tensor::zero_\" on ::$current_stream of_tensors updates t.at::Tensor::$data\nassign "
            "::$current_stream = "
            "g.$previous\nreturn none\n");
}

TEST(Lowering, TensorsEndOnTheStreamTheyWereMadeOn) {
  EXPECT_EQ(ops_of("#include <torch/torch.h>\nvoid f() { at::Tensor t = at::empty({4}, at::kCUDA); t.zero_(); }"),
            "allocate t.at::Tensor::$data on ::$current_stream device tensor\nassign t.$stream = ::$current_stream\n"
            "enqueue library \"at::Tensor::zero_\" on ::$current_stream of_tensors updates t.at::Tensor::$data\nfree "
            "t.at::Tensor::$data on t.$stream device tensor\nreturn none\n");
  EXPECT_EQ(ops_of("#include <torch/torch.h>\nat::Tensor f() { at::Tensor t = at::empty({4}, at::kCUDA); return t; }")
                .find("free"),
            std::string::npos);
}

}  // namespace
}  // namespace streamsan::analyzer
