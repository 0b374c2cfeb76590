/* Distributed k-means: per-rank partial sums are reduced over NCCL while the next chunk is assigned. */
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_TRY(x)                                                            \
  do {                                                                         \
    cudaError_t _e = (x);                                                      \
    if (_e != cudaSuccess) {                                                   \
      fprintf(stderr, "cuda %s (%s)\n", cudaGetErrorString(_e), #x);           \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)
#define NCCL_TRY(x)                                                            \
  do {                                                                         \
    ncclResult_t _r = (x);                                                     \
    if (_r != ncclSuccess) {                                                   \
      fprintf(stderr, "nccl %s (%s)\n", ncclGetErrorString(_r), #x);           \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

struct kmeans {
  int k, dim;
  float* centroids;
  float* totals; /* k * (dim + 1), reduced over all ranks */
  cudaStream_t compute, wire;
  cudaEvent_t filled, reduced;
  ncclComm_t comm;
};

struct partial {
  float* sums;
  size_t count;
};

__global__ void assign(const float* pts, int n, const float* cent, float* sums, int k, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  float bd = 3.4e38f;
  for (int c = 0; c < k; ++c) {
    float d = 0.f;
    for (int j = 0; j < dim; ++j) {
      float t = pts[i * dim + j] - cent[c * dim + j];
      d += t * t;
    }
    if (d < bd) {
      bd = d;
      best = c;
    }
  }
  for (int j = 0; j < dim; ++j) atomicAdd(&sums[best * (dim + 1) + j], pts[i * dim + j]);
  atomicAdd(&sums[best * (dim + 1) + dim], 1.f);
}

__global__ void accumulate(float* totals, const float* chunk, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) totals[i] += chunk[i];
}

__global__ void move_centroids(float* cent, const float* totals, int k, int dim) {
  int c = blockIdx.x, j = threadIdx.x;
  float w = totals[c * (dim + 1) + dim];
  if (j < dim && w > 0.f) cent[c * dim + j] = totals[c * (dim + 1) + j] / w;
}

void kmeans_init(struct kmeans* m, int k, int dim, ncclComm_t comm) {
  m->k = k;
  m->dim = dim;
  m->comm = comm;
  CUDA_TRY(cudaStreamCreateWithFlags(&m->compute, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&m->wire, cudaStreamNonBlocking));
  CUDA_TRY(cudaEventCreateWithFlags(&m->filled, cudaEventDisableTiming));
  CUDA_TRY(cudaEventCreateWithFlags(&m->reduced, cudaEventDisableTiming));
  CUDA_TRY(cudaMalloc((void**)&m->centroids, sizeof(float) * k * dim));
  CUDA_TRY(cudaMalloc((void**)&m->totals, sizeof(float) * k * (dim + 1)));
  CUDA_TRY(cudaMemsetAsync(m->centroids, 0, sizeof(float) * k * dim, m->compute));
}

static struct partial partial_new(struct kmeans* m) {
  struct partial p;
  p.count = (size_t)m->k * (m->dim + 1);
  CUDA_TRY(cudaMallocAsync((void**)&p.sums, sizeof(float) * p.count, m->compute));
  CUDA_TRY(cudaMemsetAsync(p.sums, 0, sizeof(float) * p.count, m->compute));
  return p;
}

static void partial_drop(struct partial* p, cudaStream_t stream) {
  CUDA_TRY(cudaFreeAsync(p->sums, stream));
  p->sums = NULL;
}

static void partial_reduce(struct kmeans* m, struct partial* p) {
  CUDA_TRY(cudaEventRecord(m->filled, m->compute));
  CUDA_TRY(cudaStreamWaitEvent(m->wire, m->filled, 0));
  NCCL_TRY(ncclAllReduce(p->sums, p->sums, p->count, ncclFloat, ncclSum, m->comm, m->wire));
  accumulate<<<(unsigned)((p->count + 127) / 128), 128, 0, m->wire>>>(m->totals, p->sums, p->count);
}

void kmeans_epoch(struct kmeans* m, const float* const* chunks, const int* sizes, int n_chunks) {
  CUDA_TRY(cudaEventRecord(m->filled, m->compute));
  CUDA_TRY(cudaStreamWaitEvent(m->wire, m->filled, 0));
  CUDA_TRY(cudaMemsetAsync(m->totals, 0, sizeof(float) * m->k * (m->dim + 1), m->wire));
  for (int c = 0; c < n_chunks; ++c) {
    struct partial p = partial_new(m);
    assign<<<(sizes[c] + 127) / 128, 128, 0, m->compute>>>(chunks[c], sizes[c], m->centroids, p.sums, m->k, m->dim);
    partial_reduce(m, &p);
    partial_drop(&p, m->wire);
  }
  CUDA_TRY(cudaEventRecord(m->reduced, m->wire));
  CUDA_TRY(cudaStreamWaitEvent(m->compute, m->reduced, 0));
  move_centroids<<<m->k, m->dim, 0, m->compute>>>(m->centroids, m->totals, m->k, m->dim);
}

void kmeans_read(struct kmeans* m, float* out) {
  CUDA_TRY(cudaStreamSynchronize(m->compute));
  CUDA_TRY(cudaMemcpy(out, m->centroids, sizeof(float) * m->k * m->dim, cudaMemcpyDeviceToHost));
}

void kmeans_free(struct kmeans* m) {
  CUDA_TRY(cudaStreamSynchronize(m->compute));
  CUDA_TRY(cudaStreamSynchronize(m->wire));
  CUDA_TRY(cudaFree(m->totals));
  CUDA_TRY(cudaFree(m->centroids));
  CUDA_TRY(cudaEventDestroy(m->filled));
  CUDA_TRY(cudaEventDestroy(m->reduced));
  CUDA_TRY(cudaStreamDestroy(m->wire));
  CUDA_TRY(cudaStreamDestroy(m->compute));
}
