// Surface normals of a voxelised lidar sweep. The two kernels are chained with
// programmatic dependent launch so that the prologue of the second one overlaps
// the tail of the first.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace sweep {

struct GridShape {
  int nx, ny, nz;
  __host__ __device__ int cells() const { return nx * ny * nz; }
  __device__ int index(int x, int y, int z) const { return (z * ny + y) * nx + x; }
};

inline void require(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

__global__ void voxelCentroids(const float4* sums, float4* centroids, GridShape shape) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell < shape.cells()) {
    const float4 s = sums[cell];
    const float inv = s.w > 0.f ? 1.f / s.w : 0.f;
    centroids[cell] = make_float4(s.x * inv, s.y * inv, s.z * inv, s.w);
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

// The six face neighbours of a voxel, held in registers.
class Neighbourhood {
 public:
  __device__ Neighbourhood(const float4* centroids, GridShape shape, int cell) {
    const int x = cell % shape.nx;
    const int y = cell / shape.nx % shape.ny;
    const int z = cell / (shape.nx * shape.ny);
    inside_ = x > 0 && y > 0 && z > 0 && x + 1 < shape.nx && y + 1 < shape.ny && z + 1 < shape.nz;
    if (!inside_) return;
    left_ = centroids[shape.index(x - 1, y, z)];
    right_ = centroids[shape.index(x + 1, y, z)];
    front_ = centroids[shape.index(x, y - 1, z)];
    back_ = centroids[shape.index(x, y + 1, z)];
    below_ = centroids[shape.index(x, y, z - 1)];
    above_ = centroids[shape.index(x, y, z + 1)];
  }

  __device__ bool inside() const { return inside_; }

  __device__ float3 gradient() const {
    return make_float3(right_.w - left_.w, back_.w - front_.w, above_.w - below_.w);
  }

 private:
  bool inside_ = false;
  float4 left_, right_, front_, back_, below_, above_;
};

__global__ void estimateNormals(const float4* centroids, float3* normals,
                                GridShape shape, float epsilon) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= shape.cells()) return;
  cudaGridDependencySynchronize();
  const Neighbourhood around(centroids, shape, cell);

  float3 n = make_float3(0.f, 0.f, 0.f);
  if (around.inside()) {
    const float3 g = around.gradient();
    const float norm = rsqrtf(g.x * g.x + g.y * g.y + g.z * g.z + epsilon);
    n = make_float3(-g.x * norm, -g.y * norm, -g.z * norm);
  }
  normals[cell] = n;
}

class NormalEstimator {
 public:
  NormalEstimator(GridShape shape, float epsilon) : shape_(shape), epsilon_(epsilon) {
    require(cudaMalloc(&centroids_, sizeof(float4) * shape.cells()), "centroids");
  }
  ~NormalEstimator() {
    cudaDeviceSynchronize();
    cudaFree(centroids_);
  }
  NormalEstimator(const NormalEstimator&) = delete;
  NormalEstimator& operator=(const NormalEstimator&) = delete;

  // sums: per voxel x, y, z and count, complete in `stream`.
  void enqueue(const float4* sums, float3* normals, cudaStream_t stream) {
    voxelCentroids<<<blocks(), kThreads, 0, stream>>>(sums, centroids_, shape_);
    require(cudaGetLastError(), "voxelCentroids");

    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks());
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    const float4* centroids = centroids_;
    require(cudaLaunchKernelEx(&config, estimateNormals, centroids, normals, shape_, epsilon_),
            "estimateNormals");
  }

 private:
  static constexpr int kThreads = 256;
  unsigned blocks() const { return (shape_.cells() + kThreads - 1) / kThreads; }

  GridShape shape_;
  float epsilon_;
  float4* centroids_ = nullptr;
};

}  // namespace sweep
