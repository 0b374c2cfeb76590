// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): a struct of numbers that all say 0 until the caller fills them in. A table of no rows would need no work at
// all: no conflict would show.
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>

__global__ void fill_row(float* row) { row[threadIdx.x] = 1; }
__global__ void add_row(const float* row, float* sum) { sum[threadIdx.x] += row[threadIdx.x]; }

struct Shape {
  int rows = 0;
  int cols = 0;
};

class Table {
 public:
  explicit Table(const Shape& shape) {
    cudaStreamCreateWithFlags(&fill_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&sum_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming);
    const size_t bytes = shape.cols * sizeof(float);
    for (int row = 0; row < shape.rows; ++row) cudaMalloc(&rows_.emplace_back(), bytes);
    if (bytes != 0) cudaMalloc(&sums_, bytes);
  }
  ~Table() {
    cudaStreamSynchronize(fill_);
    cudaStreamSynchronize(sum_);
    for (float* row : rows_) cudaFree(row);
    cudaFree(sums_);
    cudaEventDestroy(filled_);
    cudaStreamDestroy(fill_);
    cudaStreamDestroy(sum_);
  }
  Table(const Table&) = delete;

  // Each row is filled anew for the next sum.
  void total() {
    for (size_t turn = 0; turn < rows_.size(); ++turn) {
      float* row = rows_.front();
      rows_.pop_front();
      fill_row<<<1, 256, 0, fill_>>>(row);
      rows_.push_back(row);
    }
    cudaEventRecord(filled_, fill_);
#ifdef FIXED
    cudaStreamWaitEvent(sum_, filled_, 0);
#endif
    for (float* row : rows_) add_row<<<1, 256, 0, sum_>>>(row, sums_);
// CHECK-MESSAGES: :[[@LINE-1]]:30: warning: kernel 'add_row' on stream 'sum_' may read 'rows_.emplace_back()' while kernel 'fill_row' on stream 'fill_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:7: note: 'rows_.emplace_back()' is written here, on stream 'fill_'
// CHECK-NOTES: :[[@LINE-7]]:5: note: event 'filled_' is recorded here, after the write, but stream 'sum_' does not wait for it
// CHECK-NOTES: :[[@LINE-34]]:5: note: stream 'fill_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-36]]:38: note: in the call to 'Table' here
// CHECK-NOTES: :[[@LINE-35]]:5: note: stream 'sum_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-33]]:48: note: 'rows_.emplace_back()' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:30: note: let stream 'sum_' wait for event 'filled_' with cudaStreamWaitEvent before kernel 'add_row'
// CHECK-NOTES: :[[@LINE-9]]:30: note: an object of 'Table' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaStreamSynchronize(sum_);
  }

 private:
  cudaStream_t fill_ = nullptr, sum_ = nullptr;
  cudaEvent_t filled_ = nullptr;
  std::deque<float*> rows_;
  float* sums_ = nullptr;
};
