// Distributed vector with unified memory: ghost values are packed on the device and given to the message layer.
// Modelled on dealii/dealii#8880.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#define AssertCuda(x)                                                                     \
  do {                                                                                    \
    cudaError_t e_ = (x);                                                                 \
    if (e_ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));     \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

// Eager-protocol message layer of a single-process build: the payload is copied at the call.
class Communicator {
 public:
  void isend(const double* buf, size_t count, int tag) {
    auto& box = mail_[tag];
    box.resize(count);
    std::memcpy(box.data(), buf, count * sizeof(double));
  }
  void recv(double* buf, size_t count, int tag) { std::memcpy(buf, mail_[tag].data(), count * sizeof(double)); }

 private:
  std::map<int, std::vector<double>> mail_;
};

__global__ void vmult(double* x, int n, int sweeps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  for (int k = 0; k < sweeps; ++k) v = v * 0.99999 + 1e-5;
  x[i] = v;
}
__global__ void gather(const double* x, const int* indices, double* import_data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) import_data[i] = x[indices[i]];
}
__global__ void add_ghosts(double* x, const double* ghosts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 0.5 * ghosts[i];
}

class Partitioner {
 public:
  Partitioner(Communicator& comm, int n_export) : comm_(comm), n_(n_export) {
    AssertCuda(cudaMallocManaged(&import_data_, n_ * sizeof(double)));
    AssertCuda(cudaMallocManaged(&ghost_data_, n_ * sizeof(double)));
    AssertCuda(cudaMallocManaged(&indices_, n_ * sizeof(int)));
    for (int i = 0; i < n_; ++i) indices_[i] = i * 3;
  }
  ~Partitioner() { cudaFree(import_data_), cudaFree(ghost_data_), cudaFree(indices_); }

  void export_to_ghosts_start(const double* x, int tag, cudaStream_t s) {
    gather<<<(n_ + 127) / 128, 128, 0, s>>>(x, indices_, import_data_, n_);
    AssertCuda(cudaGetLastError());
#ifdef FIXED
    AssertCuda(cudaStreamSynchronize(s));
#endif
    comm_.isend(import_data_, n_, tag);
  }
  void export_to_ghosts_finish(double* x, int tag, cudaStream_t s) {
    comm_.recv(ghost_data_, n_, tag);
    add_ghosts<<<(n_ + 127) / 128, 128, 0, s>>>(x, ghost_data_, n_);
    AssertCuda(cudaGetLastError());
  }

 private:
  Communicator& comm_;
  int n_;
  double *import_data_{}, *ghost_data_{};
  int* indices_{};
};

int main() {
  constexpr int n = 1 << 15, n_export = 4096;
  cudaStream_t stream;
  AssertCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  double* x;
  AssertCuda(cudaMalloc(&x, n * sizeof(double)));
  AssertCuda(cudaMemsetAsync(x, 0, n * sizeof(double), stream));
  Communicator comm;
  {
    Partitioner part(comm, n_export);
    for (int it = 0; it < 4; ++it) {
      vmult<<<n / 128, 128, 0, stream>>>(x, n, 60000);
      part.export_to_ghosts_start(x, it, stream);
      part.export_to_ghosts_finish(x, it, stream);
      AssertCuda(cudaStreamSynchronize(stream));  // ghost buffer is free again
    }
  }
  double h;
  AssertCuda(cudaMemcpy(&h, x + 12, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("x[12] = %g\n", h);
  AssertCuda(cudaFree(x));
  AssertCuda(cudaStreamDestroy(stream));
  return 0;
}
