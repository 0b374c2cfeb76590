// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
//
// Which stream a field holds is known only of variables that are made here, and of which every store is in sight.
#include <cuda_runtime.h>

#include <utility>

__global__ void bake(float* loaf, float heat) { loaf[threadIdx.x] += heat; }

// The class is the file's own, and nothing in the file sets the stream.
struct Oven {
  dim3 trays{1};
  unsigned loaves = 32;
  cudaStream_t stream = nullptr;
  void widen() { trays.x *= 2; }
};
struct Kitchen {
  Oven oven;
};
void own(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  Kitchen kitchen;
  kitchen.oven.widen();
  Oven oven = kitchen.oven;
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'bake' goes to the default stream, not to stream 'stream': 'oven.stream' is never set [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: set 'oven.stream' to stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-8]]:6: note: stream 'stream' is what 'own' is given to work on
}
static Oven preheated(unsigned loaves) {
  Oven oven;
  oven.loaves = loaves;
  return oven;
}
void made_by_function(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  const Oven oven = preheated(16);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'bake' goes to the default stream, not to stream 'stream': 'oven.stream' is never set [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: set 'oven.stream' to stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-6]]:6: note: stream 'stream' is what 'made_by_function' is given to work on
}

// Objects from elsewhere may hold any stream.
Oven rented(cudaStream_t stream);
void rent(Oven& oven, cudaStream_t stream);
extern Oven shared_oven;
static Oven passed_on(cudaStream_t stream) { return rented(stream); }
static void replace(Oven& oven, cudaStream_t stream) { oven = rented(stream); }
void from_elsewhere(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  const Oven oven = rented(stream);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
}
void through_function(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  const Oven oven = passed_on(stream);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
}
void filled_elsewhere(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  Oven oven;
  rent(oven, stream);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
}
void replaced(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  Oven oven;
  replace(oven, stream);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
}
void given(float* loaf, cudaStream_t stream, const Oven& oven, Oven copy, const Oven* pointer) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
  bake<<<copy.trays, copy.loaves, 0, copy.stream>>>(loaf, 2.0f);
  bake<<<pointer->trays, pointer->loaves, 0, pointer->stream>>>(loaf, 2.0f);
  const Oven own = oven;
  bake<<<own.trays, own.loaves, 0, own.stream>>>(loaf, 2.0f);
}
void of_all(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  bake<<<shared_oven.trays, shared_oven.loaves, 0, shared_oven.stream>>>(loaf, 2.0f);
}

// A configuration that is filled here in other ways.
static cudaLaunchConfig_t configured(cudaStream_t stream) {
  cudaLaunchConfig_t how = {};
  how.stream = stream;
  return how;
}
void assigned_whole(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  cudaLaunchConfig_t how = {};
  how = configured(stream);
  cudaLaunchKernelEx(&how, bake, loaf, 2.0f);
  cudaLaunchConfig_t copy = {};
  copy = how;
  cudaLaunchKernelEx(&copy, bake, loaf, 3.0f);
}
void swapped(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  cudaLaunchConfig_t how = {}, other = configured(stream);
  std::swap(how, other);
  cudaLaunchKernelEx(&how, bake, loaf, 2.0f);
}
void by_lambda(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  cudaLaunchConfig_t how = {};
  const auto set = [&] { how.stream = stream; };
  set();
  cudaLaunchKernelEx(&how, bake, loaf, 2.0f);
}
void by_pointer(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  cudaLaunchConfig_t how = {};
  cudaLaunchConfig_t* const same = &how;
  same->stream = stream;
  cudaLaunchKernelEx(&how, bake, loaf, 2.0f);
}
void plain(float* loaf, cudaStream_t stream) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(1);
  cudaLaunchKernelEx(&how, bake, loaf, 2.0f);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'bake' goes to the default stream, not to stream 'stream': 'how.stream' is never set [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: set 'how.stream' to stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-7]]:6: note: stream 'stream' is what 'plain' is given to work on
}

// Who records an event for it means it.
void recorded(float* loaf, cudaStream_t stream, cudaEvent_t baked) {
  bake<<<1, 32, 0, stream>>>(loaf, 1.0f);
  Oven oven;
  bake<<<oven.trays, oven.loaves, 0, oven.stream>>>(loaf, 2.0f);
  cudaEventRecord(baked, oven.stream);
  cudaStreamWaitEvent(stream, baked, 0);
}
