// Census of a cellular automaton. The streams here are ordinary (blocking) ones, so the legacy default
// stream is the meeting point between them, and the plain copies and Thrust calls wait on the host.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_OK(x)                                                                     \
  do {                                                                                 \
    cudaError_t e_ = (x);                                                              \
    if (e_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_));             \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

constexpr int kSide = 1024;
constexpr int kCells = kSide * kSide;

// Updates rows [y0, y0 + rows).
__global__ void evolve(const unsigned char* in, unsigned char* out, int y0) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = y0 + blockIdx.y;
  if (x >= kSide) return;
  int n = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) n += in[((y + dy + kSide) % kSide) * kSide + (x + dx + kSide) % kSide];
  out[y * kSide + x] = n == 3 || (n == 2 && in[y * kSide + x]);
}

__global__ void swapRows(unsigned char* a, unsigned char* b) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= kSide) return;
  unsigned char t = a[x];
  a[x] = b[x];
  b[x] = t;
}

class Automaton {
 public:
  explicit Automaton(unsigned seed) {
    CUDA_OK(cudaStreamCreate(&top_));
    CUDA_OK(cudaStreamCreate(&bottom_));
    CUDA_OK(cudaMalloc(&cur_, kCells));
    CUDA_OK(cudaMalloc(&nxt_, kCells));
    std::vector<unsigned char> cells(kCells);
    for (auto& c : cells) {
      seed = seed * 1664525u + 1013904223u;
      c = seed >> 31;
    }
    CUDA_OK(cudaMemcpy(cur_, cells.data(), kCells, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(nxt_, 0, kCells));
  }
  ~Automaton() {
    cudaStreamSynchronize(top_);
    cudaStreamSynchronize(bottom_);
    cudaFree(cur_);
    cudaFree(nxt_);
    cudaStreamDestroy(top_);
    cudaStreamDestroy(bottom_);
  }
  Automaton(const Automaton&) = delete;
  Automaton& operator=(const Automaton&) = delete;

  // The halves run side by side; the kernel on the default stream starts after both and holds up
  // both until it is done.
  void step() {
    const dim3 half(kSide / 128, kSide / 2);
    evolve<<<half, 128, 0, top_>>>(cur_, nxt_, 0);
    evolve<<<half, 128, 0, bottom_>>>(cur_, nxt_, kSide / 2);
    swapRows<<<kSide / 128, 128>>>(nxt_, nxt_ + (kSide - 1) * kSide);
    std::swap(cur_, nxt_);
  }

  long alive() {
    thrust::device_ptr<const unsigned char> p(cur_);
    return thrust::reduce(thrust::cuda::par.on(top_), p, p + kCells, 0L, thrust::plus<long>());
  }

  std::vector<unsigned char> row(int y) {
    std::vector<unsigned char> host(kSide);
    CUDA_OK(cudaMemcpy(host.data(), cur_ + y * kSide, kSide, cudaMemcpyDeviceToHost));
    return host;
  }

  // Copies the rows [0, n) into `host`, pageable memory; the halves do not stop for it.
  void preview(std::vector<unsigned char>& host, int n) {
    host.resize(static_cast<size_t>(n) * kSide);
    CUDA_OK(cudaMemcpyAsync(host.data(), cur_, host.size(), cudaMemcpyDeviceToHost, top_));
    CUDA_OK(cudaStreamSynchronize(top_));
  }

 private:
  cudaStream_t top_ = nullptr, bottom_ = nullptr;
  unsigned char *cur_ = nullptr, *nxt_ = nullptr;
};

int main() {
  Automaton a(42);
  std::vector<unsigned char> preview;
  for (int s = 0; s < 500; ++s) {
    a.step();
    if (s % 100 == 0) {
      a.preview(preview, 8);
      std::printf("step %d: %ld alive, first cell %d\n", s, a.alive(), preview[0]);
    }
  }
  int in_row = 0;
  for (unsigned char c : a.row(kSide / 2)) in_row += c;
  std::printf("end: %ld alive, %d in the middle row\n", a.alive(), in_row);
  return 0;
}
