// Time step of a shallow-water code, recorded as a graph: the height update and
// the tracer update run side by side.
#include <cuda_runtime.h>
#include <cstdlib>
#include <iostream>

#define GPU(call) gpuAssert((call), __LINE__)
inline void gpuAssert(cudaError_t code, int line)
{
   if (code != cudaSuccess) {
      std::cerr << "GPUassert: " << cudaGetErrorString(code) << " at " << line << std::endl;
      std::exit(code);
   }
}

__global__ void fluxes(const double *h, const double *u, double *f, int n)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) f[i] = u[i] > 0 ? u[i] * h[i] : u[i] * h[(i + 1) % n];
}
__global__ void updateHeight(double *h, const double *f, double c, int n)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) h[i] -= c * (f[i] - f[(i + n - 1) % n]);
}
__global__ void updateTracer(double *q, const double *f, double c, int n)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) q[i] -= c * 0.5 * (f[i] - f[(i + n - 1) % n]);
}

class ShallowWater
{
public:
   ShallowWater(int n, double *h, double *q, const double *u) : n_(n), h_(h), q_(q), u_(u)
   {
      GPU(cudaMalloc(&f_, n * sizeof(double)));
      GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
      GPU(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
      GPU(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming));
      GPU(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming));
   }
   ~ShallowWater()
   {
      GPU(cudaStreamSynchronize(stream_));
      if (step_) GPU(cudaGraphExecDestroy(step_));
      GPU(cudaEventDestroy(joined_));
      GPU(cudaEventDestroy(forked_));
      GPU(cudaStreamDestroy(side_));
      GPU(cudaStreamDestroy(stream_));
      GPU(cudaFree(f_));
   }

   void record(double dt, double dx)
   {
      const int threads = 256, blocks = (n_ + threads - 1) / threads;
      cudaGraph_t graph;
      GPU(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
      fluxes<<<blocks, threads, 0, stream_>>>(h_, u_, f_, n_);
      GPU(cudaEventRecord(forked_, stream_));
      GPU(cudaStreamWaitEvent(side_, forked_, 0));
      updateTracer<<<blocks, threads, 0, side_>>>(q_, f_, dt / dx, n_);
      GPU(cudaEventRecord(joined_, side_));
      updateHeight<<<blocks, threads, 0, stream_>>>(h_, f_, dt / dx, n_);
      GPU(cudaStreamEndCapture(stream_, &graph));
      GPU(cudaGraphInstantiate(&step_, graph, 0));
      GPU(cudaGraphDestroy(graph));
   }

   void advance(int steps)
   {
      for (int s = 0; s < steps; ++s)
         GPU(cudaGraphLaunch(step_, stream_));
      GPU(cudaStreamSynchronize(stream_));
   }

private:
   int n_;
   double *h_, *q_;
   const double *u_;
   double *f_ = nullptr;
   cudaStream_t stream_{}, side_{};
   cudaEvent_t forked_{}, joined_{};
   cudaGraphExec_t step_{};
};
