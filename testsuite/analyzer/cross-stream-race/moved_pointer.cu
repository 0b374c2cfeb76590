// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel moves its pointer before it uses it, hands on another one, or chooses by a number in memory: it touches
// another part than the one that the pointer it was given begins with. What is 0 for the first block moves nothing.
#include <cuda_runtime.h>

struct Track {
  float* samples;
  __device__ void skip(int count) { samples += count; }
  __device__ float& at(int i) { return samples[i]; }
  __device__ float& behind_intro(int i) { return samples[i + 1024]; }
};

__global__ void mute_tail(float* track) {
  track += 1024;
  track[threadIdx.x] = 0;
}

__global__ void mute_channels(float* track, int length) {
  const int channel = blockIdx.y;
  track += channel * length;
  track[threadIdx.x] = 0;
}

__global__ void mute_before_move(float* track) {
  track[threadIdx.x] = 0;
  track += 1024;
}

__global__ void mute_skipped(Track track) {
  track.skip(1024);
  track.samples[threadIdx.x] = 0;
}

__global__ void mute_view(float* track) {
  Track view{track + 1024};
  view.at(threadIdx.x) = 0;
}

__global__ void mute_behind(Track track) { track.behind_intro(threadIdx.x) = 0; }

__global__ void mute_all(Track track) { track.at(threadIdx.x) = 0; }

__global__ void mute_from(const int* first, float* track) { track[*first + threadIdx.x] = 0; }

__global__ void mute_or_mark(float* track, long long key) {
  if (key == 7) track[threadIdx.x] = 0;
  if (key != 7) track[1024 + threadIdx.x] = 1;
}

__global__ void mute_either(float* track, long long key) {
  if (key == 7)
    track[threadIdx.x] = 0;
  else
    track[threadIdx.x] = 1;
}

void edit_tracks(float* host, const int* first, long long key) {
  cudaStream_t edit, save;
  cudaStreamCreateWithFlags(&edit, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&save, cudaStreamNonBlocking);
  float* track;
  cudaMalloc(&track, 2048 * sizeof(float));

  mute_tail<<<1, 256, 0, edit>>>(track);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

  mute_skipped<<<1, 256, 0, edit>>>(Track{track});
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

  mute_view<<<1, 256, 0, edit>>>(track);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

  mute_behind<<<1, 256, 0, edit>>>(Track{track});
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

  mute_from<<<1, 256, 0, edit>>>(first, track);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

  mute_or_mark<<<1, 256, 0, edit>>>(track, key);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
  cudaDeviceSynchronize();

#ifndef FIXED
  mute_channels<<<dim3(1, 2), 256, 0, edit>>>(track, 1024);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'save' may read 'track' while kernel 'mute_channels' on stream 'edit' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'track' is written here, on stream 'edit'
// CHECK-NOTES: :[[@LINE-34]]:3: note: stream 'edit' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-34]]:3: note: stream 'save' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-33]]:3: note: 'track' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'save' after stream 'edit': record an event in stream 'edit' after the write and let stream 'save' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaDeviceSynchronize();

  mute_before_move<<<1, 256, 0, edit>>>(track);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'save' may read 'track' while kernel 'mute_before_move' on stream 'edit' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'track' is written here, on stream 'edit'
// CHECK-NOTES: :[[@LINE-44]]:3: note: stream 'edit' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-44]]:3: note: stream 'save' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-43]]:3: note: 'track' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'save' after stream 'edit': record an event in stream 'edit' after the write and let stream 'save' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaDeviceSynchronize();

  mute_all<<<1, 256, 0, edit>>>(Track{track});
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'save' may read 'track' while kernel 'mute_all' on stream 'edit' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'track' is written here, on stream 'edit'
// CHECK-NOTES: :[[@LINE-54]]:3: note: stream 'edit' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-54]]:3: note: stream 'save' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-53]]:3: note: 'track' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'save' after stream 'edit': record an event in stream 'edit' after the write and let stream 'save' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaDeviceSynchronize();

  mute_either<<<1, 256, 0, edit>>>(track, key);
  cudaMemcpyAsync(host, track, 1024 * sizeof(float), cudaMemcpyDeviceToHost, save);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'save' may read 'track' while kernel 'mute_either' on stream 'edit' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'track' is written here, on stream 'edit'
// CHECK-NOTES: :[[@LINE-64]]:3: note: stream 'edit' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-64]]:3: note: stream 'save' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-63]]:3: note: 'track' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'save' after stream 'edit': record an event in stream 'edit' after the write and let stream 'save' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaDeviceSynchronize();
#endif
  cudaFree(track);
  cudaStreamDestroy(edit);
  cudaStreamDestroy(save);
}
