// Stream compaction of the visible triangles of a mesh, one compactor for each view.
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CU_OK(expr)                                                              \
  do {                                                                           \
    cudaError_t err__ = (expr);                                                  \
    if (err__ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      std::abort();                                                              \
    }                                                                            \
  } while (0)

namespace viewer {

struct Tri { int a, b, c; };
struct Plane { float x, y, z, w; };

__global__ void flagVisible(const float3* verts, const Tri* tris, int n, Plane p, int* keep) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto side = [&](int v) { return verts[v].x * p.x + verts[v].y * p.y + verts[v].z * p.z + p.w; };
  Tri t = tris[i];
  keep[i] = side(t.a) > 0.f || side(t.b) > 0.f || side(t.c) > 0.f;
}

__global__ void scatterVisible(const Tri* tris, const int* keep, const int* slot, int n, Tri* out,
                               int* total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (keep[i]) out[slot[i]] = tris[i];
  if (i == n - 1) *total = slot[i] + keep[i];
}

// Grow-only buffer in stream order.
template <class T>
class StreamVector {
 public:
  explicit StreamVector(cudaStream_t s) : stream_(s) {}
  ~StreamVector() { if (data_) cudaFreeAsync(data_, stream_); }
  StreamVector(const StreamVector&) = delete;
  StreamVector& operator=(const StreamVector&) = delete;

  T* ensure(size_t n) {
    if (n > cap_) {
      if (data_) CU_OK(cudaFreeAsync(data_, stream_));
      CU_OK(cudaMallocAsync(&data_, n * sizeof(T), stream_));
      cap_ = n;
    }
    return data_;
  }

 private:
  cudaStream_t stream_;
  T* data_ = nullptr;
  size_t cap_ = 0;
};

template <class In, class Out>
void prefixSum(StreamVector<std::uint8_t>& scratch, const In* in, Out* out, int n,
               cudaStream_t stream) {
  size_t bytes = 0;
  CU_OK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, n, stream));
  CU_OK(cub::DeviceScan::ExclusiveSum(scratch.ensure(bytes), bytes, in, out, n, stream));
}

struct OwnedStream {
  OwnedStream() { CU_OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
  ~OwnedStream() { cudaStreamDestroy(s); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  operator cudaStream_t() const { return s; }
  cudaStream_t s = nullptr;
};

class ViewCompactor {
 public:
  ViewCompactor() : keep_(stream_), slot_(stream_), scratch_(stream_), total_(stream_) {
    CU_OK(cudaMallocHost(&count_, sizeof(int)));
  }
  ~ViewCompactor() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(count_);
  }
  ViewCompactor(const ViewCompactor&) = delete;
  ViewCompactor& operator=(const ViewCompactor&) = delete;

  // Vertices and triangles are static: they were uploaded and synchronised at load time.
  int run(const float3* verts, const Tri* tris, int n, Plane p, Tri* out) {
    if (n == 0) return 0;
    const int blocks = (n + 255) / 256;
    int* keep = keep_.ensure(n);
    int* slot = slot_.ensure(n);
    int* total = total_.ensure(1);
    flagVisible<<<blocks, 256, 0, stream_>>>(verts, tris, n, p, keep);
    CU_OK(cudaGetLastError());
    prefixSum(scratch_, keep, slot, n, stream_);
    scatterVisible<<<blocks, 256, 0, stream_>>>(tris, keep, slot, n, out, total);
    CU_OK(cudaGetLastError());
    CU_OK(cudaMemcpyAsync(count_, total, sizeof(int), cudaMemcpyDeviceToHost, stream_));
    CU_OK(cudaStreamSynchronize(stream_));
    return *count_;
  }

 private:
  OwnedStream stream_;
  StreamVector<int> keep_;
  StreamVector<int> slot_;
  StreamVector<std::uint8_t> scratch_;
  StreamVector<int> total_;
  int* count_ = nullptr;
};

}  // namespace viewer
