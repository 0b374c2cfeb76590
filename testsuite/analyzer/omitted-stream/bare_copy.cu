// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A function that is given a stream fills or copies with what has no stream argument, before or after its own work.
#include <cuda_runtime.h>

__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }

static void demand(cudaError_t error) {
  if (error != cudaSuccess) throw 1;
}

void filled(float* p, const float* x, cudaStream_t stream) {
#ifdef FIXED
  demand(cudaMemsetAsync(p, 0, 128, stream));
#else
  demand(cudaMemset(p, 0, 128));  // FIRES: omitted-stream
#endif
  add<<<1, 32, 0, stream>>>(p, x);
}

void row_by_row(float* p, const float* rows, const float* x, int count, cudaStream_t stream) {
  for (int i = 0; i < count; ++i) {
#ifdef FIXED
    cudaMemcpyAsync(p + 32 * i, rows + 64 * i, 128, cudaMemcpyDeviceToDevice, stream);
#else
    cudaMemcpy(p + 32 * i, rows + 64 * i, 128, cudaMemcpyDeviceToDevice);  // FIRES: omitted-stream
#endif
  }
  add<<<1, 32, 0, stream>>>(p, x);
}

void read_back(float* host, float* p, const float* x, cudaStream_t stream) {
  add<<<1, 32, 0, stream>>>(p, x);
#ifdef FIXED
  cudaStreamSynchronize(stream);
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);
#else
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);  // FIRES: omitted-stream
#endif
}

// The next call writes the variable again while this kernel may still read it. Who asks only afterwards whether there is
// a stream has left it out all the same.
__constant__ float factors[32];
__global__ void weigh(float* p) { p[threadIdx.x] *= factors[threadIdx.x]; }
void weighed(float* p, const float* host, cudaStream_t stream) {
#ifdef FIXED
  cudaMemcpyToSymbolAsync(factors, host, 128, 0, cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpyToSymbol(factors, host, 128);  // FIRES: omitted-stream
#endif
  weigh<<<1, 32, 0, stream>>>(p);
  if (stream == nullptr) cudaDeviceSynchronize();
}
void weighed_and_waited(float* p, const float* host, cudaStream_t stream) {
  cudaMemcpyToSymbol(factors, host, 128);
  weigh<<<1, 32, 0, stream>>>(p);
  cudaStreamSynchronize(stream);
}

// The host waits in between, here or in a helper; code that is not known may; other memory; an event orders the two.
static void finish(cudaStream_t stream) { demand(cudaStreamSynchronize(stream)); }
void unknown();
void waits(float* p, const float* x, cudaStream_t stream) {
  cudaMemset(p, 0, 128);
  cudaDeviceSynchronize();
  add<<<1, 32, 0, stream>>>(p, x);
  finish(stream);
  cudaMemset(p, 0, 128);
}
void may_wait(float* p, const float* x, cudaStream_t stream) {
  cudaMemset(p, 0, 128);
  unknown();
  add<<<1, 32, 0, stream>>>(p, x);
}
void other(float* p, float* q, const float* x, cudaStream_t stream) {
  cudaMemset(q, 0, 128);
  add<<<1, 32, 0, stream>>>(p, x);
}
void joined(float* p, const float* x, cudaStream_t stream, cudaEvent_t ready) {
  cudaMemset(p, 0, 128);
  cudaEventRecord(ready);
  cudaStreamWaitEvent(stream, ready, 0);
  add<<<1, 32, 0, stream>>>(p, x);
}

// A copy from the host returns when the host's side is done; one to it waits for the fill.
void uploaded(float* p, const float* host, const float* x, cudaStream_t stream) {
  cudaMemcpy(p, host, 128, cudaMemcpyHostToDevice);
  add<<<1, 32, 0, stream>>>(p, x);
}
void looked_at(float* host, float* p, const float* x, cudaStream_t stream) {
  cudaMemset(p, 0, 128);
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);
  add<<<1, 32, 0, stream>>>(p, x);
}

// No evidence: who asks about the stream, who makes it.
void asked(float* p, const float* x, cudaStream_t stream) {
  if (stream == nullptr) {
    cudaMemset(p, 0, 128);
  } else {
    cudaMemsetAsync(p, 0, 128, stream);
  }
  add<<<1, 32, 0, stream>>>(p, x);
}
void made(float* p, const float* x) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemset(p, 0, 128);
  add<<<1, 32, 0, stream>>>(p, x);
  cudaStreamDestroy(stream);
}
