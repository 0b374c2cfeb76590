// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads that load a module, launch a kernel of it, wait and unload it, over and over: while the kernel of one is
// being learned, the module of the other goes away, and its address comes back as another function.
#include <thread>
#include <vector>

#include "driver_api.h"

static void work(CUcontext context, const char* ptx) {
  constexpr int kCount = 1 << 14;
  CHECK(cuCtxSetCurrent(context));
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr data;
  CHECK(cuMemAlloc(&data, kCount * sizeof(float)));
  std::vector<float> host(kCount);
  for (int round = 0; round < 25; ++round) {
    CUmodule module;
    CHECK(cuModuleLoad(&module, ptx));
    CUfunction fill;
    CHECK(cuModuleGetFunction(&fill, module, "_Z4fillPfif"));
    int count = kCount - round;
    auto value = static_cast<float>(round);
    void* arguments[] = {&data, &count, &value};
    CHECK(cuLaunchKernel(fill, (kCount + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuMemcpyDtoH(host.data(), data, count * sizeof(float)));
#if !defined(NULL_DRIVER)
    if (host[0] != value || host[count - 1] != value) {
      std::fprintf(stderr, "wrong value in round %d\n", round);
      std::exit(3);
    }
#endif
  }
  CHECK(cuMemFree(data));
  CHECK(cuStreamDestroy(stream));
}

int main(int argc, char** argv) {
  CUdevice device;
  CUcontext context = begin(argc, argv, &device);
  std::thread other(work, context, argv[1]);
  work(context, argv[1]);
  other.join();
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
