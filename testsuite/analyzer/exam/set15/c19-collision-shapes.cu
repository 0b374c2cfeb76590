// Upload of collision shapes. Artists' files give many short arrays per shape; they are sent in batches, and the arrays are
// temporary.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

inline void must(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

struct Hull {
  float4* vertices = nullptr;
  int* indices = nullptr;
  int vertex_count = 0;
  int index_count = 0;
};

__global__ void bounding_radius(const float4* vertices, const int* indices, float* radius, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = vertices[indices[i]];
  radius[i] = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
}

class CopyList {
 public:
  template <typename T>
  void add(T* to, const std::vector<T>& from) {
    targets_.push_back(to);
    sources_.push_back(from.data());
    sizes_.push_back(from.size() * sizeof(T));
  }

  void run(cudaStream_t stream) {
    if (targets_.empty()) return;
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    std::size_t first = 0;
    must(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(), &attributes, &first, 1, stream),
         "cudaMemcpyBatchAsync");
  }

 private:
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

class ShapeLibrary {
 public:
  ShapeLibrary() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~ShapeLibrary() {
    cudaStreamSynchronize(stream_);
    for (Hull& hull : hulls_) {
      cudaFree(hull.indices);
      cudaFree(hull.vertices);
    }
    cudaFree(radius_);
    cudaStreamDestroy(stream_);
  }
  ShapeLibrary(const ShapeLibrary&) = delete;
  ShapeLibrary& operator=(const ShapeLibrary&) = delete;

  void add_box(float x, float y, float z) {
    std::vector<float4> vertices;
    for (int corner = 0; corner < 8; ++corner) {
      vertices.push_back(make_float4(corner & 1 ? x : -x, corner & 2 ? y : -y, corner & 4 ? z : -z, 1.f));
    }
    std::vector<int> indices = {0, 1, 3, 2, 4, 5, 7, 6};
    Hull hull = reserve(vertices.size(), indices.size());

    CopyList copies;
    copies.add(hull.vertices, vertices);
    copies.add(hull.indices, indices);
    copies.run(stream_);
    hulls_.push_back(hull);
  }

  std::vector<float> radii(std::size_t which) {
    const Hull& hull = hulls_.at(which);
    if (!radius_) must(cudaMalloc(&radius_, kMaxIndices * sizeof(float)), "cudaMalloc");
    bounding_radius<<<(hull.index_count + 63) / 64, 64, 0, stream_>>>(hull.vertices, hull.indices, radius_, hull.index_count);
    must(cudaGetLastError(), "bounding_radius");
    std::vector<float> host(hull.index_count);
    must(cudaMemcpyAsync(host.data(), radius_, host.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return host;
  }

 private:
  static constexpr std::size_t kMaxIndices = 4096;

  static Hull reserve(std::size_t vertices, std::size_t indices) {
    if (indices > kMaxIndices) throw std::length_error("hull");
    Hull hull;
    hull.vertex_count = static_cast<int>(vertices);
    hull.index_count = static_cast<int>(indices);
    must(cudaMalloc(&hull.vertices, vertices * sizeof(float4)), "cudaMalloc");
    must(cudaMalloc(&hull.indices, indices * sizeof(int)), "cudaMalloc");
    return hull;
  }

  cudaStream_t stream_ = nullptr;
  std::vector<Hull> hulls_;
  float* radius_ = nullptr;
};

}  // namespace shapes

int main() {
  shapes::ShapeLibrary library;
  for (int i = 1; i <= 100; ++i) library.add_box(0.1f * i, 0.2f * i, 0.3f * i);
  std::printf("%f\n", library.radii(99).front());
  return 0;
}
