/* Shallow-water run with open boundaries.  Each step overlaps three branches:
 * interior update, export of the tide-gauge strip, import of the boundary forcing. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(x) cu_check((x), #x, __LINE__)
static void cu_check(cudaError_t e, const char *what, int line) {
  if (e != cudaSuccess) {
    fprintf(stderr, "line %d: %s -> %s\n", line, what, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
  }
}

typedef struct {
  int nx, ny, steps;
  cudaStream_t main_s, interior_s, export_s, import_s;
  cudaEvent_t fork, interior_done, export_done, import_done;
  float *eta[2];        /* surface elevation, ping-pong */
  float *forcing;       /* nx values for the current step */
  float *forcing_host;  /* pinned, steps x nx */
  float *gauges_host;   /* pinned, steps x nx */
} swe_t;

__global__ void interior(const float *in, float *out, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
  const float *c = in + (size_t)y * nx + x;
  out[(size_t)y * nx + x] = c[0] + 0.1f * (c[-1] + c[1] + c[-nx] + c[nx] - 4.f * c[0]);
}

__global__ void open_boundary(float *eta, const float *forcing, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= nx) return;
  eta[x] = 0.5f * (eta[nx + x] + forcing[x]);
  eta[(size_t)(ny - 1) * nx + x] = eta[(size_t)(ny - 2) * nx + x];
}

static void swe_init(swe_t *w, int nx, int ny, int steps) {
  memset(w, 0, sizeof *w);
  w->nx = nx; w->ny = ny; w->steps = steps;
  cudaStream_t *s[4] = {&w->main_s, &w->interior_s, &w->export_s, &w->import_s};
  cudaEvent_t *e[4] = {&w->fork, &w->interior_done, &w->export_done, &w->import_done};
  for (int i = 0; i < 4; ++i) {
    CU(cudaStreamCreateWithFlags(s[i], cudaStreamNonBlocking));
    CU(cudaEventCreateWithFlags(e[i], cudaEventDisableTiming));
  }
  size_t fb = sizeof(float) * nx * ny;
  for (int i = 0; i < 2; ++i) {
    CU(cudaMalloc((void **)&w->eta[i], fb));
    CU(cudaMemsetAsync(w->eta[i], 0, fb, w->main_s));
  }
  CU(cudaMalloc((void **)&w->forcing, sizeof(float) * nx));
  CU(cudaMallocHost((void **)&w->forcing_host, sizeof(float) * nx * steps));
  CU(cudaMallocHost((void **)&w->gauges_host, sizeof(float) * nx * steps));
}

static void swe_fork(swe_t *w) {
  CU(cudaEventRecord(w->fork, w->main_s));
  CU(cudaStreamWaitEvent(w->interior_s, w->fork, 0));
  CU(cudaStreamWaitEvent(w->export_s, w->fork, 0));
  CU(cudaStreamWaitEvent(w->import_s, w->fork, 0));
}

static void swe_branches(swe_t *w, int step) {
  const float *cur = w->eta[step & 1];
  float *next = w->eta[(step + 1) & 1];
  size_t row = sizeof(float) * w->nx;
  dim3 grid((w->nx + 127) / 128, w->ny);
  interior<<<grid, 128, 0, w->interior_s>>>(cur, next, w->nx, w->ny);
  CU(cudaGetLastError());
  CU(cudaMemcpyAsync(w->gauges_host + (size_t)step * w->nx, cur + (size_t)(w->ny / 2) * w->nx, row,
                     cudaMemcpyDeviceToHost, w->export_s));
  CU(cudaMemcpyAsync(w->forcing, w->forcing_host + (size_t)step * w->nx, row, cudaMemcpyHostToDevice, w->import_s));
}

static void swe_join(swe_t *w) {
  CU(cudaEventRecord(w->interior_done, w->interior_s));
  CU(cudaEventRecord(w->export_done, w->export_s));
  CU(cudaEventRecord(w->import_done, w->import_s));
  CU(cudaStreamWaitEvent(w->main_s, w->interior_done, 0));
  CU(cudaStreamWaitEvent(w->main_s, w->export_done, 0));
  CU(cudaStreamWaitEvent(w->main_s, w->import_done, 0));
}

static void swe_step(swe_t *w, int step) {
  swe_fork(w);
  swe_branches(w, step);
  swe_join(w);
  open_boundary<<<(w->nx + 127) / 128, 128, 0, w->main_s>>>(w->eta[(step + 1) & 1], w->forcing, w->nx, w->ny);
  CU(cudaGetLastError());
}

static void swe_destroy(swe_t *w) {
  CU(cudaDeviceSynchronize());
  cudaFree(w->eta[0]); cudaFree(w->eta[1]); cudaFree(w->forcing);
  cudaFreeHost(w->forcing_host); cudaFreeHost(w->gauges_host);
  cudaStream_t s[4] = {w->main_s, w->interior_s, w->export_s, w->import_s};
  cudaEvent_t e[4] = {w->fork, w->interior_done, w->export_done, w->import_done};
  for (int i = 0; i < 4; ++i) { cudaStreamDestroy(s[i]); cudaEventDestroy(e[i]); }
}

int main(void) {
  swe_t w;
  swe_init(&w, 2048, 1024, 600);
  for (int i = 0; i < w.nx * w.steps; ++i) w.forcing_host[i] = (float)(i % 97) * 0.01f;
  for (int t = 0; t < w.steps; ++t) swe_step(&w, t);
  CU(cudaStreamSynchronize(w.main_s));
  float peak = 0.f;
  for (int i = 0; i < w.nx * w.steps; ++i) if (w.gauges_host[i] > peak) peak = w.gauges_host[i];
  printf("peak elevation %g m\n", peak);
  swe_destroy(&w);
  return 0;
}
