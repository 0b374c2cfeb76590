// Fields of the 2D turbulence code and their diagnostics. Field memory is stream ordered.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace turb {

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void cuda(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw CudaError(std::string(where) + ": " + cudaGetErrorString(e));
}

// A square grid of doubles that belongs to the stream it was made on.
class Field {
 public:
  Field(int n, cudaStream_t stream) : n_(n), stream_(stream) {
    cuda(cudaMallocAsync(reinterpret_cast<void**>(&data_), bytes(), stream), "field");
  }
  Field(Field&& o) noexcept
      : n_(o.n_), stream_(o.stream_), data_(std::exchange(o.data_, nullptr)) {}
  Field& operator=(Field&& o) noexcept {
    std::swap(n_, o.n_);
    std::swap(stream_, o.stream_);
    std::swap(data_, o.data_);
    return *this;
  }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  ~Field() {
    if (data_) cudaFreeAsync(data_, stream_);
  }

  int n() const { return n_; }
  size_t bytes() const { return sizeof(double) * static_cast<size_t>(n_) * n_; }
  double* data() { return data_; }
  const double* data() const { return data_; }
  cudaStream_t stream() const { return stream_; }

 private:
  int n_;
  cudaStream_t stream_;
  double* data_ = nullptr;
};

__global__ void curl(const double* u, const double* v, double* w, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  int xr = (x + 1) % n, yu = (y + 1) % n;
  w[y * n + x] = (v[y * n + xr] - v[y * n + x]) - (u[yu * n + x] - u[y * n + x]);
}

__global__ void shellSpectrum(const double* w, double* shells, int n, int nshells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * n) atomicAdd(&shells[(i % n) * nshells / n], w[i] * w[i]);
}

__global__ void relax(double* u, double* v, int n, double nu) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  u[i] *= 1.0 - nu;
  v[i] *= 1.0 - nu;
}

// Runs on a low priority stream beside the solver.
class Diagnostics {
 public:
  explicit Diagnostics(int nshells) : nshells_(nshells) {
    int least = 0, greatest = 0;
    cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priority range");
    cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, least), "diag stream");
    cuda(cudaEventCreateWithFlags(&input_, cudaEventDisableTiming), "event");
    cuda(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "event");
    cuda(cudaMalloc(&shells_, sizeof(double) * nshells), "shells");
    cuda(cudaMemsetAsync(shells_, 0, sizeof(double) * nshells, stream_), "shells");
  }
  ~Diagnostics() {
    cudaStreamSynchronize(stream_);
    cudaFree(shells_);
    cudaEventDestroy(input_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }

  void addSpectrum(const Field& w) {
    cuda(cudaEventRecord(input_, w.stream()), "record");
    cuda(cudaStreamWaitEvent(stream_, input_, 0), "wait");
    const int cells = w.n() * w.n();
    shellSpectrum<<<(cells + 255) / 256, 256, 0, stream_>>>(w.data(), shells_, w.n(), nshells_);
    cuda(cudaEventRecord(done_, stream_), "record");
    cuda(cudaStreamWaitEvent(w.stream(), done_, 0), "wait");
  }

  void read(double* out) {
    cuda(cudaMemcpyAsync(out, shells_, sizeof(double) * nshells_, cudaMemcpyDeviceToHost, stream_), "read");
    cuda(cudaStreamSynchronize(stream_), "read");
  }

 private:
  int nshells_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t input_ = nullptr;
  cudaEvent_t done_ = nullptr;
  double* shells_ = nullptr;
};

Field vorticity(const Field& u, const Field& v) {
  Field w(u.n(), u.stream());
  dim3 block(16, 16), grid((u.n() + 15) / 16, (u.n() + 15) / 16);
  curl<<<grid, block, 0, u.stream()>>>(u.data(), v.data(), w.data(), u.n());
  return w;
}

// u and v live on the same stream.
void advance(Field& u, Field& v, int steps, int every, Diagnostics& diag) {
  for (int s = 0; s < steps; ++s) {
    relax<<<(u.n() * u.n() + 255) / 256, 256, 0, u.stream()>>>(u.data(), v.data(), u.n(), 1e-3);
    if (s % every == 0) {
      Field w = vorticity(u, v);
      diag.addSpectrum(w);
    }
  }
}

}  // namespace turb
