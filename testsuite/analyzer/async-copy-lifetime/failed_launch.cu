// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// What the host gave to an operation that failed is its own again, and nobody else's.
#include <cuda_runtime.h>

#include <memory>

struct Note {
  int value;
};

void done(void* data);

bool notify(int value, cudaStream_t stream) {
  Note* note = new Note{value};
  const cudaError_t error = cudaLaunchHostFunc(stream, done, note);
#ifdef FIXED
  if (error != cudaSuccess) {
    delete note;
    return false;
  }
#else
  if (error == cudaSuccess) {
    delete note;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: 'note' is deleted while cudaLaunchHostFunc on stream 'stream' still reads it [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-10]]:29: note: 'note' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-12]]:16: note: 'note' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
    return true;
  }
#endif
  return error == cudaSuccess;
}

bool notify_shortly(int value, cudaStream_t stream) {
  auto note = std::make_unique<Note>(Note{value});
  cudaError_t error = cudaSuccess;
  if ((error = cudaLaunchHostFunc(stream, done, note.get())) != cudaSuccess) return false;
  note.release();
  return true;
}

static cudaError_t notify_later(cudaStream_t stream, Note* note) { return cudaLaunchHostFunc(stream, done, note); }

bool notify_by_helper(int value, cudaStream_t stream) {
  Note* note = new Note{value};
  if (auto error = notify_later(stream, note); error != cudaSuccess) {
    delete note;
    return false;
  }
  return true;
}

static cudaError_t wait_for(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

int download(float* device, cudaStream_t stream) {
  float values[64];
  if (auto error = cudaMemcpyAsync(values, device, sizeof(values), cudaMemcpyDeviceToHost, stream)) return error;
  if (auto error = wait_for(stream)) return error;
  return 0;
}

int upload(float* first, float* second, cudaStream_t stream) {
  float* staging = new float[1024];
  if (cudaMemcpyAsync(first, staging, 4096, cudaMemcpyHostToDevice, stream) != cudaSuccess) {
    delete[] staging;
    return 1;
  }
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  if (cudaMemcpyAsync(second, staging, 4096, cudaMemcpyHostToDevice, stream) != cudaSuccess) {
    delete[] staging;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: 'staging' is deleted while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-10]]:7: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-12]]:20: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
    return 1;
  }
  cudaStreamSynchronize(stream);
  delete[] staging;
  return 0;
}
