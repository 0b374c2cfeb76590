// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DENDLESS
//
// Grids on two devices that share out one array and wait for each other while they run: which elements are whose, and when,
// is decided inside. Without the wait each has all of it.
#include <cuda_runtime.h>

struct Team {
  unsigned char* arrived;
  unsigned rank;
};

class Meeting {
 public:
  __device__ explicit Meeting(const Team& team) : team_(team) {}
  __device__ unsigned first() const { return team_.rank * gridDim.x * blockDim.x + threadIdx.x; }
#ifdef FIXED
  __device__ unsigned load() const {
    unsigned result;
    asm volatile("ld.acquire.sys.global.u8 %0, [%1];" : "=r"(result) : "l"(team_.arrived) : "memory");
    return result;
  }
  __device__ void sync() const {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence_system();
      if (team_.rank == 0) *(volatile unsigned char*)team_.arrived = 1;
#ifdef ENDLESS
      for (;;)
        if (load() != 0) break;
#else
      while (load() == 0) {
      }
#endif
    }
    __syncthreads();
  }
#else
  __device__ void sync() const { __syncthreads(); }
#endif

 private:
  const Team& team_;
};

__global__ void relax(float* field, float* residual, int n, Team team) {
  Meeting meeting(team);
  if (threadIdx.x == 0) *residual = 0;
  meeting.sync();
  for (unsigned i = meeting.first(); i < n; i += 2 * gridDim.x * blockDim.x) field[i] *= 0.5f;
}

int main() {
  const int n = 1 << 20;
  float *field = nullptr, *residual = nullptr;
  Team team{};
  cudaMallocManaged(&field, n * sizeof(float));
  cudaMallocManaged(&residual, sizeof(float));
  cudaMallocManaged(&team.arrived, 1);
  cudaStream_t streams[2];
  for (int device = 0; device < 2; ++device) {
    cudaSetDevice(device);
    cudaStreamCreate(&streams[device]);
  }
  for (int device = 0; device < 2; ++device) {
    cudaSetDevice(device);
    team.rank = device;
    relax<<<80, 256, 0, streams[device]>>>(field, residual, n, team);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'relax' on stream 'streams[device]' may write 'residual' while kernel 'relax' on stream 'streams[device]', in an earlier iteration, still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'residual' is written here, on stream 'streams[device]'
// CHECK-NOTES: :[[@LINE-8]]:5: note: stream 'streams[device]' is created here
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'residual' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: kernel 'relax' may be that of an earlier iteration: record an event in stream 'streams[device]' of that iteration after the write and let stream 'streams[device]' of the next one wait for it with cudaStreamWaitEvent before kernel 'relax'
  }
  for (int device = 0; device < 2; ++device) cudaStreamSynchronize(streams[device]);
  cudaFree(field);
  cudaFree(residual);
  cudaFree(team.arrived);
}
