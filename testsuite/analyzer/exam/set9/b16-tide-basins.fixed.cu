// tide-basins: shallow water in two basins joined by a strait. Each basin has a
// stream of its own; the rows at the strait pass through managed buffers that
// the host exchanges between steps.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define TB(call)                                                                      \
  do {                                                                                \
    const cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

constexpr int kWidth = 8192;
constexpr int kHeight = 2048;

__global__ void fill_level(float* level, float value) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < kWidth) level[static_cast<std::size_t>(blockIdx.y) * kWidth + x] = value;
}

__global__ void pack_edge(const float* level, int row, float* edge) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < kWidth) edge[x] = level[static_cast<std::size_t>(row) * kWidth + x];
}

__global__ void relax(const float* level, float* next, const float* ghost, int ghost_row) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= kWidth) return;
  const std::size_t at = static_cast<std::size_t>(y) * kWidth + x;
  const float here = level[at];
  float up = y > 0 ? level[at - kWidth] : here;
  float down = y + 1 < kHeight ? level[at + kWidth] : here;
  if (y == ghost_row) (y == 0 ? up : down) = ghost[x];
  const float left = x > 0 ? level[at - 1] : here;
  const float right = x + 1 < kWidth ? level[at + 1] : here;
  next[at] = here + 0.2f * (up + down + left + right - 4.f * here);
}

class Basin {
 public:
  Basin(float value, int edge_row) : edge_row_(edge_row) {
    TB(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TB(cudaMalloc(&level_, kBytes));
    TB(cudaMalloc(&next_, kBytes));
    TB(cudaMallocManaged(&outgoing_, kWidth * sizeof(float)));
    TB(cudaMallocManaged(&incoming_, kWidth * sizeof(float)));
    fill_level<<<kGrid, 256, 0, stream_>>>(level_, value);
    TB(cudaGetLastError());
  }
  ~Basin() {
    TB(cudaStreamSynchronize(stream_));
    TB(cudaFree(level_));
    TB(cudaFree(next_));
    TB(cudaFree(outgoing_));
    TB(cudaFree(incoming_));
    TB(cudaStreamDestroy(stream_));
  }
  Basin(const Basin&) = delete;
  Basin& operator=(const Basin&) = delete;

  void pack() {
    pack_edge<<<kWidth / 256, 256, 0, stream_>>>(level_, edge_row_, outgoing_);
    TB(cudaGetLastError());
  }
  void step() {
    relax<<<kGrid, 256, 0, stream_>>>(level_, next_, incoming_, edge_row_);
    TB(cudaGetLastError());
    float* t = level_;
    level_ = next_;
    next_ = t;
  }
  void finish() { TB(cudaStreamSynchronize(stream_)); }
  double mean() {
    std::vector<float> host(static_cast<std::size_t>(kWidth) * kHeight);
    TB(cudaMemcpyAsync(host.data(), level_, kBytes, cudaMemcpyDeviceToHost, stream_));
    finish();
    double sum = 0.0;
    for (float v : host) sum += v;
    return sum / static_cast<double>(host.size());
  }

  const float* outgoing() const { return outgoing_; }
  float* incoming() { return incoming_; }

 private:
  static constexpr std::size_t kBytes = static_cast<std::size_t>(kWidth) * kHeight * sizeof(float);
  static inline const dim3 kGrid{kWidth / 256, kHeight};

  int edge_row_;
  cudaStream_t stream_ = nullptr;
  float* level_ = nullptr;
  float* next_ = nullptr;
  float* outgoing_ = nullptr;
  float* incoming_ = nullptr;
};

// Hands each basin the edge row of the other one.
void exchange(Basin& north, Basin& south) {
  north.finish();
  south.finish();
  std::memcpy(north.incoming(), south.outgoing(), kWidth * sizeof(float));
  std::memcpy(south.incoming(), north.outgoing(), kWidth * sizeof(float));
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  int concurrent = 0;
  TB(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  if (!concurrent) {
    std::fprintf(stderr, "tide-basins needs concurrent managed access\n");
    return 77;
  }
  Basin north(1.f, kHeight - 1);
  Basin south(0.f, 0);
  for (int i = 0; i < steps; ++i) {
    north.pack();
    south.pack();
    exchange(north, south);
    north.step();
    south.step();
  }
  north.finish();
  south.finish();
  std::printf("mean level north %.6f south %.6f\n", north.mean(), south.mean());
  return 0;
}
