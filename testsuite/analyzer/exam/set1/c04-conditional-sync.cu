#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

/* Result reader with an optional asynchronous path.  The host waits only if a
 * copy was really enqueued. */

typedef struct {
  cudaStream_t stream;
  int         *d_flags;
  int         *h_flags;   /* page-locked */
  int          n;
  int          pending;   /* a copy into h_flags is in flight */
  int          cached;    /* h_flags holds the current contents of d_flags */
} flag_reader;

__global__ static void raise_flags(int *flags, const float *residual, float tol, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flags[i] = residual[i] > tol;
}

static cudaError_t report(cudaError_t rc, const char *what)
{
  if (rc != cudaSuccess) fprintf(stderr, "flag_reader: %s: %s\n", what, cudaGetErrorString(rc));
  return rc;
}

cudaError_t flag_reader_init(flag_reader *r, int n)
{
  memset(r, 0, sizeof *r);
  r->n = n;
  cudaError_t rc = cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking);
  if (rc == cudaSuccess) rc = cudaMalloc((void **)&r->d_flags, n * sizeof(int));
  if (rc == cudaSuccess) rc = cudaMallocHost((void **)&r->h_flags, n * sizeof(int));
  return report(rc, "init");
}

static cudaError_t settle(flag_reader *r)
{
  if (!r->pending) return cudaSuccess;
  cudaError_t rc = cudaStreamSynchronize(r->stream);
  if (rc == cudaSuccess) {
    r->pending = 0;
    r->cached  = 1;
  }
  return report(rc, "settle");
}

/* residual: result of work that the caller has completed. */
cudaError_t flag_reader_update(flag_reader *r, const float *residual, float tol)
{
  raise_flags<<<(r->n + 255) / 256, 256, 0, r->stream>>>(r->d_flags, residual, tol, r->n);
  r->cached = 0;
  return report(cudaGetLastError(), "update");
}

cudaError_t flag_reader_prefetch(flag_reader *r)
{
  if (r->cached) return cudaSuccess;
  cudaError_t rc = cudaMemcpyAsync(r->h_flags, r->d_flags, r->n * sizeof(int),
                                   cudaMemcpyDeviceToHost, r->stream);
  if (rc == cudaSuccess) r->pending = 1;
  return report(rc, "prefetch");
}

cudaError_t flag_reader_count(flag_reader *r, int *count)
{
  cudaError_t rc = flag_reader_prefetch(r);
  if (rc != cudaSuccess) return rc;
  if (r->pending) {
    rc = settle(r);
    if (rc != cudaSuccess) return rc;
  }
  *count = 0;
  for (int i = 0; i < r->n; ++i) *count += r->h_flags[i];
  return cudaSuccess;
}

void flag_reader_destroy(flag_reader *r)
{
  if (r->stream) cudaStreamSynchronize(r->stream);
  cudaFree(r->d_flags);
  cudaFreeHost(r->h_flags);
  if (r->stream) cudaStreamDestroy(r->stream);
  memset(r, 0, sizeof *r);
}
