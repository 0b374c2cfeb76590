/* Demand simulation for two warehouses; plain streams plus the default stream. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void ck(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(1);
  }
}
#define CK(x) ck((x), __LINE__)

typedef struct {
  cudaStream_t stream;
  float *stock;   /* items */
  float *orders;  /* items */
} warehouse_t;

typedef struct {
  int items;
  warehouse_t w[2];
  float *backlog; /* items, both warehouses together */
} sim_t;

__global__ void sell(float *stock, float *orders, int items, unsigned day, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= items) return;
  unsigned h = (i * 2246822519u) ^ (day * 3266489917u) ^ seed;
  float d = (float)((h >> 16) & 15);
  float left = stock[i] - d;
  stock[i] = left > 0.f ? left : 0.f;
  orders[i] = left < 0.f ? -left : 0.f;
}

__global__ void merge_orders(const float *a, const float *b, float *backlog, int items) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < items) backlog[i] += a[i] + b[i];
}

__global__ void restock(float *stock, const float *backlog, int items) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < items) stock[i] += 4.f + 0.5f * backlog[i];
}

static void sim_init(sim_t *s, int items) {
  s->items = items;
  for (int k = 0; k < 2; ++k) {
    CK(cudaStreamCreate(&s->w[k].stream));
    CK(cudaMalloc((void **)&s->w[k].stock, items * sizeof(float)));
    CK(cudaMalloc((void **)&s->w[k].orders, items * sizeof(float)));
    CK(cudaMemset(s->w[k].stock, 0, items * sizeof(float)));
  }
  CK(cudaMalloc((void **)&s->backlog, items * sizeof(float)));
}

static void sim_day(sim_t *s, unsigned day) {
  int b = (s->items + 255) / 256;
  for (int k = 0; k < 2; ++k) {
    warehouse_t *w = &s->w[k];
    sell<<<b, 256, 0, w->stream>>>(w->stock, w->orders, s->items, day, 17u + k);
  }
  merge_orders<<<b, 256>>>(s->w[0].orders, s->w[1].orders, s->backlog, s->items);
  for (int k = 0; k < 2; ++k) restock<<<b, 256, 0, s->w[k].stream>>>(s->w[k].stock, s->backlog, s->items);
  CK(cudaGetLastError());
}

static double sim_month(sim_t *s, unsigned first_day, float *scratch) {
  CK(cudaMemset(s->backlog, 0, s->items * sizeof(float)));
  for (unsigned d = 0; d < 30; ++d) sim_day(s, first_day + d);
  CK(cudaMemcpy(scratch, s->backlog, s->items * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (int i = 0; i < s->items; ++i) sum += scratch[i];
  return sum;
}

static void sim_free(sim_t *s) {
  CK(cudaDeviceSynchronize());
  for (int k = 0; k < 2; ++k) {
    CK(cudaFree(s->w[k].stock));
    CK(cudaFree(s->w[k].orders));
    CK(cudaStreamDestroy(s->w[k].stream));
  }
  CK(cudaFree(s->backlog));
}

int main(void) {
  sim_t s;
  const int items = 1 << 20;
  float *scratch = (float *)malloc(items * sizeof(float));
  sim_init(&s, items);
  for (unsigned m = 0; m < 12; ++m) printf("month %u: backlog %.0f\n", m + 1, sim_month(&s, m * 30, scratch));
  sim_free(&s);
  free(scratch);
  return 0;
}
