// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A global flag that is asked twice answers the same, whatever unknown code ran in between; not where code in sight
// writes it, nor from round to round of a loop. After AMReX's DeviceScalar, which asks whether there is a device.
#include <cuda_runtime.h>

extern bool on_device;
static int depth;
void unknown();

inline bool launches() { return on_device; }

#ifdef FIXED
static void switch_off() {}
#else
static void switch_off() { on_device = false; }
#endif

static float* fetch(const float* from, cudaStream_t stream) {
  float* to = nullptr;
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
  return to;
}

// What the guard has set is still so.
float behind_a_guard(const float* from, cudaStream_t stream) {
  on_device = true;
  unknown();
  const float* to = fetch(from, stream);
  switch_off();
  if (launches()) {
    cudaStreamSynchronize(stream);
    return to[0];
  }
  return to[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'to' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-16]]:3: note: 'to' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:21: note: in the call to 'fetch' here
// CHECK-NOTES: :[[@LINE-19]]:3: note: 'to' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:10: note: wait for stream 'stream' with cudaStreamSynchronize before the read
}

// Nor do two branches contradict each other.
float by_two_branches(const float* from, cudaStream_t stream) {
  if (depth != 0) return 0;
  unknown();
  const float* to = fetch(from, stream);
  if (depth != 0) return to[0];
  cudaStreamSynchronize(stream);
  return to[0];
}

// A loop that waits for a flag ends.
float until_it_changes(const float* from, cudaStream_t stream) {
  depth = 1;
  while (depth != 0) unknown();
  const float* to = fetch(from, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  return to[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'to' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-42]]:3: note: 'to' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:21: note: in the call to 'fetch' here
// CHECK-NOTES: :[[@LINE-45]]:3: note: 'to' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:10: note: wait for stream 'stream' with cudaStreamSynchronize before the read
}
