// Draws origin/destination pairs for newly spawned vehicles, proportional to zone demand.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(expr)                                                                          \
  do {                                                                                    \
    cudaError_t e_ = (expr);                                                              \
    if (e_ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));     \
      std::abort();                                                                       \
    }                                                                                     \
  } while (0)

namespace traffic {

__global__ void demand_kernel(const float* population, const float* attractiveness, float hour,
                              float* weight, int zones) {
  int z = blockIdx.x * blockDim.x + threadIdx.x;
  if (z >= zones) return;
  float morning = expf(-0.5f * (hour - 8.f) * (hour - 8.f));
  weight[z] = population[z] * (0.2f + morning) + attractiveness[z] * (1.f - morning);
}

__device__ inline float hash01(uint32_t x) {
  x ^= x >> 16; x *= 0x7feb352dU; x ^= x >> 15; x *= 0x846ca68bU; x ^= x >> 16;
  return (x >> 8) * (1.f / 16777216.f);
}

__global__ void draw_kernel(const float* cdf, int zones, uint32_t seed, int* origin, int vehicles) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= vehicles) return;
  float u = hash01(seed + v) * cdf[zones - 1];
  int lo = 0, hi = zones - 1;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (cdf[mid] < u) lo = mid + 1; else hi = mid;
  }
  origin[v] = lo;
}

struct SpawnSampler {
  int zones = 0, vehicles = 0;
  cudaStream_t stream = nullptr;
  float *population = nullptr, *attract = nullptr, *weight = nullptr, *cdf = nullptr;
  int* origin = nullptr;
  void* scan_tmp = nullptr;
  size_t scan_bytes = 0;
};

void sampler_init(SpawnSampler& s, const std::vector<float>& pop, const std::vector<float>& att, int vehicles) {
  s.zones = static_cast<int>(pop.size());
  s.vehicles = vehicles;
  CK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  size_t zb = pop.size() * sizeof(float);
  CK(cudaMalloc(&s.population, zb));
  CK(cudaMalloc(&s.attract, zb));
  CK(cudaMalloc(&s.weight, zb));
  CK(cudaMalloc(&s.cdf, zb));
  CK(cudaMalloc(&s.origin, vehicles * sizeof(int)));
  CK(cub::DeviceScan::InclusiveSum(nullptr, s.scan_bytes, s.weight, s.cdf, s.zones));
  CK(cudaMalloc(&s.scan_tmp, s.scan_bytes));
  CK(cudaMemcpyAsync(s.population, pop.data(), zb, cudaMemcpyHostToDevice, s.stream));
  CK(cudaMemcpyAsync(s.attract, att.data(), zb, cudaMemcpyHostToDevice, s.stream));
  CK(cudaStreamSynchronize(s.stream));
}

static void build_cdf(SpawnSampler& s, float hour) {
  demand_kernel<<<(s.zones + 255) / 256, 256, 0, s.stream>>>(s.population, s.attract, hour, s.weight, s.zones);
  CK(cudaGetLastError());
  CK(cub::DeviceScan::InclusiveSum(s.scan_tmp, s.scan_bytes, s.weight, s.cdf, s.zones));
}

void sampler_draw(SpawnSampler& s, float hour, uint32_t seed, std::vector<int>& out) {
  build_cdf(s, hour);
  draw_kernel<<<(s.vehicles + 255) / 256, 256, 0, s.stream>>>(s.cdf, s.zones, seed, s.origin, s.vehicles);
  CK(cudaGetLastError());
  out.resize(s.vehicles);
  CK(cudaMemcpyAsync(out.data(), s.origin, s.vehicles * sizeof(int), cudaMemcpyDeviceToHost, s.stream));
  CK(cudaStreamSynchronize(s.stream));
}

void sampler_destroy(SpawnSampler& s) {
  CK(cudaDeviceSynchronize());
  for (void* p : {(void*)s.population, (void*)s.attract, (void*)s.weight, (void*)s.cdf, (void*)s.origin, s.scan_tmp})
    CK(cudaFree(p));
  CK(cudaStreamDestroy(s.stream));
}

}  // namespace traffic

int main() {
  std::vector<float> pop(20000, 1.5f), att(20000, 0.7f);
  std::vector<int> origins;
  traffic::SpawnSampler s;
  traffic::sampler_init(s, pop, att, 1 << 18);
  for (int h = 0; h < 24; ++h) {
    traffic::sampler_draw(s, static_cast<float>(h), 97u * h, origins);
    std::printf("%02d:00 first origin %d\n", h, origins[0]);
  }
  traffic::sampler_destroy(s);
  return 0;
}
