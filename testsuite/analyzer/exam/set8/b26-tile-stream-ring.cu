// Shallow-water benchmark: the domain is split into tiles and every tile is advanced in a stream of its own.
// The reflecting border of the whole domain is cheap and done in one go.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void ck(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
    std::exit(2);
  }
}
#define CK(x) ck((x), __LINE__)

struct Tile {
  int x0, y0, w, h;
};

// A fixed set of streams; the first one is the "main" stream of the run.
class StreamRing {
 public:
  explicit StreamRing(int count) : streams_(count), marks_(count) {
    for (auto& s : streams_) CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& e : marks_) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~StreamRing() {
    for (auto& e : marks_) cudaEventDestroy(e);
    for (auto& s : streams_) cudaStreamDestroy(s);
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;

  cudaStream_t main() const { return streams_.front(); }
  cudaStream_t at(size_t i) const { return streams_[i % streams_.size()]; }

  void fork() {
    CK(cudaEventRecord(marks_[0], main()));
    for (size_t i = 1; i < streams_.size(); ++i) CK(cudaStreamWaitEvent(streams_[i], marks_[0], 0));
  }

  void join() {
    for (size_t i = 1; i < streams_.size(); ++i) {
      CK(cudaEventRecord(marks_[i], streams_[i]));
      CK(cudaStreamWaitEvent(main(), marks_[i], 0));
    }
  }

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> marks_;
};

// Range-for over tiles with the stream of each tile; joins the streams when the loop is over.
class TileLoop {
 public:
  TileLoop(StreamRing& ring, const std::vector<Tile>& tiles) : ring_(ring), tiles_(tiles) {}
  ~TileLoop() { ring_.join(); }

  template <typename Body>
  void run(Body&& body) {
    for (size_t i = 0; i < tiles_.size(); ++i) body(tiles_[i], ring_.at(i));
  }

 private:
  StreamRing& ring_;
  const std::vector<Tile>& tiles_;
};

__global__ void bump(float* h, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= n) return;
  float dx = x - n / 2, dy = y - n / 2;
  h[y * n + x] = 1.0f + 0.2f * expf(-(dx * dx + dy * dy) / (0.01f * n * n));
}

__global__ void reflect_border(float* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1 || i >= n - 1) return;
  h[i] = h[n + i];
  h[(n - 1) * n + i] = h[(n - 2) * n + i];
  h[i * n] = h[i * n + 1];
  h[i * n + n - 1] = h[i * n + n - 2];
}

__global__ void relax(const float* h, float* out, int n, Tile t) {
  int x = t.x0 + blockIdx.x * blockDim.x + threadIdx.x;
  int y = t.y0 + blockIdx.y;
  if (x >= t.x0 + t.w || x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  int c = y * n + x;
  out[c] = h[c] + 0.2f * (h[c - 1] + h[c + 1] + h[c - n] + h[c + n] - 4.0f * h[c]);
}

class Pond {
 public:
  Pond(int n, int tile, StreamRing& ring) : n_(n), ring_(ring) {
    CK(cudaMalloc(&h_, sizeof(float) * n * n));
    CK(cudaMalloc(&next_, sizeof(float) * n * n));
    for (int y = 0; y < n; y += tile)
      for (int x = 0; x < n; x += tile) tiles_.push_back({x, y, std::min(tile, n - x), std::min(tile, n - y)});
    bump<<<dim3((n + 127) / 128, n), 128, 0, ring_.main()>>>(h_, n);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(next_, h_, sizeof(float) * n * n, cudaMemcpyDeviceToDevice, ring_.main()));
  }
  ~Pond() {
    CK(cudaStreamSynchronize(ring_.main()));
    cudaFree(next_);
    cudaFree(h_);
  }

  void fill_border() {
    reflect_border<<<(n_ + 127) / 128, 128, 0, ring_.main()>>>(h_, n_);
    CK(cudaGetLastError());
  }

  void advance() {
    fill_border();
    TileLoop loop(ring_, tiles_);
    loop.run([&](const Tile& t, cudaStream_t s) {
      relax<<<dim3((t.w + 127) / 128, t.h), 128, 0, s>>>(h_, next_, n_, t);
      CK(cudaGetLastError());
    });
    std::swap(h_, next_);
  }

  void read(std::vector<float>& out) {
    CK(cudaMemcpyAsync(out.data(), h_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, ring_.main()));
    CK(cudaStreamSynchronize(ring_.main()));
  }

 private:
  int n_;
  StreamRing& ring_;
  std::vector<Tile> tiles_;
  float* h_ = nullptr;
  float* next_ = nullptr;
};

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2048;
  StreamRing ring(4);
  Pond pond(n, 512, ring);
  for (int step = 0; step < 200; ++step) pond.advance();
  std::vector<float> field(static_cast<size_t>(n) * n);
  pond.read(field);
  std::printf("centre height %f\n", field[static_cast<size_t>(n / 2) * n + n / 2]);
  return 0;
}
