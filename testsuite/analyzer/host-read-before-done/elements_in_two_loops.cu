// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// One loop has the device write the elements of a list, the next one sends them.
#include <cuda_runtime.h>
#include <mpi.h>

#include <vector>

struct Border {
  double* sent;
  int length;
  int rank;
};

__global__ void copy_border(const double* grid, double* sent, int n) {
  if (threadIdx.x < n) sent[threadIdx.x] = grid[threadIdx.x];
}

class Grid {
 public:
  void send(const double* grid, MPI_Request* requests) {
    for (const Border& border : borders_) copy_border<<<1, 256, 0, stream_>>>(grid, border.sent, border.length);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
    for (const Border& border : borders_)
      MPI_Isend(border.sent, border.length, MPI_DOUBLE, border.rank, 0, MPI_COMM_WORLD, requests++);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: the host may read 'this->borders_[each].sent' while kernel 'copy_border' on stream 'this->stream_' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:43: note: 'this->borders_[each].sent' is written here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-3]]:7: note: wait for stream 'this->stream_' with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE-9]]:98: note: analysed for the case that 'this->borders_.size()' is 2
  }

 private:
  std::vector<Border> borders_;
  cudaStream_t stream_ = nullptr;
};
