// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies of CUPTI in one process, as two packages of Python bring them. Who has looked a function up in one of them
// gets that one's, as without StreamSan; and where there is none, nothing is found.
//
// RUN: %build_host %s %null/libcuda.so.1 -o %t -ldl
// RUN: cp %null/cupti/libcupti.so %t.second.so
// RUN: %expect 0 env LD_LIBRARY_PATH=%null %t %null/cupti/libcupti.so %t.second.so
// RUN: %expect 0 %run %t %null/cupti/libcupti.so %t.second.so
// REQUIRES: nulldriver
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

using Subscribe = int(void**, void (*)(void*, int, unsigned, const void*), void*);
using Unsubscribe = int(void*);

static void announce(void*, int, unsigned, const void*) {}

template <typename Function>
static Function* look_up(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

int main(int, char** words) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS ||
      cuMemAlloc(&memory, 4096) != CUDA_SUCCESS || cuMemsetD8(memory, 0, 4096) != CUDA_SUCCESS)
    return 2;
  // Neither in the default scope nor by the handle of the program.
  if (dlsym(RTLD_DEFAULT, "cuptiSubscribe") || dlsym(dlopen(nullptr, RTLD_NOW), "cuptiSubscribe")) return 3;

  void* libraries[2];
  void* subscribers[2] = {};
  for (int i = 0; i < 2; ++i) {
    libraries[i] = dlopen(words[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (!libraries[i]) return 4;
  }
  for (int i = 0; i < 2; ++i) {
    auto* subscribe = look_up<Subscribe>(libraries[i], "cuptiSubscribe");
    if (!subscribe || subscribe(&subscribers[i], announce, nullptr) != 0) return 5;
  }
  auto* other = look_up<Unsubscribe>(libraries[0], "cuptiUnsubscribe");
  if (subscribers[0] == subscribers[1] || !other || other(subscribers[1]) == 0) return 6;
  for (int i = 0; i < 2; ++i) {
    auto* unsubscribe = look_up<Unsubscribe>(libraries[i], "cuptiUnsubscribe");
    if (!unsubscribe || unsubscribe(subscribers[i]) != 0) return 7;
  }
  std::puts("right");
  return 0;
}
