// Polling reactor: completion of requests is discovered with cudaStreamQuery / cudaEventQuery only.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

__global__ void square_sum(const float* x, float* y, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  y[i] = v * v;
}

struct Slot {
  cudaStream_t stream{};
  float *in{}, *out{}, *host_in{}, *host_out{};
  bool busy = false;
  int id = -1;
};

class Reactor {
 public:
  Reactor(int slots, int n) : n_(n), slots_(slots) {
    for (auto& s : slots_) {
      CK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
      CK(cudaMalloc(&s.in, n * sizeof(float)));
      CK(cudaMalloc(&s.out, n * sizeof(float)));
      CK(cudaMallocHost(&s.host_in, n * sizeof(float)));
      CK(cudaMallocHost(&s.host_out, n * sizeof(float)));
    }
  }
  ~Reactor() {
    for (auto& s : slots_) {
      cudaFree(s.in), cudaFree(s.out), cudaFreeHost(s.host_in), cudaFreeHost(s.host_out);
      cudaStreamDestroy(s.stream);
    }
  }
  void run(int requests) {
    int next = 0, done = 0;
    while (done < requests) {
      for (auto& s : slots_) {
        if (s.busy) {
          cudaError_t q = cudaStreamQuery(s.stream);
          if (q == cudaErrorNotReady) continue;
          CK(q);
          total_ += s.host_out[s.id % n_];  // the query has said that the copy is over
          s.busy = false;
          ++done;
        }
        if (next < requests) submit(s, next++);
      }
      std::this_thread::yield();
    }
  }
  double total() const { return total_; }

 private:
  void submit(Slot& s, int id) {
    for (int i = 0; i < n_; ++i) s.host_in[i] = float(id + i % 3);  // last copy from here is over as well
    CK(cudaMemcpyAsync(s.in, s.host_in, n_ * sizeof(float), cudaMemcpyHostToDevice, s.stream));
    square_sum<<<n_ / 256, 256, 0, s.stream>>>(s.in, s.out, n_, 200000);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(s.host_out, s.out, n_ * sizeof(float), cudaMemcpyDeviceToHost, s.stream));
    s.busy = true;
    s.id = id;
  }
  int n_;
  std::vector<Slot> slots_;
  double total_ = 0;
};

int main() {
  Reactor reactor(3, 1 << 14);
  reactor.run(12);
  std::printf("total %f\n", reactor.total());
  CK(cudaGetLastError());
  return 0;
}
