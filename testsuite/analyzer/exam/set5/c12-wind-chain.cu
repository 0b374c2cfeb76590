// Wind-farm wake model: inflow -> wakes -> loads run on three streams of their own.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(x)                                                   \
  do {                                                           \
    cudaError_t rc = (x);                                        \
    if (rc != cudaSuccess) {                                     \
      fprintf(stderr, "%s\n", cudaGetErrorString(rc));           \
      exit(1);                                                   \
    }                                                            \
  } while (0)

typedef struct {
  cudaStream_t stream;
  cudaEvent_t done;
} stage;

typedef struct {
  int turbines;
  float *inflow, *deficit, *load;
  stage wind, wake, fatigue;
} farm;

__global__ void k_inflow(float* u, int n, float t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] = 9.f + sinf(0.01f * t + 0.1f * i);
}
__global__ void k_wake(const float* u, float* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int k = 1; k <= 64 && i - k >= 0; ++k) acc += u[i - k] / (float)(k * k);
  d[i] = 0.1f * acc;
}
__global__ void k_load(const float* u, const float* d, float* load, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = u[i] - d[i];
    load[i] += v * v;
  }
}

static void stage_open(stage* s) {
  TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
  TRY(cudaEventCreateWithFlags(&s->done, cudaEventDisableTiming));
}
static void stage_close(stage* s) {
  TRY(cudaStreamSynchronize(s->stream));
  TRY(cudaEventDestroy(s->done));
  TRY(cudaStreamDestroy(s->stream));
}
static void stage_follow(stage* s, const stage* before) { TRY(cudaStreamWaitEvent(s->stream, before->done, 0)); }
static void stage_mark(stage* s) { TRY(cudaEventRecord(s->done, s->stream)); }

void farm_open(farm* f, int turbines) {
  f->turbines = turbines;
  stage_open(&f->wind);
  stage_open(&f->wake);
  stage_open(&f->fatigue);
  TRY(cudaMalloc((void**)&f->inflow, sizeof(float) * turbines));
  TRY(cudaMalloc((void**)&f->deficit, sizeof(float) * turbines));
  TRY(cudaMalloc((void**)&f->load, sizeof(float) * turbines));
  TRY(cudaMemsetAsync(f->load, 0, sizeof(float) * turbines, f->fatigue.stream));
  stage_mark(&f->fatigue);
}

static unsigned blocks(const farm* f) { return (unsigned)((f->turbines + 127) / 128); }

void farm_wind(farm* f, float t) {
  stage_follow(&f->wind, &f->fatigue);
  k_inflow<<<blocks(f), 128, 0, f->wind.stream>>>(f->inflow, f->turbines, t);
  stage_mark(&f->wind);
}
void farm_wakes(farm* f) {
  stage_follow(&f->wake, &f->wind);
  k_wake<<<blocks(f), 128, 0, f->wake.stream>>>(f->inflow, f->deficit, f->turbines);
  stage_mark(&f->wake);
}
void farm_loads(farm* f) {
  stage_follow(&f->fatigue, &f->wake);
  k_load<<<blocks(f), 128, 0, f->fatigue.stream>>>(f->inflow, f->deficit, f->load, f->turbines);
  stage_mark(&f->fatigue);
}

void farm_read(farm* f, float* out) {
  TRY(cudaStreamSynchronize(f->fatigue.stream));
  TRY(cudaMemcpy(out, f->load, sizeof(float) * f->turbines, cudaMemcpyDeviceToHost));
}

void farm_close(farm* f) {
  stage_close(&f->wind);
  stage_close(&f->wake);
  stage_close(&f->fatigue);
  TRY(cudaFree(f->inflow));
  TRY(cudaFree(f->deficit));
  TRY(cudaFree(f->load));
}

int main(void) {
  farm f;
  const int n = 1 << 16;
  float* load = (float*)malloc(sizeof(float) * n);
  farm_open(&f, n);
  for (int t = 0; t < 1000; ++t) {
    farm_wind(&f, (float)t);
    farm_wakes(&f);
    farm_loads(&f);
  }
  farm_read(&f, load);
  printf("%f %f\n", load[0], load[n - 1]);
  farm_close(&f);
  free(load);
  return 0;
}
