// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// mfem/mfem#4253, HO: face-neighbour data is packed by a kernel and handed to a GPU-aware MPI in a method.
#include <cuda_runtime.h>
#include <mpi.h>

__global__ void pack(const double* x, double* to) { to[threadIdx.x] = x[threadIdx.x]; }

class GridFunction {
 public:
  explicit GridFunction(int n) : n_(n) {
    cudaMalloc(&send_, n * sizeof(double));
    cudaMalloc(&receive_, n * sizeof(double));
  }
  void exchange_face_data(const double* x, int neighbour) {
    MPI_Request requests[2];
    fill(x);
    MPI_Irecv(receive_, n_, MPI_DOUBLE, neighbour, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send_, n_, MPI_DOUBLE, neighbour, 7, MPI_COMM_WORLD, &requests[1]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may read 'this->send_' while kernel 'pack' on the default stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'this->send_' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:5: note: in the call to 'GridFunction::fill' here
// CHECK-NOTES: :[[@LINE-11]]:5: note: 'this->send_' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: wait for the default stream with cudaStreamSynchronize before the read
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }

 private:
  void fill(const double* x) {
    pack<<<1, 256>>>(x, send_);
#ifdef FIXED
    cudaStreamSynchronize(0);
#endif
  }
  int n_;
  double* send_ = nullptr;
  double* receive_ = nullptr;
};
