// Small reference-counted device views for a finite-volume code.
#include <cuda_runtime.h>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

inline void fv_check(cudaError_t e, const std::string& where)
{
  if (e == cudaSuccess) return;
  std::cerr << "CUDA failure in " << where << ": " << cudaGetErrorString(e) << "\n";
  std::terminate();
}

template <class Scalar>
class View
{
public:
  View(std::string label, std::size_t extent, cudaStream_t queue)
    : m_label(std::move(label)), m_extent(extent)
  {
    Scalar* raw = nullptr;
    fv_check(cudaMallocAsync(reinterpret_cast<void**>(&raw), extent * sizeof(Scalar), queue), m_label);
    m_data = std::shared_ptr<Scalar>(raw, [](Scalar* p) { cudaFree(p); });
  }
  Scalar* data() const { return m_data.get(); }
  std::size_t extent() const { return m_extent; }

private:
  std::string m_label;
  std::size_t m_extent;
  std::shared_ptr<Scalar> m_data;
};

template <class Functor>
__global__ void parallel_for_kernel(Functor f, std::size_t n)
{
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) f(i);
}

template <class Functor>
void parallel_for(std::size_t n, Functor f, cudaStream_t queue)
{
  if (n == 0) return;
  unsigned grid = static_cast<unsigned>((n + 255) / 256);
  parallel_for_kernel<<<grid, 256, 0, queue>>>(f, n);
  fv_check(cudaGetLastError(), "parallel_for");
}

struct FaceFlux
{
  const double* u;
  double* flux;
  std::size_t cells;
  __device__ void operator()(std::size_t f) const
  {
    double left = u[f == 0 ? cells - 1 : f - 1];
    double right = u[f];
    flux[f] = 0.5 * (left * left + right * right) - 0.5 * (right - left);
  }
};

struct Divergence
{
  const double* flux;
  double* u;
  double lambda;
  std::size_t cells;
  __device__ void operator()(std::size_t c) const
  {
    std::size_t next = c + 1 == cells ? 0 : c + 1;
    u[c] -= lambda * (flux[next] - flux[c]);
  }
};

// Advances the solution by one step; all work is queued on `queue`.
void advance(const View<double>& u, double dt_dx, cudaStream_t queue)
{
  const std::size_t n = u.extent();
  View<double> flux("flux", n, queue);
  parallel_for(n, FaceFlux{u.data(), flux.data(), n}, queue);
  parallel_for(n, Divergence{flux.data(), u.data(), dt_dx, n}, queue);
}

void run(std::size_t cells, int steps, double dt_dx, double* pinned_out)
{
  cudaStream_t queue;
  fv_check(cudaStreamCreate(&queue), "stream");
  {
    View<double> u("u", cells, queue);
    fv_check(cudaMemsetAsync(u.data(), 0, cells * sizeof(double), queue), "init");
    for (int s = 0; s < steps; ++s) advance(u, dt_dx, queue);
    fv_check(cudaMemcpyAsync(pinned_out, u.data(), cells * sizeof(double), cudaMemcpyDeviceToHost, queue), "out");
    fv_check(cudaStreamSynchronize(queue), "sync");
  }
  fv_check(cudaStreamDestroy(queue), "destroy");
}
