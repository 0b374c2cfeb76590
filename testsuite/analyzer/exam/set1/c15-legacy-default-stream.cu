/*
 * Classic CUDA program structure: work on the legacy default stream and on
 * blocking streams.  The streams are made with cudaStreamCreate, so each of
 * them waits for the default stream and the default stream for them.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA_CALL(x) do { cudaError_t err_ = (x); if (err_ != cudaSuccess) { \
  fprintf(stderr, "Error at %s:%d\n", __FILE__, __LINE__); exit(EXIT_FAILURE); } } while (0)

#define NUM_STREAMS 4

__global__ void init_field(float *u, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] = (float)(i % 17);
}

__global__ void smooth_part(const float *u, float *v, int first, int count, int n)
{
  int i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < first + count && i > 0 && i < n - 1) v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3.0f;
}

__global__ void clamp_edges(float *v, int n)
{
  v[0] = v[1];
  v[n - 1] = v[n - 2];
}

typedef struct {
  int n;
  float *u;
  float *v;
  cudaStream_t parts[NUM_STREAMS];
} field_t;

void field_create(field_t *f, int n)
{
  f->n = n;
  CUDA_CALL(cudaMalloc((void **)&f->u, n * sizeof(float)));
  CUDA_CALL(cudaMalloc((void **)&f->v, n * sizeof(float)));
  for (int s = 0; s < NUM_STREAMS; s++) CUDA_CALL(cudaStreamCreate(&f->parts[s]));
  /* default stream: the kernels below wait for it */
  init_field<<<(n + 255) / 256, 256>>>(f->u, n);
  CUDA_CALL(cudaGetLastError());
}

void field_smooth(field_t *f)
{
  int per = (f->n + NUM_STREAMS - 1) / NUM_STREAMS;
  for (int s = 0; s < NUM_STREAMS; s++) {
    smooth_part<<<(per + 255) / 256, 256, 0, f->parts[s]>>>(f->u, f->v, s * per, per, f->n);
    CUDA_CALL(cudaGetLastError());
  }
  /* default stream again: waits for all four parts */
  clamp_edges<<<1, 1>>>(f->v, f->n);
  CUDA_CALL(cudaGetLastError());
  /* and the next smooth_part waits for this copy */
  CUDA_CALL(cudaMemcpyAsync(f->u, f->v, f->n * sizeof(float), cudaMemcpyDeviceToDevice, 0));
}

/* Blocking copy on the default stream: everything above is done before it. */
void field_read(const field_t *f, float *host)
{
  CUDA_CALL(cudaMemcpy(host, f->u, f->n * sizeof(float), cudaMemcpyDeviceToHost));
}

void field_destroy(field_t *f)
{
  CUDA_CALL(cudaDeviceSynchronize());
  for (int s = 0; s < NUM_STREAMS; s++) CUDA_CALL(cudaStreamDestroy(f->parts[s]));
  CUDA_CALL(cudaFree(f->v));
  CUDA_CALL(cudaFree(f->u));
}

float field_mean(int n, int sweeps)
{
  field_t f;
  float *host = (float *)malloc(n * sizeof(float));
  if (host == NULL) exit(EXIT_FAILURE);
  field_create(&f, n);
  for (int s = 0; s < sweeps; s++) field_smooth(&f);
  field_read(&f, host);
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += host[i];
  field_destroy(&f);
  free(host);
  return (float)(sum / n);
}
