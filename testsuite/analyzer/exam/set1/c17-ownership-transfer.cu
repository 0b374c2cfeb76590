// Stream-ordered buffers that change their stream during their life.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

namespace mr {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// Later work of `to` runs after the present work of `from`.
inline void link(cudaStream_t from, cudaStream_t to) {
  if (from == to) return;
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  cudaError_t status = cudaEventRecord(e, from);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(to, e, 0);
  // Destroying is fine here: the wait has been enqueued.
  cudaEventDestroy(e);
  check(status);
}

template <typename T>
class uvector {
 public:
  uvector(std::size_t size, cudaStream_t stream) : size_{size}, stream_{stream} {
    check(cudaMallocAsync(reinterpret_cast<void**>(&data_), size * sizeof(T), stream));
  }
  ~uvector() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  uvector(uvector&& o) noexcept
      : data_{std::exchange(o.data_, nullptr)}, size_{std::exchange(o.size_, 0)}, stream_{o.stream_} {}
  uvector& operator=(uvector&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(stream_, o.stream_);
    return *this;
  }

  // From now on the memory belongs to `stream`: what was enqueued so far on the
  // old one comes first, the free will come in the new one.
  void move_to_stream(cudaStream_t stream) {
    link(stream_, stream);
    stream_ = stream;
  }

  T* data() { return data_; }
  T const* data() const { return data_; }
  std::size_t size() const { return size_; }
  cudaStream_t stream() const { return stream_; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
  cudaStream_t stream_;
};

__global__ void fill_ramp(int* p, std::size_t n) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) p[i] = static_cast<int>(i);
}

__global__ void gather(int const* map, float const* in, float* out, std::size_t n) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = in[map[i]];
}

inline unsigned grid_for(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }

uvector<int> make_map(std::size_t n, cudaStream_t stream) {
  uvector<int> map(n, stream);
  fill_ramp<<<grid_for(n), 256, 0, stream>>>(map.data(), n);
  check(cudaGetLastError());
  return map;
}

// The map is built on `build`, used and freed on `use`.
uvector<float> gather_rows(float const* in, std::size_t n, cudaStream_t build, cudaStream_t use) {
  uvector<int> map = make_map(n, build);
  map.move_to_stream(use);
  uvector<float> out(n, use);
  gather<<<grid_for(n), 256, 0, use>>>(map.data(), in, out.data(), n);
  check(cudaGetLastError());
  return out;
}

// The map stays with `build`; so `build` has to wait for the gather.
void gather_into(float const* in, uvector<float>& out, cudaStream_t build) {
  uvector<int> map = make_map(out.size(), build);
  link(build, out.stream());
  gather<<<grid_for(out.size()), 256, 0, out.stream()>>>(map.data(), in, out.data(), out.size());
  check(cudaGetLastError());
  link(out.stream(), build);
}

}  // namespace mr
