#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

namespace knn {

inline void throw_if(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error{cudaGetErrorString(status)};
}

class owned_stream {
 public:
  owned_stream() { throw_if(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~owned_stream() { cudaStreamDestroy(handle_); }
  owned_stream(owned_stream const&) = delete;
  owned_stream& operator=(owned_stream const&) = delete;
  [[nodiscard]] cudaStream_t value() const noexcept { return handle_; }
  void synchronize() const { throw_if(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_{};
};

template <typename T>
class async_buffer {
 public:
  async_buffer() = default;
  async_buffer(std::size_t size, cudaStream_t stream) : size_{size}, stream_{stream} {
    throw_if(cudaMallocAsync(reinterpret_cast<void**>(&data_), size * sizeof(T), stream));
  }
  async_buffer(async_buffer&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)}, size_{other.size_}, stream_{other.stream_} {}
  async_buffer& operator=(async_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~async_buffer() {
    if (data_ != nullptr) { cudaFreeAsync(data_, stream_); }
  }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  T* data_{nullptr};
  std::size_t size_{0};
  cudaStream_t stream_{};
};

__global__ void squared_distances(float const* base, float const* query, float* dist, int rows, int dim) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float acc = 0.f;
  for (int d = 0; d < dim; ++d) {
    float diff = base[static_cast<std::size_t>(r) * dim + d] - query[d];
    acc += diff * diff;
  }
  dist[r] = acc;
}

class index {
 public:
  index(int rows, int dim) : rows_{rows}, dim_{dim} {
    base_ = async_buffer<float>{static_cast<std::size_t>(rows) * dim, stream_.value()};
    distances_ = async_buffer<float>{static_cast<std::size_t>(rows), stream_.value()};
  }

  // `rows` is page-locked; the copy is complete on return.
  void load(float const* rows) {
    throw_if(cudaMemcpyAsync(base_.data(), rows, base_.size() * sizeof(float), cudaMemcpyHostToDevice,
                             stream_.value()));
    stream_.synchronize();
  }

  // `query` is on the device and complete.
  float const* search(float const* query) {
    squared_distances<<<(rows_ + 127) / 128, 128, 0, stream_.value()>>>(
      base_.data(), query, distances_.data(), rows_, dim_);
    throw_if(cudaGetLastError());
    stream_.synchronize();
    return distances_.data();
  }

 private:
  int rows_;
  int dim_;
  owned_stream stream_;
  async_buffer<float> base_;
  async_buffer<float> distances_;
};

}  // namespace knn
