// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The kind of memory that static variables and fields hold: from their initialisers, from a function that makes it and
// returns it, from the one function that fills a variable of this file.
#include <cuda_runtime.h>

__global__ void norm(const float* x, float* sum) { atomicAdd(sum, x[threadIdx.x]); }

bool by_lambda(const float* x, cudaStream_t s) {
  static float* device = [] {
    float* p;
    cudaMalloc(&p, 4);
    return p;
  }();
  static float* host = [] {
    float* p;
    cudaMallocHost(&p, 4);
    return p;
  }();
  norm<<<1, 32, 0, s>>>(x, device);
  cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  return *host < 1.0f;
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'by_lambda::host' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'by_lambda::host' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE-11]]:5: note: 'by_lambda::host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for stream 's' with cudaStreamSynchronize before the read
}

template <typename T>
T* make_pinned(size_t n) {
  void* p = nullptr;
  cudaHostAlloc(&p, n * sizeof(T), cudaHostAllocDefault);
  return static_cast<T*>(p);
}

float by_function(const float* x, float* device, cudaStream_t s) {
  static float* const host = make_pinned<float>(1);
  norm<<<1, 32, 0, s>>>(x, device);
  cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  return host[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'by_function::host' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'by_function::host' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'by_function::host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for stream 's' with cudaStreamSynchronize before the read
}

class Meter {
 public:
  Meter() : host_(make_pinned<float>(1)) { cudaMalloc(&device_, 4); }
  float read(const float* x, cudaStream_t s) {
    norm<<<1, 32, 0, s>>>(x, device_);
    cudaMemcpyAsync(host_, device_, 4, cudaMemcpyDeviceToHost, s);
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
    return *host_;
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may read 'this->host_' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'this->host_' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE-30]]:3: note: 'this->host_' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:12: note: wait for stream 's' with cudaStreamSynchronize before the read
  }

 private:
  float* host_;
  float* device_;
};

namespace {
float* residual;
}
void set_up() { cudaMallocHost(&residual, 4); }

float by_set_up(const float* device, cudaStream_t s) {
  cudaMemcpyAsync(residual, device, 4, cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  return *residual;
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'residual' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'residual' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE-10]]:17: note: 'residual' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for stream 's' with cudaStreamSynchronize before the read
}

// Not known: other files can store to it, a caller did, a helper may have. Pageable: today's driver waits. Silent.
float* shared;
void set_up_shared() { cudaMallocHost(&shared, 4); }
static float* given;
void give(float* p) { given = p; }
static float* helped;
void help(float** out);
void set_up_helped() {
  cudaMallocHost(&helped, 4);
  help(&helped);
}

float not_known(const float* device, cudaStream_t s) {
  static float* pageable = new float;
  cudaMemcpyAsync(shared, device, 4, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(given, device, 4, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(helped, device, 4, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(pageable, device, 4, cudaMemcpyDeviceToHost, s);
  return *shared + *given + *helped + *pageable;
}
