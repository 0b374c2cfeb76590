// Semi-Lagrangian advection of a limited-area model. The domain is cut into
// tiles; every tile runs on the next stream of a small ring so that small
// tiles overlap.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GPU(call)                                                              \
  do {                                                                         \
    const cudaError_t e_ = (call);                                             \
    if (e_ != cudaSuccess) {                                                   \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(e_));  \
      std::abort();                                                            \
    }                                                                          \
  } while (0)

namespace lam {

struct Tile {
  int row_begin;
  int row_end;
};

/// A ring of streams; stream 0 is the one for work on the whole domain.
class StreamRing {
 public:
  explicit StreamRing(int n) : streams_(n), events_(n) {
    for (auto& s : streams_) GPU(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto& e : events_) GPU(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~StreamRing() {
    for (auto s : streams_) GPU(cudaStreamSynchronize(s));
    for (auto e : events_) GPU(cudaEventDestroy(e));
    for (auto s : streams_) GPU(cudaStreamDestroy(s));
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;

  cudaStream_t whole() const { return streams_.front(); }
  cudaStream_t at(std::size_t i) const { return streams_[i % streams_.size()]; }

  /// Tile work submitted after this call follows the work in whole().
  void scatter() {
    GPU(cudaEventRecord(events_[0], whole()));
    for (std::size_t i = 1; i < streams_.size(); ++i) GPU(cudaStreamWaitEvent(streams_[i], events_[0], 0));
  }

  /// Work submitted to whole() after this call follows all tile work.
  void gather() {
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      GPU(cudaEventRecord(events_[i], streams_[i]));
      GPU(cudaStreamWaitEvent(whole(), events_[i], 0));
    }
  }

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
};

/// Walks over the tiles and rotates the stream with every step.
class TileWalk {
 public:
  TileWalk(const std::vector<Tile>& tiles, StreamRing& ring) : tiles_(tiles), ring_(ring) {}
  bool valid() const { return i_ < tiles_.size(); }
  const Tile& tile() const { return tiles_[i_]; }
  cudaStream_t stream() const { return ring_.at(i_); }
  TileWalk& operator++() {
    ++i_;
    return *this;
  }

 private:
  const std::vector<Tile>& tiles_;
  StreamRing& ring_;
  std::size_t i_ = 0;
};

__global__ void face_winds(const float* u, float* faces, int nx, int ny) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < nx && y < ny) faces[y * nx + x] = 0.5f * (u[y * nx + x] + u[y * nx + (x + 1) % nx]);
}

__global__ void advect(const float* q, const float* faces, float* q_next, int nx, int row_begin, float dt) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = row_begin + blockIdx.y;
  if (x >= nx) return;
  const float flux_in = faces[y * nx + (x + nx - 1) % nx] * q[y * nx + (x + nx - 1) % nx];
  const float flux_out = faces[y * nx + x] * q[y * nx + x];
  q_next[y * nx + x] = q[y * nx + x] + dt * (flux_in - flux_out);
}

class Model {
 public:
  Model(int nx, int ny, int tile_rows) : nx_(nx), ny_(ny), ring_(4) {
    for (int r = 0; r < ny; r += tile_rows) tiles_.push_back({r, std::min(r + tile_rows, ny)});
    for (auto* p : {&u_, &faces_, &q_, &q_next_}) {
      GPU(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
      GPU(cudaMemset(*p, 0, bytes()));
    }
    GPU(cudaDeviceSynchronize());
  }
  ~Model() {
    GPU(cudaDeviceSynchronize());
    for (auto* p : {u_, faces_, q_, q_next_}) GPU(cudaFree(p));
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void step(float dt) {
    compute_faces();
    ring_.scatter();
    advect_tiles(dt);
    ring_.gather();
    std::swap(q_, q_next_);
  }

  void finish() { GPU(cudaStreamSynchronize(ring_.whole())); }

 private:
  std::size_t bytes() const { return sizeof(float) * nx_ * ny_; }

  void compute_faces() {
    const dim3 grid((nx_ + 127) / 128, ny_);
    face_winds<<<grid, 128, 0, ring_.whole()>>>(u_, faces_, nx_, ny_);
    GPU(cudaGetLastError());
  }

  void advect_tiles(float dt) {
    for (TileWalk walk(tiles_, ring_); walk.valid(); ++walk) {
      const Tile& t = walk.tile();
      const dim3 grid((nx_ + 127) / 128, t.row_end - t.row_begin);
      advect<<<grid, 128, 0, walk.stream()>>>(q_, faces_, q_next_, nx_, t.row_begin, dt);
      GPU(cudaGetLastError());
    }
  }

  int nx_, ny_;
  StreamRing ring_;
  std::vector<Tile> tiles_;
  float *u_ = nullptr, *faces_ = nullptr, *q_ = nullptr, *q_next_ = nullptr;
};

}  // namespace lam

int main() {
  lam::Model model(1024, 768, 96);
  for (int i = 0; i < 200; ++i) model.step(0.1f);
  model.finish();
  return 0;
}
