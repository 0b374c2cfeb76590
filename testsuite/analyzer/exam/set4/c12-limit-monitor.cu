/* Exposure monitor of a trading gateway. Strategy streams accumulate into one
 * table; the risk thread clears and reads it with plain blocking calls. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NSTRAT 4
#define NINSTR 512

#define TRY(c)                                                                   \
  do {                                                                           \
    cudaError_t r = (c);                                                         \
    if (r) {                                                                     \
      fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, cudaGetErrorString(r)); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

struct fill {
  int instrument;
  float qty;
};

struct monitor {
  cudaStream_t strat[NSTRAT];
  struct fill* fills[NSTRAT];
  struct fill* stage[NSTRAT];
  float* exposure;
  int cap;
};

__global__ void add_fills(const struct fill* f, int n, float* exposure) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&exposure[f[i].instrument], f[i].qty);
}

__global__ void decay(float* exposure, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < NINSTR) exposure[i] *= k;
}

void monitor_open(struct monitor* m, int cap) {
  m->cap = cap;
  TRY(cudaMalloc(&m->exposure, NINSTR * sizeof(float)));
  for (int i = 0; i < NSTRAT; ++i) {
    TRY(cudaStreamCreate(&m->strat[i]));
    TRY(cudaMalloc(&m->fills[i], cap * sizeof(struct fill)));
    TRY(cudaMallocHost(&m->stage[i], cap * sizeof(struct fill)));
  }
  TRY(cudaMemset(m->exposure, 0, NINSTR * sizeof(float)));
}

/* stage[k] may be filled again once monitor_check() has returned */
void monitor_submit(struct monitor* m, int k, int n) {
  TRY(cudaMemcpyAsync(m->fills[k], m->stage[k], n * sizeof(struct fill), cudaMemcpyHostToDevice, m->strat[k]));
  add_fills<<<(n + 127) / 128, 128, 0, m->strat[k]>>>(m->fills[k], n, m->exposure);
  TRY(cudaGetLastError());
}

void monitor_age(struct monitor* m, float k) {
  decay<<<(NINSTR + 127) / 128, 128>>>(m->exposure, k);
  TRY(cudaGetLastError());
}

int monitor_check(struct monitor* m, float limit, float* table) {
  int breaches = 0;
  TRY(cudaMemcpy(table, m->exposure, NINSTR * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < NINSTR; ++i) breaches += fabsf(table[i]) > limit;
  return breaches;
}

void monitor_clear(struct monitor* m) { TRY(cudaMemsetAsync(m->exposure, 0, NINSTR * sizeof(float), 0)); }

void monitor_close(struct monitor* m) {
  for (int i = 0; i < NSTRAT; ++i) {
    TRY(cudaStreamSynchronize(m->strat[i]));
    TRY(cudaStreamDestroy(m->strat[i]));
    TRY(cudaFree(m->fills[i]));
    TRY(cudaFreeHost(m->stage[i]));
  }
  TRY(cudaDeviceSynchronize());
  TRY(cudaFree(m->exposure));
}

int run_session(int bars, float limit, void (*poll)(int strat, struct fill* dst, int cap, int* n)) {
  struct monitor m;
  float table[NINSTR];
  int worst = 0;
  monitor_open(&m, 1024);
  for (int b = 0; b < bars; ++b) {
    for (int k = 0; k < NSTRAT; ++k) {
      int n = 0;
      poll(k, m.stage[k], m.cap, &n);
      if (n > 0) monitor_submit(&m, k, n);
    }
    monitor_age(&m, 0.99f);
    int hit = monitor_check(&m, limit, table);
    if (hit > worst) worst = hit;
    if (hit) monitor_clear(&m);
  }
  monitor_close(&m);
  return worst;
}
