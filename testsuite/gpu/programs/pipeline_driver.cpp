// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline as a driver-API program: linked with libcuda, kernels from a PTX file named on the command line. Here
// the program's own calls go straight to the cu* symbols, no CUDA runtime in between.
#include "driver_api.h"

int main(int argc, char** argv) {
  CUdevice device;
  CUcontext context = begin(argc, argv, &device);
  CHECK(cuCtxSetCurrent(context));
  CUmodule module;
  CHECK(cuModuleLoad(&module, argv[1]));
  CUfunction scale;
  CHECK(cuModuleGetFunction(&scale, module, "_Z5scalePKfPfif"));

  int count = 1 << 20;
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  void *host_in = nullptr, *host_out = nullptr;
  CHECK(cuMemAllocHost(&host_in, bytes));
  CHECK(cuMemAllocHost(&host_out, bytes));
  for (int i = 0; i < count; ++i) static_cast<float*>(host_in)[i] = 2.0f;
  CUdeviceptr in, out;
  CHECK(cuMemAlloc(&in, bytes));
  CHECK(cuMemAlloc(&out, bytes));
  CUstream upload, compute;
  CHECK(cuStreamCreate(&upload, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  CUevent uploaded;
  CHECK(cuEventCreate(&uploaded, CU_EVENT_DISABLE_TIMING));

  CHECK(cuMemcpyHtoDAsync(in, host_in, bytes, upload));  // site: copy
#ifdef FIXED
  CHECK(cuEventRecord(uploaded, upload));
  CHECK(cuStreamWaitEvent(compute, uploaded, CU_EVENT_WAIT_DEFAULT));
#endif
  float factor = 3.0f;
  void* arguments[] = {&in, &out, &count, &factor};
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  CHECK(cuLaunchKernel(scale, blocks, 1, 1, 256, 1, 1, 0, compute, arguments, nullptr));  // site: kernel
  CHECK(cuMemcpyDtoHAsync(host_out, out, bytes, compute));
  CHECK(cuStreamSynchronize(compute));
#if defined(FIXED) && !defined(NULL_DRIVER)
  if (static_cast<float*>(host_out)[count - 1] != 6.0f) return 3;
#endif

  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(in));
  CHECK(cuMemFree(out));
  CHECK(cuMemFreeHost(host_in));
  CHECK(cuMemFreeHost(host_out));
  CHECK(cuEventDestroy(uploaded));
  CHECK(cuStreamDestroy(upload));
  CHECK(cuStreamDestroy(compute));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
