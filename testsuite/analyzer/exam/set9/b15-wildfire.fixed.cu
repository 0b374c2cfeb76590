// wildfire: cellular automaton of a forest fire, written against a small queue
// class so that the same driver can run on other back ends.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace backend {

inline void verify(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(rc));
    std::exit(1);
  }
}

// In-order queue. Launches return at once, read() and write() return when the
// data have arrived.
class Queue {
 public:
  Queue() { verify(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "queue"); }
  ~Queue() {
    wait();
    verify(cudaStreamDestroy(stream_), "queue");
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <typename... Params, typename... Args>
  void launch(void (*kernel)(Params...), dim3 grid, dim3 block, Args... args) {
    kernel<<<grid, block, 0, stream_>>>(static_cast<Params>(args)...);
    verify(cudaGetLastError(), "launch");
  }

  void write(void* device, const void* host, std::size_t bytes) {
    verify(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "write");
    wait();
  }

  void read(void* host, const void* device, std::size_t bytes) {
    verify(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "read");
    wait();
  }

  void wait() { verify(cudaStreamSynchronize(stream_), "wait"); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace backend

enum Cell : std::uint8_t { kBare = 0, kTree = 1, kFire = 2 };

__global__ void burn(const std::uint8_t* now, std::uint8_t* next, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int at = y * width + x;
  std::uint8_t cell = now[at];
  if (cell == kFire) {
    cell = kBare;
  } else if (cell == kTree) {
    const bool lit = (x > 0 && now[at - 1] == kFire) || (x + 1 < width && now[at + 1] == kFire) ||
                     (y > 0 && now[at - width] == kFire) || (y + 1 < height && now[at + width] == kFire);
    if (lit) cell = kFire;
  }
  next[at] = cell;
}

class Forest {
 public:
  Forest(backend::Queue& queue, int width, int height) : queue_(queue), width_(width), height_(height) {
    backend::verify(cudaMalloc(&now_, cells()), "forest");
    backend::verify(cudaMalloc(&next_, cells()), "forest");
    std::vector<std::uint8_t> seed(cells());
    unsigned state = 7;
    for (std::uint8_t& c : seed) {
      state = state * 1103515245u + 12345u;
      c = (state >> 16) % 100 < 62 ? kTree : kBare;
    }
    seed[cells() / 2 + width / 2] = kFire;
    queue_.write(now_, seed.data(), cells());
  }
  ~Forest() {
    queue_.wait();
    cudaFree(now_);
    cudaFree(next_);
  }
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;

  void step() {
    const dim3 block(32, 8);
    const dim3 grid((width_ + 31) / 32, (height_ + 7) / 8);
    queue_.launch(burn, grid, block, now_, next_, width_, height_);
    std::swap(now_, next_);
  }

  std::size_t count(Cell kind) {
    std::vector<std::uint8_t> map(cells());
    queue_.read(map.data(), now_, cells());
    std::size_t n = 0;
    for (std::uint8_t c : map) n += c == kind;
    return n;
  }

 private:
  std::size_t cells() const { return static_cast<std::size_t>(width_) * height_; }

  backend::Queue& queue_;
  int width_, height_;
  std::uint8_t* now_ = nullptr;
  std::uint8_t* next_ = nullptr;
};

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
  backend::Queue queue;
  Forest forest(queue, 4096, 4096);
  for (int i = 1; i <= steps; ++i) {
    forest.step();
    if (i % 50 == 0) std::printf("step %d: %zu trees, %zu burning\n", i, forest.count(kTree), forest.count(kFire));
  }
  return 0;
}
