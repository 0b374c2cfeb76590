/* Strain-gauge frame: decode 12-bit samples, expand the gain table for the current
 * temperature, apply it.  The three kernels are chained with programmatic launch. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define GO(x) do { cudaError_t e = (x); if (e) { printf("%s at %d\n", cudaGetErrorName(e), __LINE__); exit(1); } } while (0)

struct frame_ctx {
  int channels;
  int samples;              /* per channel */
  cudaStream_t stream;
  unsigned char *packed;    /* device, 3 bytes per 2 samples */
  short *raw;               /* device, channels x samples */
  float *coef;              /* device, channels x 3, constant */
  float *gain;              /* device, channels */
  float *strain;            /* device, channels x samples */
};

__global__ void decode(const unsigned char *packed, short *raw, int n) {
  cudaTriggerProgrammaticLaunchCompletion();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n) return;
  unsigned a = packed[3 * i], b = packed[3 * i + 1], c = packed[3 * i + 2];
  raw[2 * i] = (short)((a << 4) | (b >> 4));
  raw[2 * i + 1] = (short)(((b & 15u) << 8) | c);
}

__global__ void expand_gain(const float *coef, float temp, float *gain, int channels) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  int ch = blockIdx.x * blockDim.x + threadIdx.x;
  if (ch >= channels) return;
  const float *k = coef + 3 * ch;
  gain[ch] = k[0] + temp * (k[1] + temp * k[2]);
}

__global__ void apply_gain(const short *raw, const float *gain, float *strain, int samples) {
  int ch = blockIdx.y;
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  if (t >= samples) return;
  strain[(size_t)ch * samples + t] = gain[ch] * raw[(size_t)ch * samples + t];
}

static cudaLaunchConfig_t dependent(cudaLaunchAttribute *a, dim3 grid, dim3 block, cudaStream_t s) {
  a->id = cudaLaunchAttributeProgrammaticStreamSerialization;
  a->val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t c = {};
  c.gridDim = grid;
  c.blockDim = block;
  c.stream = s;
  c.attrs = a;
  c.numAttrs = 1;
  return c;
}

static void frame_init(frame_ctx *f, int channels, int samples) {
  f->channels = channels;
  f->samples = samples;
  size_t n = (size_t)channels * samples;
  GO(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
  GO(cudaMalloc((void **)&f->packed, n / 2 * 3));
  GO(cudaMalloc((void **)&f->raw, n * sizeof(short)));
  GO(cudaMalloc((void **)&f->coef, channels * 3 * sizeof(float)));
  GO(cudaMalloc((void **)&f->gain, channels * sizeof(float)));
  GO(cudaMalloc((void **)&f->strain, n * sizeof(float)));
  GO(cudaMemsetAsync(f->coef, 0x3c, channels * 3 * sizeof(float), f->stream));
}

static void frame_run(frame_ctx *f, const unsigned char *host_packed, float temp) {
  int n = f->channels * f->samples;
  cudaLaunchAttribute a[1];
  GO(cudaMemcpyAsync(f->packed, host_packed, (size_t)n / 2 * 3, cudaMemcpyHostToDevice, f->stream));
  decode<<<(n / 2 + 255) / 256, 256, 0, f->stream>>>(f->packed, f->raw, n);
  GO(cudaGetLastError());
  cudaLaunchConfig_t c = dependent(a, dim3((f->channels + 63) / 64), dim3(64), f->stream);
  GO(cudaLaunchKernelEx(&c, expand_gain, (const float *)f->coef, temp, f->gain, f->channels));
  c = dependent(a, dim3((f->samples + 255) / 256, f->channels), dim3(256), f->stream);
  GO(cudaLaunchKernelEx(&c, apply_gain, (const short *)f->raw, (const float *)f->gain, f->strain, f->samples));
}

static void frame_fetch(frame_ctx *f, float *dst) {
  GO(cudaMemcpyAsync(dst, f->strain, (size_t)f->channels * f->samples * sizeof(float), cudaMemcpyDeviceToHost, f->stream));
  GO(cudaStreamSynchronize(f->stream));
}

static void frame_free(frame_ctx *f) {
  GO(cudaStreamSynchronize(f->stream));
  cudaFree(f->packed); cudaFree(f->raw); cudaFree(f->coef); cudaFree(f->gain); cudaFree(f->strain);
  cudaStreamDestroy(f->stream);
}

int main(void) {
  frame_ctx f;
  frame_init(&f, 256, 32768);
  size_t n = (size_t)f.channels * f.samples;
  unsigned char *packed = NULL;
  float *strain = NULL;
  GO(cudaMallocHost((void **)&packed, n / 2 * 3));
  GO(cudaMallocHost((void **)&strain, n * sizeof(float)));
  for (int k = 0; k < 20; ++k) {
    for (size_t i = 0; i < n / 2 * 3; ++i) packed[i] = (unsigned char)(i * 7 + k);
    frame_run(&f, packed, 20.f + k);
    frame_fetch(&f, strain);
    printf("frame %d: %g\n", k, strain[n - 1]);
  }
  frame_free(&f);
  cudaFreeHost(packed);
  cudaFreeHost(strain);
  return 0;
}
