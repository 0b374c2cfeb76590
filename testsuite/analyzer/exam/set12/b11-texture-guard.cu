// Detects out-of-bounds writes of shading kernels: texture copies are placed
// between guard zones which must keep their pattern.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CHECK(expr)                                                                                       \
  do {                                                                                                    \
    cudaError_t rc = (expr);                                                                              \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#expr " -> ") + cudaGetErrorString(rc)); \
  } while (0)

namespace guard {

constexpr size_t kZone = 4096;
constexpr unsigned char kPattern = 0xA5;

struct Texture {
  std::string name;
  unsigned char* texels = nullptr;  // device memory, followed by a guard zone
  size_t bytes = 0;
};

struct Report {
  std::string name;
  size_t damaged = 0;
};

class HostBlock {
 public:
  explicit HostBlock(size_t bytes) { CHECK(cudaHostAlloc(&p_, bytes, cudaHostAllocMapped)); }
  ~HostBlock() { cudaFreeHost(p_); }
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  template <class T>
  T* as() const { return static_cast<T*>(p_); }

 private:
  void* p_ = nullptr;
};

__global__ void count_damage(const unsigned char* zone, const unsigned char* expected, size_t n, uint32_t* damaged) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n && zone[i] != expected[i]) atomicAdd(damaged, 1u);
}

__global__ void shade(unsigned char* texels, size_t n, unsigned char tint) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) texels[i] = static_cast<unsigned char>((texels[i] + tint) / 2);
}

class Checker {
 public:
  explicit Checker(cudaStream_t stream) : stream_(stream) {}

  void arm(const Texture& t) { CHECK(cudaMemsetAsync(t.texels + t.bytes, kPattern, kZone, stream_)); }

  std::vector<Report> verify(const std::vector<Texture>& textures) {
    std::vector<Report> reports;
    HostBlock expected(kZone);
    HostBlock counter(sizeof(uint32_t));
    CHECK(cudaMemsetAsync(expected.as<void>(), kPattern, kZone, stream_));

    for (const Texture& t : textures) {
      const uint32_t damaged = damage(t, expected, counter);
      if (damaged != 0) reports.push_back({t.name, damaged});
    }
    return reports;
  }

 private:
  uint32_t damage(const Texture& t, const HostBlock& expected, const HostBlock& counter) {
    uint32_t* count = counter.as<uint32_t>();
    *count = 0;
    count_damage<<<(kZone + 255) / 256, 256, 0, stream_>>>(t.texels + t.bytes, expected.as<unsigned char>(), kZone, count);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream_));
    return *count;
  }

  cudaStream_t stream_;
};

class Frame {
 public:
  explicit Frame(cudaStream_t stream) : stream_(stream), checker_(stream) {}
  ~Frame() {
    cudaStreamSynchronize(stream_);
    for (Texture& t : textures_) cudaFree(t.texels);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void add(std::string name, size_t bytes) {
    Texture t;
    t.name = std::move(name);
    t.bytes = bytes;
    CHECK(cudaMalloc(reinterpret_cast<void**>(&t.texels), bytes + kZone));
    CHECK(cudaMemsetAsync(t.texels, 0, bytes, stream_));
    checker_.arm(t);
    textures_.push_back(std::move(t));
  }

  std::vector<Report> render(unsigned char tint) {
    for (const Texture& t : textures_)
      shade<<<static_cast<unsigned>((t.bytes + 255) / 256), 256, 0, stream_>>>(t.texels, t.bytes, tint);
    CHECK(cudaGetLastError());
    return checker_.verify(textures_);
  }

 private:
  cudaStream_t stream_;
  Checker checker_;
  std::vector<Texture> textures_;
};

}  // namespace guard

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  size_t damaged = 0;
  {
    guard::Frame frame(stream);
    damaged += frame.render(10).size();  // untextured pre-pass
    frame.add("bricks", 1 << 20);
    frame.add("grass", 1 << 18);
    for (unsigned char tint = 20; tint < 200; tint += 20) damaged += frame.render(tint).size();
  }
  CHECK(cudaStreamDestroy(stream));
  std::printf("%zu damaged textures\n", damaged);
  return damaged != 0;
}
