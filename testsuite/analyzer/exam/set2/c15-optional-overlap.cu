// Optimiser step that overlaps the master-weight update with gradient clearing,
// if overlap is enabled; otherwise everything stays on one stream.
#include <cuda_runtime.h>
#include <stdexcept>

namespace optim {

static void guard(cudaError_t rc)
{
   if (rc != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void adam(float *w, float *m, float *v, const float *g, float lr, int n)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i >= n) return;
   m[i] = 0.9f * m[i] + 0.1f * g[i];
   v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
   w[i] -= lr * m[i] * rsqrtf(v[i] + 1e-12f);
}
__global__ void clip_norm(const float *g, int n, float *norm)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) atomicAdd(norm, g[i] * g[i]);
}
__global__ void narrow(const float *w, unsigned short *bf16, int n)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) bf16[i] = static_cast<unsigned short>(__float_as_uint(w[i]) >> 16);
}

struct State {
   float *w, *m, *v, *g, *norm;
   unsigned short *bf16;
   int n;
};

class Stepper {
public:
   explicit Stepper(bool overlap) : m_overlap(overlap)
   {
      if (!m_overlap) return;
      guard(cudaStreamCreateWithFlags(&m_side, cudaStreamNonBlocking));
      guard(cudaEventCreateWithFlags(&m_begin, cudaEventDisableTiming));
      guard(cudaEventCreateWithFlags(&m_end, cudaEventDisableTiming));
   }
   ~Stepper()
   {
      if (!m_overlap) return;
      cudaEventDestroy(m_end);
      cudaEventDestroy(m_begin);
      cudaStreamDestroy(m_side);
   }

   void step(const State &s, float lr, cudaStream_t main)
   {
      const int grid = (s.n + 255) / 256;
      guard(cudaMemsetAsync(s.norm, 0, sizeof(float), main));

      cudaStream_t aux = open(main);
      clip_norm<<<grid, 256, 0, aux>>>(s.g, s.n, s.norm);
      adam<<<grid, 256, 0, main>>>(s.w, s.m, s.v, s.g, lr, s.n);
      close(main);

      narrow<<<grid, 256, 0, main>>>(s.w, s.bf16, s.n);
      guard(cudaMemsetAsync(s.g, 0, s.n * sizeof(float), main));
      guard(cudaGetLastError());
   }

   float last_norm(const State &s, cudaStream_t main)
   {
      float h = 0.f;
      guard(cudaMemcpyAsync(&h, s.norm, sizeof h, cudaMemcpyDeviceToHost, main));
      guard(cudaStreamSynchronize(main));
      return h;
   }

private:
   cudaStream_t open(cudaStream_t main)
   {
      if (!m_overlap) return main;
      guard(cudaEventRecord(m_begin, main));
      guard(cudaStreamWaitEvent(m_side, m_begin, 0));
      return m_side;
   }
   void close(cudaStream_t main)
   {
      if (!m_overlap) return;
      guard(cudaEventRecord(m_end, m_side));
      guard(cudaStreamWaitEvent(main, m_end, 0));
   }

   bool m_overlap;
   cudaStream_t m_side = nullptr;
   cudaEvent_t m_begin = nullptr, m_end = nullptr;
};

} // namespace optim
