// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules from PTX text, libraries with registered names, parameters of kernels, launches.

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[64];
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .f32 scale_param_1,
	.param .align 8 .b8 scale_param_2[24]
)
{
	ld.global.f32 	%f1, [%rd1];
	ret;
}
.visible .entry empty()
{
	ret;
}
)";

class Module : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    ASSERT_CU(cuModuleLoadData(&module, kPtx));
  }
  CUfunction function(const char* name) const {
    CUfunction result = nullptr;
    EXPECT_CU(cuModuleGetFunction(&result, module, name));
    return result;
  }
  static CUresult launch(CUfunction f, unsigned threads = 32, void** parameters = nullptr, CUstream stream = nullptr) {
    return cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }
  CUmodule module = nullptr;
};

TEST_F(Module, KnowsTheEntriesOfPtx) {
  CUfunction none = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "scal"));
  EXPECT_EQ(nullptr, none);
  const char* name = nullptr;
  EXPECT_CU(cuFuncGetName(&name, function("scale")));
  EXPECT_STREQ("scale", name);
  EXPECT_EQ(function("scale"), function("scale"));
}

TEST_F(Module, ParametersOfPtxAreExact) {
  const std::pair<size_t, size_t> expected[] = {{0, 8}, {8, 4}, {16, 24}};
  CUfunction scale = function("scale");
  size_t offset = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_CU(cuFuncGetParamInfo(scale, i, &offset, &bytes));
    EXPECT_EQ(expected[i], std::make_pair(offset, bytes));
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(scale, 3, &offset, &bytes));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(function("empty"), 0, &offset, &bytes));
}

TEST_F(Module, VariablesAreMemory) {
  CUdeviceptr table = 0;
  CUdeviceptr again = 0;
  size_t bytes = 0;
  ASSERT_CU(cuModuleGetGlobal(&table, &bytes, module, "table"));
  EXPECT_EQ(64u, bytes);
  EXPECT_CU(cuMemsetD8(table, 1, bytes));
  ASSERT_CU(cuModuleGetGlobal(&again, nullptr, module, "table"));
  EXPECT_EQ(table, again);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(table));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&table, &bytes, module, "f32"));
}

TEST_F(Module, VariableOfADeadContextGetsNewMemory) {
  CUcontext other = nullptr;
  CUmodule theirs = nullptr;
  CUdeviceptr table = 0;
  size_t bytes = 0;
  ASSERT_CU(cuCtxCreate(&other, nullptr, 0, 0));
  ASSERT_CU(cuModuleLoadData(&theirs, kPtx));
  ASSERT_CU(cuModuleGetGlobal(&table, &bytes, theirs, "table"));
  ASSERT_CU(cuCtxDestroy(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(table, 1, bytes));
  ASSERT_CU(cuModuleGetGlobal(&table, &bytes, theirs, "table"));
  EXPECT_CU(cuMemsetD8(table, 1, bytes));
}

TEST_F(Module, LaunchChecksHandleAndLimits) {
  CUfunction scale = function("scale");
  EXPECT_CU(launch(scale));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(scale, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(scale, 1025));
  ASSERT_CU(cuModuleUnload(module));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(scale));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
}

TEST_F(Module, GarbageIsNoImage) {
  CUmodule other = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&other, "This is not device code."));
}

float last_scale = 0;

/// A registered body gets the arguments; a captured launch those of the time of the capture.
TEST_F(Module, RegisteredBodyRuns) {
  using Register = void (*)(const char*, void (*)(void**));
  const auto set_body = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "streamsan_null_register_kernel_body"));
  ASSERT_NE(nullptr, set_body);
  set_body("scale", [](void** parameters) { last_scale = *static_cast<float*>(parameters[1]); });
  CUfunction scale = function("scale");
  CUdeviceptr pointer = 0;
  float factor = 2;
  char structure[24] = {};
  void* parameters[] = {&pointer, &factor, structure};
  ASSERT_CU(launch(scale, 32, parameters));
  EXPECT_EQ(2, last_scale);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CU(cuStreamCreate(&stream, 0));
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  factor = 3;
  ASSERT_CU(launch(scale, 32, parameters, stream));
  ASSERT_CU(cuStreamEndCapture(stream, &graph));
  factor = 4;
  EXPECT_EQ(2, last_scale);
  ASSERT_CU(cuGraphInstantiate(&exec, graph, 0));
  ASSERT_CU(cuGraphLaunch(exec, stream));
  EXPECT_EQ(3, last_scale);
  set_body("scale", nullptr);
}

class Library : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    const auto tell =
        reinterpret_cast<void (*)(const void*, const char*)>(dlsym(RTLD_DEFAULT, "streamsan_null_register_function"));
    ASSERT_NE(nullptr, tell);
    for (const char* name : {kPointers, kTemplate, kStructure}) tell(image.data(), name);
    ASSERT_CU(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  CUkernel kernel(const char* name) const {
    CUkernel result = nullptr;
    EXPECT_CU(cuLibraryGetKernel(&result, library, name));
    return result;
  }
  static constexpr const char* kPointers = "_Z7consumePKfiPdsb";  // consume(float const*, int, double*, short, bool)
  static constexpr const char* kTemplate = "_Z4fillI1SLi3EEvPT_S1_";  // void fill<S, 3>(S*, S)
  static constexpr const char* kStructure = "_Z4take3Big";            // take(Big)
  /// The header of an empty fat binary.
  std::vector<unsigned> image = {0xba55ed50, 0x00100001, 0, 0, 0, 0, 0, 0};
  CUlibrary library = nullptr;
};

TEST_F(Library, ParametersComeFromTheMangledName) {
  const std::pair<size_t, size_t> expected[] = {{0, 8}, {8, 4}, {16, 8}, {24, 2}, {26, 1}};
  size_t offset = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_CU(cuKernelGetParamInfo(kernel(kPointers), i, &offset, &bytes));
    EXPECT_EQ(expected[i], std::make_pair(offset, bytes));
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(kernel(kPointers), 5, &offset, &bytes));
}

TEST_F(Library, StructureByValueHasNoKnownLayout) {
  size_t offset = 0;
  size_t bytes = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuKernelGetParamInfo(kernel(kStructure), 0, &offset, &bytes));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuKernelGetParamInfo(kernel(kTemplate), 0, &offset, &bytes));
}

TEST_F(Library, KernelIsAcceptedAsFunction) {
  CUkernel consume = kernel(kPointers);
  auto* as_function = reinterpret_cast<CUfunction>(consume);
  const char* name = nullptr;
  EXPECT_CU(cuFuncGetName(&name, as_function));
  EXPECT_STREQ(kPointers, name);
  EXPECT_CU(cuLaunchKernel(as_function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CUfunction function = nullptr;
  EXPECT_CU(cuKernelGetFunction(&function, consume));
  EXPECT_CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASSERT_CU(cuLibraryUnload(library));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName(&name, as_function));
}

}  // namespace
