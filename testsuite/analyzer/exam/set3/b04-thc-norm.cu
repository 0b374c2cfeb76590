/* THC-like tensor math: a state with the current stream and per-purpose BLAS handles. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define THCudaCheck(err) __THCudaCheck(err, __FILE__, __LINE__)
#define THCublasCheck(err) __THCublasCheck(err, __FILE__, __LINE__)

static void __THCudaCheck(cudaError_t err, const char *file, int line)
{
  if (err != cudaSuccess) {
    fprintf(stderr, "THCudaCheck FAIL file=%s line=%i error=%i : %s\n", file, line, err, cudaGetErrorString(err));
    exit(1);
  }
}

static void __THCublasCheck(cublasStatus_t st, const char *file, int line)
{
  if (st != CUBLAS_STATUS_SUCCESS) {
    fprintf(stderr, "THCublasCheck FAIL file=%s line=%i status=%d\n", file, line, (int)st);
    exit(1);
  }
}

typedef struct THCState {
  cudaStream_t currentStream;
  cublasHandle_t blasHandle;
  cublasHandle_t reduceHandle;
} THCState;

typedef struct THCudaTensor {
  float *data;
  int rows;
  int cols;
} THCudaTensor;

static void THCState_init(THCState *state)
{
  state->currentStream = 0;
  THCublasCheck(cublasCreate(&state->blasHandle));
  THCublasCheck(cublasCreate(&state->reduceHandle));
}

static void THCState_setStream(THCState *state, cudaStream_t stream)
{
  state->currentStream = stream;
  THCublasCheck(cublasSetStream(state->blasHandle, stream));
}

static void THCudaTensor_new(THCudaTensor *t, int rows, int cols)
{
  t->rows = rows;
  t->cols = cols;
  THCudaCheck(cudaMalloc((void **)&t->data, sizeof(float) * rows * cols));
}

__global__ void THC_fillIdentity(float *a, int n, float v)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * n) a[i] = (i / n == i % n) ? v : 0.f;
}

static void THCudaTensor_eye(THCState *state, THCudaTensor *t, float v)
{
  int n = t->rows;
  THC_fillIdentity<<<(n * n + 255) / 256, 256, 0, state->currentStream>>>(t->data, n, v);
  THCudaCheck(cudaGetLastError());
}

/* r = a * b */
static void THCudaTensor_mm(THCState *state, THCudaTensor *r, THCudaTensor *a, THCudaTensor *b)
{
  float alpha = 1.f, beta = 0.f;
  THCublasCheck(cublasSgemm(state->blasHandle, CUBLAS_OP_N, CUBLAS_OP_N, r->rows, r->cols, a->cols, &alpha,
                            a->data, a->rows, b->data, b->rows, &beta, r->data, r->rows));
}

static float THCudaTensor_norm(THCState *state, THCudaTensor *t)
{
  float result;
  THCublasCheck(cublasSnrm2(state->reduceHandle, t->rows * t->cols, t->data, 1, &result));
  return result;
}

int main(void)
{
  THCState state;
  THCudaTensor A, M, T;
  cudaStream_t side;
  const int n = 2048;

  THCState_init(&state);
  THCudaCheck(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  THCudaTensor_new(&A, n, n);
  THCudaTensor_new(&M, n, n);
  THCudaTensor_new(&T, n, n);

  THCState_setStream(&state, side);
  THCudaTensor_eye(&state, &A, 1.01f);
  THCudaTensor_eye(&state, &M, 1.f);
  for (int i = 0; i < 20; i++) {
    THCudaTensor_mm(&state, &T, &A, &M);
    THCudaTensor_mm(&state, &M, &A, &T);
  }
  printf("norm: %f\n", THCudaTensor_norm(&state, &M));

  THCudaCheck(cudaStreamSynchronize(side));
  THCublasCheck(cublasDestroy(state.reduceHandle));
  THCublasCheck(cublasDestroy(state.blasHandle));
  THCudaCheck(cudaFree(A.data));
  THCudaCheck(cudaFree(M.data));
  THCudaCheck(cudaFree(T.data));
  THCudaCheck(cudaStreamDestroy(side));
  return 0;
}
