// Filtered back-projection for a parallel-beam scanner.
//
// Every resolution level is recorded once as a CUDA graph; a scan then only pays for one graph launch per
// slice.  Filtering needs a padded copy of the sinogram, which lives in the scratch arena.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ct {

inline void check(cudaError_t err, const char* what) {
  if (err != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(err));
}
#define CT_CHECK(call) ::ct::check((call), #call)

__global__ void pad_rows(const float* sino, float* padded, int angles, int bins, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y;
  if (x < pitch && a < angles) padded[a * pitch + x] = x < bins ? sino[a * bins + x] : 0.f;
}

__global__ void ramp_filter(const float* padded, float* sino, int angles, int bins, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int a = blockIdx.y;
  if (x >= bins || a >= angles) return;
  const float* row = padded + a * pitch;
  float acc = 0.25f * row[x];
  for (int k = 1; k < 64; k += 2) {
    float left = x - k >= 0 ? row[x - k] : 0.f;
    acc -= (left + row[x + k]) / (9.8696f * k * k);
  }
  sino[a * bins + x] = acc;
}

__global__ void back_project(const float* sino, float* slice, int angles, int bins, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= size || y >= size) return;
  float sum = 0.f;
  for (int a = 0; a < angles; ++a) sum += sino[a * bins + (x * a + y * (angles - a)) / angles % bins];
  slice[y * size + x] = sum / angles;
}

// Grow-only device memory for temporaries.
class ScratchArena {
 public:
  ScratchArena() = default;
  ScratchArena(const ScratchArena&) = delete;
  ScratchArena& operator=(const ScratchArena&) = delete;
  ~ScratchArena() { cudaFree(base_); }

  float* reserve(std::size_t floats) {
    if (floats > capacity_) {
      if (base_) CT_CHECK(cudaFree(base_));
      CT_CHECK(cudaMalloc(&base_, floats * sizeof(float)));
      capacity_ = floats;
    }
    return base_;
  }

 private:
  float* base_ = nullptr;
  std::size_t capacity_ = 0;
};

struct Geometry {
  int angles;
  int bins;
  int size;
  int pitch() const { return bins + 64; }
};

class LevelReconstructor {
 public:
  LevelReconstructor(Geometry g, ScratchArena& scratch, cudaStream_t stream) : geo_(g), scratch_(scratch), stream_(stream) {
    CT_CHECK(cudaMalloc(&sino_, sizeof(float) * g.angles * g.bins));
    CT_CHECK(cudaMalloc(&slice_, sizeof(float) * g.size * g.size));
    record();
  }
  ~LevelReconstructor() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(slice_);
    cudaFree(sino_);
  }
  LevelReconstructor(const LevelReconstructor&) = delete;
  LevelReconstructor& operator=(const LevelReconstructor&) = delete;

  // `sino` and `out` are page-locked.
  void run(const float* sino, float* out) {
    CT_CHECK(cudaMemcpyAsync(sino_, sino, sizeof(float) * geo_.angles * geo_.bins, cudaMemcpyHostToDevice, stream_));
    CT_CHECK(cudaGraphLaunch(exec_, stream_));
    CT_CHECK(cudaMemcpyAsync(out, slice_, sizeof(float) * geo_.size * geo_.size, cudaMemcpyDeviceToHost, stream_));
  }

 private:
  void record() {
    float* padded = scratch_.reserve(std::size_t(geo_.angles) * geo_.pitch());
    cudaGraph_t graph = nullptr;
    CT_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    dim3 rows((geo_.pitch() + 127) / 128, geo_.angles);
    pad_rows<<<rows, 128, 0, stream_>>>(sino_, padded, geo_.angles, geo_.bins, geo_.pitch());
    ramp_filter<<<rows, 128, 0, stream_>>>(padded, sino_, geo_.angles, geo_.bins, geo_.pitch());
    dim3 pixels((geo_.size + 127) / 128, geo_.size);
    back_project<<<pixels, 128, 0, stream_>>>(sino_, slice_, geo_.angles, geo_.bins, geo_.size);
    CT_CHECK(cudaStreamEndCapture(stream_, &graph));
    CT_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    CT_CHECK(cudaGraphDestroy(graph));
  }

  Geometry geo_;
  ScratchArena& scratch_;
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  float* sino_ = nullptr;
  float* slice_ = nullptr;
};

class ScanSession {
 public:
  ScanSession() { CT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~ScanSession() {
    levels_.clear();
    cudaStreamDestroy(stream_);
  }

  std::size_t add_level(Geometry g) {
    levels_.push_back(std::make_unique<LevelReconstructor>(g, scratch_, stream_));
    return levels_.size() - 1;
  }
  void reconstruct(std::size_t level, const float* sino, float* out) { levels_.at(level)->run(sino, out); }
  void finish() { CT_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  ScratchArena scratch_;
  std::vector<std::unique_ptr<LevelReconstructor>> levels_;
};

// Preview level first so that the operator sees something early, then the diagnostic level.
void reconstruct_stack(const std::vector<float*>& preview_sinos, const std::vector<float*>& full_sinos,
                       const std::vector<float*>& previews, const std::vector<float*>& slices) {
  ScanSession session;
  std::size_t preview = session.add_level({180, 512, 256});
  std::size_t full = session.add_level({720, 2048, 1024});
  for (std::size_t i = 0; i < slices.size(); ++i) {
    session.reconstruct(preview, preview_sinos[i], previews[i]);
    session.reconstruct(full, full_sinos[i], slices[i]);
  }
  session.finish();
}

}  // namespace ct
