// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Three streams write the parts of a buffer, and who reads it wherever an index says waits for two of them.
#include <cuda_runtime.h>

struct Grid {
  int nx, ny;
};

__global__ void inside(const float* in, float* out, Grid g) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < 8 || y < 8 || x >= g.nx - 8 || y >= g.ny - 8) return;
  out[y * g.nx + x] = in[y * g.nx + x - 1];
}
__global__ void top(const float* in, float* out, Grid g) {
  const int x = threadIdx.x;
  if (x >= g.nx) return;
  for (int y = 0; y < 8; ++y) out[y * g.nx + x] = in[y * g.nx + x];
}
__global__ void frame(const float* in, float* out, Grid g) {
  const int y = 8 + blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= g.ny) return;
  for (int x = 0; x < g.nx; ++x)
    if (x < 8 || x >= g.nx - 8) out[y * g.nx + x] = in[y * g.nx + x];
}
__global__ void sample(const float* field, const int* cells, float* trace) {
  trace[threadIdx.x] = field[cells[threadIdx.x]];
}
__global__ void sample_inside(const float* field, float* trace, Grid g) {
  const int x = threadIdx.x, y = blockIdx.y;
  if (x < 16 || y < 16 || x >= g.nx - 16 || y >= g.ny - 16) return;
  trace[x] += field[y * g.nx + x];
}

class Lane {
 public:
  Lane() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done_, cudaEventDisableTiming);
  }
  cudaStream_t stream() const { return stream_; }
  void mark() { cudaEventRecord(done_, stream_); }
  void after(const Lane& other) { cudaStreamWaitEvent(stream_, other.done_, 0); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

class Wave {
 public:
  explicit Wave(Grid g) : grid_(g) {
    cudaMalloc(&now_, g.nx * g.ny * sizeof(float));
    cudaMalloc(&next_, g.nx * g.ny * sizeof(float));
  }
  ~Wave() { cudaDeviceSynchronize(); }
  void step(const int* cells, float* trace) {
    start();
    main_.after(inside_);
    main_.after(top_);
#ifdef FIXED
    main_.after(frame_);
#endif
    sample<<<1, 64, 0, main_.stream()>>>(next_, cells, trace);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'sample' on stream 'this->main_.stream_' may read 'this->next_' while kernel 'frame' on stream 'this->frame_.stream_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+36]]:5: note: 'this->next_' is written here, on stream 'this->frame_.stream_'
// CHECK-NOTES: :[[@LINE-9]]:5: note: in the call to 'Wave::start' here
// CHECK-NOTES: :[[@LINE-26]]:17: note: event 'this->frame_.done_' is recorded here, after the write, but stream 'this->main_.stream_' does not wait for it
// CHECK-NOTES: :[[@LINE+34]]:5: note: in the call to 'Lane::mark' here
// CHECK-NOTES: :[[@LINE-32]]:5: note: stream 'this->frame_.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-33]]:5: note: stream 'this->main_.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:5: note: 'this->next_' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:5: note: let stream 'this->main_.stream_' wait for event 'this->frame_.done_' with cudaStreamWaitEvent before kernel 'sample'
// CHECK-NOTES: :[[@LINE+24]]:5: note: another part of 'this->next_' is written here, and stream 'this->main_.stream_' waits for that
    cudaDeviceSynchronize();
  }
  /// What is read meanwhile is no part of the frame.
  void preview(float* trace) {
    start();
    main_.after(inside_);
    main_.after(top_);
    sample_inside<<<64, 64, 0, main_.stream()>>>(next_, trace, grid_);
    cudaDeviceSynchronize();
  }
  /// Nobody says that what is read needs the other parts.
  void probe(const int* cells, float* trace) {
    start();
    sample<<<1, 64, 0, top_.stream()>>>(next_, cells, trace);
    cudaDeviceSynchronize();
  }

 private:
  void start() {
    main_.mark();
    inside_.after(main_);
    top_.after(main_);
    frame_.after(main_);
    inside<<<dim3(2, 64), 32, 0, inside_.stream()>>>(now_, next_, grid_);
    inside_.mark();
    top<<<1, 64, 0, top_.stream()>>>(now_, next_, grid_);
    top_.mark();
    frame<<<1, 64, 0, frame_.stream()>>>(now_, next_, grid_);
    frame_.mark();
  }
  Grid grid_;
  Lane main_, inside_, top_, frame_;
  float *now_ = nullptr, *next_ = nullptr;
};
