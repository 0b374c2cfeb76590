// Ocean tracer transport with three limiter policies. Temporary fields live as long as one call.
#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace ocean {

inline void gpu(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Grid {
  int nx, ny;
  int cells() const { return nx * ny; }
};

struct StepContext {
  Grid grid;
  cudaStream_t stream;
  const float* u;
  float dt;
};

/// Temporary field; taken from the device's memory pool so that small grids do not pay for cudaMalloc.
class TempField {
 public:
  TempField(const StepContext& ctx) : stream_(ctx.stream) {
    gpu(cudaMallocAsync(reinterpret_cast<void**>(&data_), ctx.grid.cells() * sizeof(float), stream_));
  }
  ~TempField() { cudaFree(data_); }
  TempField(const TempField&) = delete;
  TempField& operator=(const TempField&) = delete;
  float* get() const { return data_; }

 private:
  cudaStream_t stream_;
  float* data_ = nullptr;
};

__global__ void gradient(const float* q, float* g, int nx, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) g[i] = (i % nx == 0) ? 0.f : q[i] - q[i - 1];
}

__global__ void minmod(float* slope, int nx, int cells, const float* g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  float a = g[i], b = (i % nx == nx - 1) ? 0.f : g[i + 1];
  slope[i] = a * b <= 0.f ? 0.f : (fabsf(a) < fabsf(b) ? a : b);
}

__global__ void maxSlope(const float* slope, unsigned* bits, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) atomicMax(bits, __float_as_uint(fabsf(slope[i])));
}

__global__ void transport(const float* q, const float* slope, const float* u, float* next, int nx, int cells, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  int l = (i % nx == 0) ? i : i - 1;
  float inflow = u[l] * (q[l] + 0.5f * (1.f - u[l] * dt) * slope[l]);
  float outflow = u[i] * (q[i] + 0.5f * (1.f - u[i] * dt) * slope[i]);
  next[i] = q[i] - dt * (outflow - inflow);
}

inline int grid1d(int n) { return (n + 255) / 256; }

using LimiterFn = std::function<void(const StepContext&, const float* q, float* next)>;

void stepUpwind(const StepContext& ctx, const float* q, float* next) {
  TempField slope(ctx);
  const int n = ctx.grid.cells();
  gpu(cudaMemsetAsync(slope.get(), 0, n * sizeof(float), ctx.stream));
  transport<<<grid1d(n), 256, 0, ctx.stream>>>(q, slope.get(), ctx.u, next, ctx.grid.nx, n, ctx.dt);
  gpu(cudaStreamSynchronize(ctx.stream));
}

void stepMinmod(const StepContext& ctx, const float* q, float* next) {
  TempField grad(ctx);
  TempField slope(ctx);
  const int n = ctx.grid.cells();
  gradient<<<grid1d(n), 256, 0, ctx.stream>>>(q, grad.get(), ctx.grid.nx, n);
  minmod<<<grid1d(n), 256, 0, ctx.stream>>>(slope.get(), ctx.grid.nx, n, grad.get());
  transport<<<grid1d(n), 256, 0, ctx.stream>>>(q, slope.get(), ctx.u, next, ctx.grid.nx, n, ctx.dt);
  gpu(cudaGetLastError());
}

void stepMonitored(const StepContext& ctx, const float* q, float* next) {
  TempField slope(ctx);
  TempField peak(ctx);
  const int n = ctx.grid.cells();
  gradient<<<grid1d(n), 256, 0, ctx.stream>>>(q, slope.get(), ctx.grid.nx, n);
  gpu(cudaMemsetAsync(peak.get(), 0, sizeof(unsigned), ctx.stream));
  maxSlope<<<grid1d(n), 256, 0, ctx.stream>>>(slope.get(), reinterpret_cast<unsigned*>(peak.get()), n);
  transport<<<grid1d(n), 256, 0, ctx.stream>>>(q, slope.get(), ctx.u, next, ctx.grid.nx, n, ctx.dt);
  float value = 0.f;
  gpu(cudaMemcpyAsync(&value, peak.get(), sizeof value, cudaMemcpyDeviceToHost, ctx.stream));
  gpu(cudaStreamSynchronize(ctx.stream));
  if (value > 1e6f) throw std::runtime_error("tracer slope exceeds limit");
}

/// Limiters by name, as they stand in the namelist of a run.
class LimiterRegistry {
 public:
  LimiterRegistry() {
    table_["upwind"] = stepUpwind;
    table_["minmod"] = stepMinmod;
    table_["monitored"] = stepMonitored;
  }
  const LimiterFn& find(const std::string& name) const { return table_.at(name); }

 private:
  std::map<std::string, LimiterFn> table_;
};

/// Advances every tracer by one step, in the order of `ctx.stream`.
void advanceTracers(const LimiterRegistry& limiters, const std::string& name, const StepContext& ctx,
                    float* const* tracers, float* const* next, int count) {
  const LimiterFn& step = limiters.find(name);
  for (int t = 0; t < count; ++t) step(ctx, tracers[t], next[t]);
}

}  // namespace ocean
