/* Catchment routing: input columns of a time step are pushed to the device by a small scheduler. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 8

#define CK(x)                                                                      \
  do {                                                                             \
    cudaError_t e = (x);                                                           \
    if (e != cudaSuccess) {                                                        \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e));    \
      abort();                                                                     \
    }                                                                              \
  } while (0)

struct split_input {
  float* host;
  float* dev;
  int n;
  int layout;
  cudaEvent_t copied;
};

struct sched {
  cudaStream_t stream;
  int n_inputs;
  struct split_input in[MAX_INPUTS];
  float* storage;
  int cells;
};

__global__ void route_cells(const float* rain, const float* evap, float* storage, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = storage[i] + dt * (rain[i] - evap[i]);
  float q = 0.05f * s;
  storage[i] = s > q ? s - q : 0.f;
}

static void sched_init(struct sched* s, int n_inputs, int cells) {
  memset(s, 0, sizeof *s);
  s->n_inputs = n_inputs;
  s->cells = cells;
  CK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
  CK(cudaMalloc((void**)&s->storage, sizeof(float) * cells));
  CK(cudaMemsetAsync(s->storage, 0, sizeof(float) * cells, s->stream));
  for (int i = 0; i < n_inputs; ++i) {
    struct split_input* in = &s->in[i];
    in->n = cells;
    in->layout = -1;
    CK(cudaMallocHost((void**)&in->host, sizeof(float) * cells));
    CK(cudaMalloc((void**)&in->dev, sizeof(float) * cells));
    CK(cudaEventCreateWithFlags(&in->copied, cudaEventDisableTiming));
  }
}

static void sched_wait_input(struct split_input* in) { CK(cudaEventSynchronize(in->copied)); }

/* `order` is the permutation that belongs to a layout; NULL when the columns come sorted already. */
static void sched_copy_inputs(struct sched* s, const float* const* cols, const int* order, int layout) {
  for (int i = 0; i < s->n_inputs; ++i) {
    struct split_input* in = &s->in[i];
    if (in->layout != layout) {
      sched_wait_input(in);
      in->layout = layout;
    }
    if (order) {
      for (int k = 0; k < in->n; ++k) in->host[k] = cols[i][order[k]];
    } else {
      memcpy(in->host, cols[i], sizeof(float) * in->n);
    }
    CK(cudaMemcpyAsync(in->dev, in->host, sizeof(float) * in->n, cudaMemcpyHostToDevice, s->stream));
    CK(cudaEventRecord(in->copied, s->stream));
  }
}

static void sched_compute(struct sched* s, float dt) {
  route_cells<<<(s->cells + 127) / 128, 128, 0, s->stream>>>(s->in[0].dev, s->in[1].dev, s->storage, s->cells, dt);
  CK(cudaGetLastError());
}

static void sched_finish(struct sched* s, float* out) {
  CK(cudaStreamSynchronize(s->stream));
  CK(cudaMemcpy(out, s->storage, sizeof(float) * s->cells, cudaMemcpyDeviceToHost));
}

static void sched_free(struct sched* s) {
  CK(cudaStreamSynchronize(s->stream));
  for (int i = 0; i < s->n_inputs; ++i) {
    CK(cudaEventDestroy(s->in[i].copied));
    CK(cudaFree(s->in[i].dev));
    CK(cudaFreeHost(s->in[i].host));
  }
  CK(cudaFree(s->storage));
  CK(cudaStreamDestroy(s->stream));
}

int main(void) {
  enum { CELLS = 1 << 20, STEPS = 240 };
  float* rain = (float*)malloc(sizeof(float) * CELLS);
  float* evap = (float*)malloc(sizeof(float) * CELLS);
  float* out = (float*)malloc(sizeof(float) * CELLS);
  const float* cols[2] = {rain, evap};
  struct sched s;
  sched_init(&s, 2, CELLS);
  for (int t = 0; t < STEPS; ++t) {
    for (int k = 0; k < CELLS; ++k) {
      rain[k] = (float)((k * 31 + t) % 17);
      evap[k] = 0.1f * (float)(t % 5);
    }
    sched_copy_inputs(&s, cols, NULL, t / 120);
    sched_compute(&s, 0.5f);
  }
  sched_finish(&s, out);
  printf("%g\n", out[0]);
  sched_free(&s);
  free(rain);
  free(evap);
  free(out);
  return 0;
}
