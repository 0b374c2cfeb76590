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

// By lists of indices each kernel has its own cells, and what goes out first is done first.
__global__ void update(const int* cells, int n, const float* now, float* next) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[cells[i]] = now[cells[i]] * 0.5f;
}
__global__ void pack(const int* cells, int n, const float* field, float* message) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) message[i] = field[cells[i]];
}
struct List {
  const int* cells;
  int n;
};
class Mesh {
 public:
  explicit Mesh(int cells) {
    cudaMalloc(&now_, cells * sizeof(float));
    cudaMalloc(&next_, cells * sizeof(float));
    cudaMalloc(&message_, cells * sizeof(float));
  }
  ~Mesh() { cudaDeviceSynchronize(); }
  void step(List inner, List edge) {
    update<<<edge.n / 128 + 1, 128, 0, edge_.stream()>>>(edge.cells, edge.n, now_, next_);
    edge_.mark();
    update<<<inner.n / 128 + 1, 128, 0, inner_.stream()>>>(inner.cells, inner.n, now_, next_);
    send_.after(edge_);
    pack<<<edge.n / 128 + 1, 128, 0, send_.stream()>>>(edge.cells, edge.n, next_, message_);
    cudaDeviceSynchronize();
  }

 private:
  Lane inner_, edge_, send_;
  float *now_ = nullptr, *next_ = nullptr, *message_ = nullptr;
};

// Rows that need one neighbour's values do not wait for the other one's; the stream waits for those later.
__global__ void unpack(const float* message, float* x, int first, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[first + i] = message[i];
}
__global__ void unpack_rows(const float* message, float* x, Grid g) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 8 && i < g.nx) x[i] = message[i];
}
__global__ void multiply(const int* columns, const float* x, float* y) { y[threadIdx.x] = x[columns[threadIdx.x]]; }

void multiply_overlapped(const int* columns, const float* left, const float* right, float* x, float* y, int n, Grid g) {
  Lane main, from_left, from_right;
  unpack<<<1, 64, 0, from_left.stream()>>>(left, x, n, 64);
  from_left.mark();
  unpack_rows<<<1, 64, 0, from_right.stream()>>>(right, x, g);
  from_right.mark();
  main.after(from_left);
  multiply<<<1, 64, 0, main.stream()>>>(columns, x, y);
  main.after(from_right);
  multiply<<<1, 64, 0, main.stream()>>>(columns + 64, x, y + 64);
  cudaStreamSynchronize(main.stream());
}
