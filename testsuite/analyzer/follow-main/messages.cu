// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A message is sent from memory that a kernel fills, by a class that keeps its requests: the library knows no stream.
#include <cuda_runtime.h>
#include <mpi.h>

#include <vector>

__global__ void pack(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

class Exchange {
 public:
  Exchange(int count, MPI_Comm comm) : count_(count), comm_(comm) {
    cudaMalloc(&sent_, count * sizeof(float));
    cudaMalloc(&received_, count * sizeof(float));
  }
  ~Exchange() {
    cudaFree(sent_);
    cudaFree(received_);
  }
  void begin(const float* values, cudaStream_t stream) {
    pack<<<(count_ + 255) / 256, 256, 0, stream>>>(values, sent_, count_);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    post();
  }
  void finish(float* values, cudaStream_t stream) {
    MPI_Waitall(static_cast<int>(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE);
    pending_.clear();
    pack<<<(count_ + 255) / 256, 256, 0, stream>>>(received_, values, count_);
    cudaStreamSynchronize(stream);
  }

 private:
  void post() {
    MPI_Request request[2];
    MPI_Irecv(received_, count_, MPI_FLOAT, 0, 0, comm_, &request[0]);
    MPI_Isend(sent_, count_, MPI_FLOAT, 0, 0, comm_, &request[1]);  // FIRES: host-read-before-done
    pending_.insert(pending_.end(), request, request + 2);
  }
  int count_;
  MPI_Comm comm_;
  float *sent_ = nullptr, *received_ = nullptr;
  std::vector<MPI_Request> pending_;
};

void steps(float* values, int count, MPI_Comm comm, int steps) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  Exchange exchange(count, comm);
  for (int i = 0; i < steps; ++i) {
    exchange.begin(values, stream);
    exchange.finish(values, stream);
  }
  cudaStreamDestroy(stream);
}
