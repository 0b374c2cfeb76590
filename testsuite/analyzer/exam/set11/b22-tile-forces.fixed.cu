// Short-range forces, tile by tile. Tiles are independent, so that they rotate over a few streams.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <vector>

#define MD_CHECK(expr)                                                                              \
  do {                                                                                              \
    cudaError_t e_ = (expr);                                                                        \
    if (e_ != cudaSuccess) {                                                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_));   \
      std::abort();                                                                                 \
    }                                                                                               \
  } while (0)

constexpr int kThreads = 128;
inline int blocksFor(int n) { return (n + kThreads - 1) / kThreads; }

__global__ void pairDistances(const float4* pos, int first, int count, float* dist) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * count) return;
  float4 a = pos[first + i / count];
  float4 b = pos[first + i % count];
  float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
  dist[i] = dx * dx + dy * dy + dz * dz;
}

__global__ void lennardJones(const float* dist, int count, float* energy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float e = 0.f;
  for (int j = 0; j < count; ++j) {
    float r2 = dist[i * count + j];
    if (j == i || r2 > 1.44f) continue;
    float s6 = 1.f / (r2 * r2 * r2);
    e += 4.f * (s6 * s6 - s6);
  }
  energy[i] += e;
}

__global__ void screenedCoulomb(const float* dist, const float4* pos, int first, int count, float* energy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float e = 0.f;
  for (int j = 0; j < count; ++j)
    if (j != i) e += pos[first + i].w * pos[first + j].w * rsqrtf(dist[i * count + j] + 1e-6f);
  energy[i] += e;
}

// Keeps device blocks between steps, since cudaMalloc per tile was a third of the step.
class ScratchArena {
 public:
  ScratchArena() = default;
  ScratchArena(const ScratchArena&) = delete;
  ~ScratchArena() {
    for (Block& b : blocks_) cudaFree(b.ptr);
  }
  void* take(std::size_t bytes) {
    for (Block& b : blocks_) {
      if (!b.inUse && b.bytes >= bytes) {
        b.inUse = true;
        return b.ptr;
      }
    }
    Block b{nullptr, bytes, true};
    MD_CHECK(cudaMalloc(&b.ptr, bytes));
    blocks_.push_back(b);
    return b.ptr;
  }
  void give(void* ptr) {
    for (Block& b : blocks_)
      if (b.ptr == ptr) b.inUse = false;
  }

 private:
  struct Block {
    void* ptr;
    std::size_t bytes;
    bool inUse;
  };
  std::list<Block> blocks_;
};

template <typename T>
class Scratch {
 public:
  Scratch(ScratchArena& arena, std::size_t n) : arena_(arena), ptr_(static_cast<T*>(arena.take(n * sizeof(T)))) {}
  Scratch(const Scratch&) = delete;
  ~Scratch() { arena_.give(ptr_); }
  T* get() const { return ptr_; }

 private:
  ScratchArena& arena_;
  T* ptr_;
};

struct Tile {
  int first;
  int count;
  bool charged;
};

class ForceField {
 public:
  ForceField(const float4* pos, float* energy) : pos_(pos), energy_(energy) {
    for (cudaStream_t& s : streams_) MD_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~ForceField() {
    for (cudaStream_t s : streams_) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
  }

  void evaluate(const std::vector<Tile>& tiles) {
    std::size_t turn = 0;
    for (const Tile& t : tiles) evaluateTile(t, streams_[turn++ % streams_.size()]);
    for (cudaStream_t s : streams_) MD_CHECK(cudaStreamSynchronize(s));
  }

 private:
  void evaluateTile(const Tile& t, cudaStream_t stream) {
    Scratch<float> dist(arena_, static_cast<std::size_t>(t.count) * t.count);
    pairDistances<<<blocksFor(t.count * t.count), kThreads, 0, stream>>>(pos_, t.first, t.count, dist.get());
    lennardJones<<<blocksFor(t.count), kThreads, 0, stream>>>(dist.get(), t.count, energy_ + t.first);
    if (t.charged)
      screenedCoulomb<<<blocksFor(t.count), kThreads, 0, stream>>>(dist.get(), pos_, t.first, t.count,
                                                                   energy_ + t.first);
    MD_CHECK(cudaGetLastError());
    MD_CHECK(cudaStreamSynchronize(stream));
  }

  const float4* pos_;
  float* energy_;
  ScratchArena arena_;
  std::array<cudaStream_t, 4> streams_{};
};

int main() {
  constexpr int kAtoms = 8192, kTile = 256;
  float4* pos = nullptr;
  float* energy = nullptr;
  MD_CHECK(cudaMalloc(&pos, kAtoms * sizeof(float4)));
  MD_CHECK(cudaMalloc(&energy, kAtoms * sizeof(float)));
  std::vector<float4> start(kAtoms);
  for (int i = 0; i < kAtoms; ++i) start[i] = make_float4(i % 20, (i / 20) % 20, i / 400, (i & 1) ? 1.f : -1.f);
  MD_CHECK(cudaMemcpy(pos, start.data(), kAtoms * sizeof(float4), cudaMemcpyHostToDevice));
  MD_CHECK(cudaMemset(energy, 0, kAtoms * sizeof(float)));
  MD_CHECK(cudaDeviceSynchronize());

  std::vector<Tile> tiles;
  for (int f = 0; f < kAtoms; f += kTile) tiles.push_back({f, kTile, f % 512 == 0});
  {
    ForceField field(pos, energy);
    for (int step = 0; step < 100; ++step) field.evaluate(tiles);
  }
  std::vector<float> out(kAtoms);
  MD_CHECK(cudaMemcpy(out.data(), energy, kAtoms * sizeof(float), cudaMemcpyDeviceToHost));
  double total = 0;
  for (float e : out) total += e;
  std::printf("potential energy %.6f\n", total);
  cudaFree(pos);
  cudaFree(energy);
}
