// Satellite image pipeline: tiles from the stream-ordered allocator wander through three stages, each with a stream of
// its own; the stage that holds a tile last gives it back.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t rc_ = (x);                                                               \
    if (rc_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));   \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kSide = 1024;
constexpr int kPixels = kSide * kSide;
constexpr int kBins = 256;

class Stage {
 public:
  Stage() {
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming));
  }
  ~Stage() {
    CK(cudaStreamSynchronize(stream_));
    cudaEventDestroy(mark_);
    cudaStreamDestroy(stream_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  cudaStream_t stream() const { return stream_; }

  // Lets everything that is enqueued in this stage so far happen before later work of `other`.
  void precede(const Stage& other) {
    CK(cudaEventRecord(mark_, stream_));
    CK(cudaStreamWaitEvent(other.stream_, mark_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
};

class Tile {
 public:
  explicit Tile(Stage& owner) : owner_(&owner) {
    CK(cudaMallocAsync(reinterpret_cast<void**>(&pixels_), kPixels * sizeof(float), owner.stream()));
  }
  ~Tile() {
    if (pixels_) CK(cudaFreeAsync(pixels_, owner_->stream()));
  }
  Tile(Tile&& o) noexcept : pixels_(std::exchange(o.pixels_, nullptr)), owner_(o.owner_) {}
  Tile& operator=(Tile&& o) noexcept {
    std::swap(pixels_, o.pixels_);
    std::swap(owner_, o.owner_);
    return *this;
  }

  Tile pass_to(Stage& next) && {
    owner_->precede(next);
    owner_ = &next;
    return std::move(*this);
  }

  float* pixels() const { return pixels_; }
  Stage& owner() const { return *owner_; }

 private:
  float* pixels_ = nullptr;
  Stage* owner_;
};

__global__ void acquire_scene(float* out, int scene) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPixels) out[i] = ((i * 2654435761u + scene * 97u) >> 24) / 256.0f;
}

__global__ void smooth_rows(const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPixels) return;
  int x = i % kSide;
  float left = x > 0 ? in[i - 1] : in[i], right = x < kSide - 1 ? in[i + 1] : in[i];
  out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}

__global__ void histogram(const float* in, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPixels) atomicAdd(&bins[min(static_cast<int>(in[i] * kBins), kBins - 1)], 1u);
}

static Tile load(Stage& reader, int scene) {
  Tile t(reader);
  acquire_scene<<<kPixels / 256, 256, 0, reader.stream()>>>(t.pixels(), scene);
  CK(cudaGetLastError());
  return t;
}

static Tile smooth(Tile in) {
  Tile out(in.owner());
  smooth_rows<<<kPixels / 256, 256, 0, in.owner().stream()>>>(in.pixels(), out.pixels());
  CK(cudaGetLastError());
  return out;
}

static void count(Tile in, unsigned* bins) {
  histogram<<<kPixels / 256, 256, 0, in.owner().stream()>>>(in.pixels(), bins);
  CK(cudaGetLastError());
}

int main() {
  const int scenes = 40;
  cudaMemPool_t pool;
  unsigned long long keep = ~0ull;
  CK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));

  unsigned* bins = nullptr;
  std::vector<unsigned> host(kBins);
  {
    Stage reader, filter, statistics;
    CK(cudaMallocAsync(reinterpret_cast<void**>(&bins), kBins * sizeof(unsigned), statistics.stream()));
    CK(cudaMemsetAsync(bins, 0, kBins * sizeof(unsigned), statistics.stream()));
    for (int s = 0; s < scenes; ++s) {
      Tile raw = load(reader, s);
      Tile soft = smooth(std::move(raw).pass_to(filter));
      if (s % 4 == 0) soft = smooth(std::move(soft));
      count(std::move(soft).pass_to(statistics), bins);
    }
    CK(cudaMemcpyAsync(host.data(), bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost, statistics.stream()));
    CK(cudaFreeAsync(bins, statistics.stream()));
    CK(cudaStreamSynchronize(statistics.stream()));
  }
  unsigned long long total = 0;
  for (unsigned b : host) total += b;
  std::printf("%llu pixels counted\n", total);
  return total == static_cast<unsigned long long>(scenes) * kPixels ? 0 : 1;
}
