// Builds the vertex -> triangle adjacency (CSR) of a triangle soup on the device.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace meshkit {

inline void require(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
    }
}

struct ScanScratch {
    void* data = nullptr;
    std::size_t bytes = 0;
};

struct Adjacency {
    std::uint32_t* degree = nullptr;     // [vertices + 1], last element stays 0
    std::uint32_t* row_begin = nullptr;  // [vertices + 1]
    std::uint32_t* cursor = nullptr;     // [vertices]
    std::uint32_t* triangle = nullptr;   // [3 * triangles]
};

__global__ void count_degree(const uint3* tri, std::uint32_t n_tri, std::uint32_t* degree) {
    const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_tri) return;
    atomicAdd(degree + tri[t].x, 1u);
    atomicAdd(degree + tri[t].y, 1u);
    atomicAdd(degree + tri[t].z, 1u);
}

__global__ void scatter_triangles(const uint3* tri,
                                  std::uint32_t n_tri,
                                  const std::uint32_t* row_begin,
                                  std::uint32_t* cursor,
                                  std::uint32_t* out) {
    const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n_tri) return;
    const std::uint32_t v[3] = {tri[t].x, tri[t].y, tri[t].z};
    for (int k = 0; k < 3; ++k) {
        out[row_begin[v[k]] + atomicAdd(cursor + v[k], 1u)] = t;
    }
}

std::size_t scan_scratch_bytes(std::uint32_t n) {
    std::size_t bytes = 0;
    require(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<std::uint32_t*>(nullptr),
                                          static_cast<std::uint32_t*>(nullptr),
                                          static_cast<int>(n)),
            "scan size query");
    return bytes;
}

static void exclusive_offsets(ScanScratch scratch,
                              const std::uint32_t* in,
                              std::uint32_t* out,
                              std::uint32_t n,
                              cudaStream_t stream = nullptr) {
    require(cub::DeviceScan::ExclusiveSum(scratch.data, scratch.bytes, in, out,
                                          static_cast<int>(n), stream),
            "exclusive scan");
}

// All work is enqueued on `stream`, which may be of any kind. `adj` and `scratch` are
// preallocated by the caller and must stay alive until the stream has caught up.
void build_adjacency(const uint3* tri,
                     std::uint32_t n_tri,
                     std::uint32_t n_vert,
                     Adjacency& adj,
                     ScanScratch scratch,
                     cudaStream_t stream) {
    const unsigned block = 256;
    const unsigned grid = (n_tri + block - 1) / block;

    require(cudaMemsetAsync(adj.degree, 0, (n_vert + 1) * sizeof(std::uint32_t), stream),
            "clear degree");
    require(cudaMemsetAsync(adj.cursor, 0, n_vert * sizeof(std::uint32_t), stream),
            "clear cursor");
    if (n_tri > 0) {
        count_degree<<<grid, block, 0, stream>>>(tri, n_tri, adj.degree);
        require(cudaGetLastError(), "count_degree");
    }

    exclusive_offsets(scratch, adj.degree, adj.row_begin, n_vert + 1, stream);

    if (n_tri > 0) {
        scatter_triangles<<<grid, block, 0, stream>>>(tri, n_tri, adj.row_begin, adj.cursor,
                                                      adj.triangle);
        require(cudaGetLastError(), "scatter_triangles");
    }
}

}  // namespace meshkit
