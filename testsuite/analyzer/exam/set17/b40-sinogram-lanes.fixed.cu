// Back projection of a CT slice. The angles are spread over several streams ("lanes"); the
// partial slices are summed on the caller's stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define CT_CHECK(call)                                                             \
  do {                                                                             \
    const cudaError_t e_ = (call);                                                 \
    if (e_ != cudaSuccess)                                                         \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));  \
  } while (0)

namespace ct {

__global__ void backProject(const float* sino, float* slice, int first, int count, int angles,
                            int detectors, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const float px = x - 0.5f * n, py = y - 0.5f * n;
  float sum = 0.f;
  for (int a = first; a < first + count; ++a) {
    const float phi = 3.14159265f * a / angles;
    const int d = int(px * __cosf(phi) + py * __sinf(phi) + 0.5f * detectors);
    if (d >= 0 && d < detectors) sum += sino[size_t(a) * detectors + d];
  }
  slice[y * n + x] = sum;
}

__global__ void sumSlices(const float* parts, float* out, int lanes, size_t cells, float scale) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  float s = 0.f;
  for (int l = 0; l < lanes; ++l) s += parts[l * cells + i];
  out[i] = s * scale;
}

// A group of streams that forks from, and joins back into, a caller's stream.
class LaneGroup {
 public:
  explicit LaneGroup(int lanes) : streams_(lanes), ends_(lanes) {
    for (cudaStream_t& s : streams_)
      CT_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CT_CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    for (cudaEvent_t& e : ends_) CT_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  LaneGroup(const LaneGroup&) = delete;
  ~LaneGroup() {
    for (cudaStream_t s : streams_) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
    cudaEventDestroy(begin_);
    for (cudaEvent_t e : ends_) cudaEventDestroy(e);
  }

  int size() const { return static_cast<int>(streams_.size()); }

  void fork(cudaStream_t parent) {
    CT_CHECK(cudaEventRecord(begin_, parent));
    for (cudaStream_t s : streams_) CT_CHECK(cudaStreamWaitEvent(s, begin_, 0));
  }

  template <typename Work>
  void run(int lane, Work&& work) {
    work(streams_[lane]);
    CT_CHECK(cudaGetLastError());
    CT_CHECK(cudaEventRecord(ends_[lane], streams_[lane]));
  }

  void join(cudaStream_t parent) {
    for (cudaEvent_t e : ends_) CT_CHECK(cudaStreamWaitEvent(parent, e, 0));
  }

 private:
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> ends_;
  cudaEvent_t begin_ = nullptr;
};

struct Geometry {
  int angles, detectors, n;
  size_t cells() const { return size_t(n) * n; }
};

class BackProjector {
 public:
  BackProjector(Geometry g, int lanes) : geo_(g), lanes_(lanes) {
    CT_CHECK(cudaMalloc(reinterpret_cast<void**>(&parts_), lanes * geo_.cells() * sizeof(float)));
    CT_CHECK(cudaEventCreateWithFlags(&summed_, cudaEventDisableTiming));
  }
  BackProjector(const BackProjector&) = delete;
  ~BackProjector() {
    cudaEventSynchronize(summed_);
    cudaEventDestroy(summed_);
    cudaFree(parts_);
  }

  // `sino` and `slice` are ordered on `stream`.
  void reconstruct(const float* sino, float* slice, cudaStream_t stream) {
    CT_CHECK(cudaStreamWaitEvent(stream, summed_, 0));
    lanes_.fork(stream);
    const int per = (geo_.angles + lanes_.size() - 1) / lanes_.size();
    for (int l = 0; l < lanes_.size(); ++l) project(sino, l, l * per, per);
    lanes_.join(stream);
    const size_t cells = geo_.cells();
    sumSlices<<<unsigned((cells + 255) / 256), 256, 0, stream>>>(
        parts_, slice, lanes_.size(), cells, 3.14159265f / geo_.angles);
    CT_CHECK(cudaGetLastError());
    CT_CHECK(cudaEventRecord(summed_, stream));
  }

 private:
  void project(const float* sino, int lane, int first, int count) {
    if (first + count > geo_.angles) count = geo_.angles > first ? geo_.angles - first : 0;
    float* part = parts_ + size_t(lane) * geo_.cells();
    lanes_.run(lane, [=](cudaStream_t s) {
      const dim3 block(16, 16), grid((geo_.n + 15) / 16, (geo_.n + 15) / 16);
      backProject<<<grid, block, 0, s>>>(sino, part, first, count, geo_.angles, geo_.detectors,
                                         geo_.n);
    });
  }

  Geometry geo_;
  LaneGroup lanes_;
  cudaEvent_t summed_ = nullptr;
  float* parts_ = nullptr;
};

}  // namespace ct
