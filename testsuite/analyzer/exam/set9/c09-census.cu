// census: age and income histograms of a synthetic population, and a joint
// score. Written for the legacy default stream: the two table streams are
// blocking ones, and the joint kernels run on the default stream.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void fine(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "census:%d: %s\n", line, cudaGetErrorString(rc));
    std::exit(1);
  }
}
#define FINE(x) fine((x), __LINE__)

constexpr int kPeople = 1 << 22;
constexpr int kBins = 128;

struct Table {
  cudaStream_t stream = nullptr;
  std::uint8_t* values = nullptr;
  unsigned* bins = nullptr;
};

__global__ void tally(const std::uint8_t* values, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kPeople; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[values[i] % kBins], 1u);
}

__global__ void joint_score(const unsigned* ages, const unsigned* incomes, float* score) {
  const int b = threadIdx.x;
  if (b < kBins) score[b] = static_cast<float>(ages[b]) * static_cast<float>(incomes[b]) / kPeople;
}

__global__ void reweight(unsigned* bins, const float* score) {
  const int b = threadIdx.x;
  if (b < kBins) bins[b] += static_cast<unsigned>(score[b]) & 7u;
}

Table open_table(const std::vector<std::uint8_t>& people) {
  Table t;
  FINE(cudaStreamCreate(&t.stream));
  FINE(cudaMalloc(&t.values, kPeople));
  FINE(cudaMalloc(&t.bins, kBins * sizeof(unsigned)));
  FINE(cudaMemcpy(t.values, people.data(), kPeople, cudaMemcpyHostToDevice));
  FINE(cudaMemset(t.bins, 0, kBins * sizeof(unsigned)));
  return t;
}

void count(const Table& t) {
  tally<<<256, 256, 0, t.stream>>>(t.values, t.bins);
  FINE(cudaGetLastError());
}

void score(const Table& ages, const Table& incomes, float* out) {
  joint_score<<<1, kBins>>>(ages.bins, incomes.bins, out);
  FINE(cudaGetLastError());
}

void adjust(const Table& t, const float* joint) {
  reweight<<<1, kBins, 0, t.stream>>>(t.bins, joint);
  FINE(cudaGetLastError());
}

unsigned long long total(const Table& t) {
  unsigned host[kBins];
  FINE(cudaMemcpy(host, t.bins, sizeof(host), cudaMemcpyDeviceToHost));
  unsigned long long sum = 0;
  for (unsigned b : host) sum += b;
  return sum;
}

void close_table(Table& t) {
  FINE(cudaStreamSynchronize(t.stream));
  FINE(cudaFree(t.values));
  FINE(cudaFree(t.bins));
  FINE(cudaStreamDestroy(t.stream));
}

int main() {
  std::vector<std::uint8_t> ages(kPeople), incomes(kPeople);
  std::uint32_t x = 99;
  for (int i = 0; i < kPeople; ++i) {
    x = x * 1664525u + 1013904223u;
    ages[i] = static_cast<std::uint8_t>(x >> 24);
    incomes[i] = static_cast<std::uint8_t>(x >> 16);
  }

  Table age_table = open_table(ages);
  Table income_table = open_table(incomes);
  float* joint = nullptr;
  FINE(cudaMalloc(&joint, kBins * sizeof(float)));

  for (int round = 0; round < 3; ++round) {
    count(age_table);
    count(income_table);
    score(age_table, income_table, joint);
    adjust(age_table, joint);
    adjust(income_table, joint);
  }

  std::printf("ages %llu incomes %llu\n", total(age_table), total(income_table));
  float head[4];
  FINE(cudaMemcpy(head, joint, sizeof(head), cudaMemcpyDeviceToHost));
  std::printf("joint score %.3f %.3f %.3f %.3f\n", static_cast<double>(head[0]), static_cast<double>(head[1]),
              static_cast<double>(head[2]), static_cast<double>(head[3]));

  close_table(age_table);
  close_table(income_table);
  FINE(cudaFree(joint));
  return 0;
}
