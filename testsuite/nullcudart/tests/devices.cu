// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// STREAMSAN_NULL_DEVICES: each host thread has its current device, objects belong to it, and what may not cross from
// one device to another is refused.
//
// RUN: %build_static -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %t | %filecheck %s --check-prefix=TWO
// RUN: %t | %filecheck %s --check-prefix=ONE
// RUN: not env STREAMSAN_NULL_DEVICES=9 %t 2>&1 | %filecheck %s --check-prefix=WRONG
// RUN: not env STREAMSAN_NULL_DEVICES=0 %t 2>&1 | %filecheck %s --check-prefix=WRONG
// WRONG: null driver: cannot understand STREAMSAN_NULL_DEVICES: {{[09]}}

#include <cstring>
#include <thread>

#include "check.h"

__device__ int counter;
__global__ void work(int*) {}

const char* name(cudaError_t error) { return cudaGetErrorName(error); }

cudaError_t launch(cudaStream_t stream) {
  cudaGetLastError();
  work<<<1, 32, 0, stream>>>(nullptr);
  return cudaGetLastError();
}

int current() {
  int device = -1;
  CHECK(cudaGetDevice(&device));
  return device;
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  // TWO: 2 devices, second cudaSuccess, third cudaErrorInvalidDevice, current 1
  // ONE: 1 devices, second cudaErrorInvalidDevice, third cudaErrorInvalidDevice, current 0
  const cudaError_t second = cudaSetDevice(1);
  std::printf("%d devices, second %s, third %s, current %d\n", count, name(second), name(cudaSetDevice(2)), current());
  if (second != cudaSuccess) return 0;
  // TWO-NEXT: another thread: 0
  std::thread([] { std::printf("another thread: %d\n", current()); }).join();

  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 1));
  // TWO-NEXT: StreamSan null device 1 on bus 1
  std::printf("%s on bus %d\n", properties.name, properties.pciBusID);

  int in[2] = {3, 4}, out[4] = {};
  int *near, *far;
  void *near_counter, *far_counter;
  cudaStream_t near_stream, far_stream;
  CHECK(cudaMalloc(&far, sizeof(in)));
  CHECK(cudaStreamCreate(&far_stream));
  CHECK(cudaGetSymbolAddress(&far_counter, counter));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&near, sizeof(in)));
  CHECK(cudaStreamCreate(&near_stream));
  CHECK(cudaGetSymbolAddress(&near_counter, counter));
  cudaPointerAttributes attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, far));
  int device = -1;
  CHECK(cudaStreamGetDevice(far_stream, &device));
  // TWO-NEXT: memory 1, stream 1, variables apart 1
  std::printf("memory %d, stream %d, variables apart %d\n", attributes.device, device, near_counter != far_counter);

  // Kernels want a stream of the current device, events one of their own, copies any.
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  // TWO-NEXT: launch cudaSuccess cudaErrorInvalidResourceHandle, record cudaErrorInvalidResourceHandle
  std::printf("launch %s ", name(launch(near_stream)));
  std::printf("%s, record %s\n", name(launch(far_stream)), name(cudaEventRecord(event, far_stream)));
  CHECK(cudaEventRecord(event, near_stream));
  CHECK(cudaStreamWaitEvent(far_stream, event));
  CHECK(cudaMemcpyAsync(near, in, sizeof(in), cudaMemcpyHostToDevice, far_stream));
  CHECK(cudaMemcpyPeerAsync(far, 1, near, 0, sizeof(in), far_stream));
  CHECK(cudaMemcpy(out, far, sizeof(in), cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(near, 0, sizeof(in)));
  CHECK(cudaMemcpyPeer(near, 0, far, 1, sizeof(int)));
  cudaMemcpy3DPeerParms shape{};
  shape.dstDevice = 0;
  shape.dstPtr = make_cudaPitchedPtr(near, sizeof(in), sizeof(in), 1);
  shape.srcDevice = 1;
  shape.srcPtr = make_cudaPitchedPtr(far, sizeof(in), sizeof(in), 1);
  shape.dstPos.x = shape.srcPos.x = sizeof(int);
  shape.extent = make_cudaExtent(sizeof(int), 1, 1);
  CHECK(cudaMemcpy3DPeer(&shape));
  CHECK(cudaMemcpy(out + 2, near, sizeof(in), cudaMemcpyDeviceToHost));
  // TWO-NEXT: out: 3 4 3 4
  std::printf("out: %d %d %d %d\n", out[0], out[1], out[2], out[3]);
  // TWO-NEXT: no third device: cudaErrorInvalidDevice
  std::printf("no third device: %s\n", name(cudaMemcpyPeer(near, 0, far, 2, sizeof(in))));

  int can = 0, self = 1;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(cudaDeviceCanAccessPeer(&self, 0, 0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  // TWO-NEXT: peer 1, self 0: cudaErrorPeerAccessAlreadyEnabled, cudaErrorInvalidDevice
  std::printf("peer %d, self %d: %s, ", can, self, name(cudaDeviceEnablePeerAccess(1, 0)));
  std::printf("%s\n", name(cudaDeviceEnablePeerAccess(0, 0)));
  CHECK(cudaDeviceDisablePeerAccess(1));
  // TWO-NEXT: disabled: cudaErrorPeerAccessNotEnabled
  std::printf("disabled: %s\n", name(cudaDeviceDisablePeerAccess(1)));

  cudaMemPool_t pool;
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = 1;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));

  CHECK(cudaSetDevice(1));
  CHECK(launch(far_stream));
  CHECK(cudaDeviceReset());
  // TWO-NEXT: reset: cudaErrorInvalidResourceHandle, the first cudaSuccess, the second anew cudaSuccess on 1
  std::printf("reset: %s, the first %s, ", name(cudaStreamQuery(far_stream)), name(cudaStreamQuery(near_stream)));
  std::printf("the second anew %s on %d\n", name(cudaMalloc(&far, 8)), current());
}
