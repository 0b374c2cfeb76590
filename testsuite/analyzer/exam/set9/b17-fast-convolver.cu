// Partitioned convolution for the radio telescope back end. Forward transforms
// run on the ingest stream, inverse ones on the output stream, so that block
// k+1 is transformed while block k is filtered.

#include <cuda_runtime.h>
#include <cufft.h>

#include <array>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace radio {

inline void ck(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void ck(cufftResult rc) {
  if (rc != CUFFT_SUCCESS) throw std::runtime_error("cufft error " + std::to_string(static_cast<int>(rc)));
}

// Scratch areas of the FFT plans, kept for the lifetime of the back end since
// plans come and go with every change of the block size.
class WorkAreas {
 public:
  WorkAreas() = default;
  ~WorkAreas() {
    cudaDeviceSynchronize();
    for (auto& item : areas_) cudaFree(item.second);
  }
  WorkAreas(const WorkAreas&) = delete;
  WorkAreas& operator=(const WorkAreas&) = delete;

  void* get(std::size_t bytes) {
    void*& area = areas_[bytes];
    if (!area) ck(cudaMalloc(&area, bytes ? bytes : 1));
    return area;
  }

 private:
  std::map<std::size_t, void*> areas_;
};

class Plan {
 public:
  Plan(WorkAreas& areas, int points, int batch, cudaStream_t stream) : stream_(stream) {
    std::size_t bytes = 0;
    ck(cufftCreate(&plan_));
    ck(cufftSetAutoAllocation(plan_, 0));
    ck(cufftMakePlan1d(plan_, points, CUFFT_C2C, batch, &bytes));
    ck(cufftSetStream(plan_, stream));
    ck(cufftSetWorkArea(plan_, areas.get(bytes)));
  }
  ~Plan() {
    cudaStreamSynchronize(stream_);
    cufftDestroy(plan_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void forward(cufftComplex* in, cufftComplex* out) { ck(cufftExecC2C(plan_, in, out, CUFFT_FORWARD)); }
  void inverse(cufftComplex* in, cufftComplex* out) { ck(cufftExecC2C(plan_, in, out, CUFFT_INVERSE)); }

 private:
  cudaStream_t stream_;
  cufftHandle plan_ = 0;
};

__global__ void apply_response(cufftComplex* spectrum, const cufftComplex* response, int points, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  cufftComplex& s = spectrum[static_cast<std::size_t>(blockIdx.y) * points + i];
  const cufftComplex r = response[i];
  s = make_cuFloatComplex((s.x * r.x - s.y * r.y) * scale, (s.x * r.y + s.y * r.x) * scale);
}

class FastConvolver {
 public:
  // `response` is complete when the convolver is made.
  FastConvolver(WorkAreas& areas, int points, int channels, const cufftComplex* response, cudaStream_t ingest,
                cudaStream_t output)
      : points_(points), channels_(channels), response_(response), ingest_(ingest), output_(output),
        forward_(areas, points, channels, ingest), inverse_(areas, points, channels, output) {
    for (Half& h : halves_) {
      ck(cudaMalloc(&h.spectrum, sizeof(cufftComplex) * points * channels));
      ck(cudaEventCreateWithFlags(&h.ready, cudaEventDisableTiming));
      ck(cudaEventCreateWithFlags(&h.consumed, cudaEventDisableTiming));
    }
  }
  ~FastConvolver() {
    cudaStreamSynchronize(ingest_);
    cudaStreamSynchronize(output_);
    for (Half& h : halves_) {
      cudaFree(h.spectrum);
      cudaEventDestroy(h.ready);
      cudaEventDestroy(h.consumed);
    }
  }
  FastConvolver(const FastConvolver&) = delete;
  FastConvolver& operator=(const FastConvolver&) = delete;

  // `block` is produced on the ingest stream, `filtered` is for use on the output stream.
  void process(cufftComplex* block, cufftComplex* filtered) {
    Half& h = halves_[turn_];
    turn_ ^= 1;
    analyse(h, block);
    synthesise(h, filtered);
  }

 private:
  struct Half {
    cufftComplex* spectrum = nullptr;
    cudaEvent_t ready = nullptr;
    cudaEvent_t consumed = nullptr;
  };

  void analyse(Half& h, cufftComplex* block) {
    ck(cudaStreamWaitEvent(ingest_, h.consumed, 0));
    forward_.forward(block, h.spectrum);
    ck(cudaEventRecord(h.ready, ingest_));
  }

  void synthesise(Half& h, cufftComplex* filtered) {
    ck(cudaStreamWaitEvent(output_, h.ready, 0));
    apply_response<<<dim3((points_ + 255) / 256, channels_), 256, 0, output_>>>(h.spectrum, response_, points_,
                                                                             1.f / static_cast<float>(points_));
    ck(cudaGetLastError());
    inverse_.inverse(h.spectrum, filtered);
    ck(cudaEventRecord(h.consumed, output_));
  }

  int points_;
  int channels_;
  const cufftComplex* response_;
  cudaStream_t ingest_;
  cudaStream_t output_;
  Plan forward_;
  Plan inverse_;
  std::array<Half, 2> halves_;
  unsigned turn_ = 0;
};

}  // namespace radio
