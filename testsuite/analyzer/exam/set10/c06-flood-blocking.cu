// Flood simulation on two river basins. Streams are ordinary (blocking) ones; files are written by plain copies.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#define RUN(x)                                                              \
  do {                                                                      \
    cudaError_t r_ = (x);                                                   \
    if (r_ != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r_));         \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

constexpr int kN = 1024;

__global__ void rain(float* depth, float amount) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN * kN) depth[i] += amount * float((i * 37) % 11) / 11.f;
}

__global__ void flow(const float* depth, const float* ground, float* next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kN * kN) return;
  int x = i % kN, y = i / kN;
  float h = ground[i] + depth[i], out = 0.f;
  const int nb[4] = {x > 0 ? i - 1 : i, x < kN - 1 ? i + 1 : i, y > 0 ? i - kN : i, y < kN - 1 ? i + kN : i};
  for (int k = 0; k < 4; ++k) out += 0.2f * (ground[nb[k]] + depth[nb[k]] - h);
  next[i] = fmaxf(0.f, depth[i] + out);
}

__global__ void spill(float* upper, float* lower, float share) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kN) return;
  float moved = share * upper[(kN - 1) * kN + i];
  upper[(kN - 1) * kN + i] -= moved;
  lower[i] += moved;
}

class Basin {
 public:
  explicit Basin(const std::vector<float>& ground) {
    RUN(cudaStreamCreate(&stream_));
    for (float** p : {&ground_, &depth_, &next_}) RUN(cudaMalloc(p, bytes()));
    RUN(cudaMemcpy(ground_, ground.data(), bytes(), cudaMemcpyHostToDevice));
    RUN(cudaMemset(depth_, 0, bytes()));
  }
  ~Basin() {
    cudaDeviceSynchronize();
    for (float* p : {ground_, depth_, next_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  Basin(const Basin&) = delete;
  Basin& operator=(const Basin&) = delete;

  void advance(float rainfall) {
    rain<<<kN * kN / 256, 256, 0, stream_>>>(depth_, rainfall);
    flow<<<kN * kN / 256, 256, 0, stream_>>>(depth_, ground_, next_);
    RUN(cudaGetLastError());
    std::swap(depth_, next_);
  }

  float* depth() const { return depth_; }

  // Water level of the whole basin as of the last queued step.
  void snapshot(std::vector<float>& host) const {
    host.resize(size_t(kN) * kN);
    RUN(cudaMemcpy(host.data(), depth_, bytes(), cudaMemcpyDeviceToHost));
  }

 private:
  static constexpr size_t bytes() { return size_t(kN) * kN * sizeof(float); }

  cudaStream_t stream_ = nullptr;
  float *ground_ = nullptr, *depth_ = nullptr, *next_ = nullptr;
};

// Moves water over the weir between the basins, on the default stream.
static void exchange(Basin& upper, Basin& lower) {
  spill<<<kN / 256, 256>>>(upper.depth(), lower.depth(), 0.3f);
  RUN(cudaGetLastError());
}

static void write_level(const std::string& path, const std::vector<float>& level) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(level.data()), std::streamsize(level.size() * sizeof(float)));
}

int main(int argc, char** argv) {
  const std::string prefix = argc > 1 ? argv[1] : "level";
  std::vector<float> ground(size_t(kN) * kN);
  for (size_t i = 0; i < ground.size(); ++i) ground[i] = 10.f - 9.f * float(i / kN) / kN;
  Basin upper(ground), lower(ground);
  std::vector<float> level;
  for (int hour = 0; hour < 48; ++hour) {
    for (int step = 0; step < 60; ++step) {
      upper.advance(0.01f);
      lower.advance(0.004f);
      exchange(upper, lower);
    }
    if (hour % 12 == 11) {
      lower.snapshot(level);
      write_level(prefix + std::to_string(hour), level);
    }
  }
  return 0;
}
