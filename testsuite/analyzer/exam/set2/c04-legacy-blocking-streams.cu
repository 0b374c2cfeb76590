/* Monte-Carlo pricer. The worker streams are ordinary (blocking) streams and the
 * set-up and the final read-back go through the legacy default stream, which
 * waits for them and makes them wait. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 4

#define CHECK(call)                                                          \
  do {                                                                       \
    cudaError_t status = (call);                                             \
    if (status != cudaSuccess) {                                             \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                      \
              cudaGetErrorString(status));                                   \
      exit(2);                                                               \
    }                                                                        \
  } while (0)

struct option_t {
  float spot, strike, rate, vol, years;
};

__device__ static unsigned next_random(unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state;
}

__global__ void simulate(const option_t *opt, int which, int paths, float *payoff)
{
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= paths) return;
  unsigned rng = 747796405u * (p + 1) + 2891336453u * (which + 1);
  option_t o = opt[which];
  float u1 = (next_random(&rng) >> 8) * (1.f / 16777216.f) + 1e-7f;
  float u2 = (next_random(&rng) >> 8) * (1.f / 16777216.f);
  float z = sqrtf(-2.f * logf(u1)) * cospif(2.f * u2);
  float end = o.spot * expf((o.rate - .5f * o.vol * o.vol) * o.years + o.vol * sqrtf(o.years) * z);
  payoff[p] = fmaxf(end - o.strike, 0.f) * expf(-o.rate * o.years);
}

__global__ void total(const float *payoff, int paths, float *sum)
{
  __shared__ float s[256];
  float acc = 0.f;
  for (int p = threadIdx.x; p < paths; p += 256) acc += payoff[p];
  s[threadIdx.x] = acc;
  __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = s[0];
}

void price(const option_t *options, int n, int paths, float *price_out)
{
  cudaStream_t worker[WORKERS];
  option_t *d_opt;
  float *d_payoff, *d_sum;

  CHECK(cudaMalloc((void **)&d_opt, n * sizeof(option_t)));
  CHECK(cudaMalloc((void **)&d_payoff, (size_t)WORKERS * paths * sizeof(float)));
  CHECK(cudaMalloc((void **)&d_sum, n * sizeof(float)));
  for (int w = 0; w < WORKERS; ++w) CHECK(cudaStreamCreate(&worker[w]));

  CHECK(cudaMemcpy(d_opt, options, n * sizeof(option_t), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(d_sum, 0, n * sizeof(float)));

  for (int i = 0; i < n; ++i) {
    int w = i % WORKERS;
    float *payoff = d_payoff + (size_t)w * paths;
    simulate<<<(paths + 127) / 128, 128, 0, worker[w]>>>(d_opt, i, paths, payoff);
    total<<<1, 256, 0, worker[w]>>>(payoff, paths, d_sum + i);
    CHECK(cudaGetLastError());
  }

  CHECK(cudaMemcpy(price_out, d_sum, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) price_out[i] /= paths;

  for (int w = 0; w < WORKERS; ++w) CHECK(cudaStreamDestroy(worker[w]));
  CHECK(cudaFree(d_sum));
  CHECK(cudaFree(d_payoff));
  CHECK(cudaFree(d_opt));
}
