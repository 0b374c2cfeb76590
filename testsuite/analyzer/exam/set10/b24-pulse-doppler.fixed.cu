// Pulse-Doppler processing of radar bursts. The steady-state burst is recorded once into a
// CUDA graph; odd bursts (calibration, long dwell) go through the eager path.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

namespace radar {

#define RD_TRY(expr)                                                    \
  do {                                                                  \
    cudaError_t rd_rc_ = (expr);                                        \
    if (rd_rc_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rd_rc_)); \
  } while (0)

__global__ void range_compress(const float2* __restrict__ pulses, float2* __restrict__ ws, int gates,
                               int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= gates * count) return;
  const int g = i % gates;
  float2 acc = make_float2(0.f, 0.f);
  for (int k = 0; k < 16 && g + k < gates; ++k) {
    const float2 p = pulses[i + k];
    const float w = 1.f / (1 + k);
    acc.x += p.x * w;
    acc.y -= p.y * w;
  }
  ws[i] = acc;
}

__global__ void doppler_power(const float2* __restrict__ ws, float* __restrict__ map, int gates,
                              int count) {
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  const int bin = blockIdx.y;
  if (g >= gates) return;
  float re = 0.f, im = 0.f;
  for (int p = 0; p < count; ++p) {
    float s, c;
    sincospif(2.f * bin * p / count, &s, &c);
    const float2 v = ws[p * gates + g];
    re += v.x * c - v.y * s;
    im += v.x * s + v.y * c;
  }
  map[bin * gates + g] = re * re + im * im;
}

class PulseDoppler {
 public:
  PulseDoppler(int gates, int pulses) : gates_(gates), pulses_(pulses) {
    RD_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RD_TRY(cudaMalloc(&burst_, burst_bytes(pulses)));
    RD_TRY(cudaMalloc(&map_, sizeof(float) * gates * pulses));
    reserve(burst_bytes(pulses));
  }
  ~PulseDoppler() {
    cudaStreamSynchronize(stream_);
    drop_recording();
    cudaFree(workspace_);
    cudaFree(map_);
    cudaFree(burst_);
    cudaStreamDestroy(stream_);
  }
  PulseDoppler(const PulseDoppler&) = delete;
  PulseDoppler& operator=(const PulseDoppler&) = delete;

  float2* burst() const { return burst_; }
  const float* map() const { return map_; }
  cudaStream_t stream() const { return stream_; }

  // Regular burst, already staged in burst() on stream().
  void process_burst() {
    if (!exec_) record();
    RD_TRY(cudaGraphLaunch(exec_, stream_));
  }

  // One long burst of `pulses` pulses; its map goes to `map`. Both buffers belong to the caller
  // and are in use on stream() only.
  void process_long_dwell(const float2* pulses_dev, int pulses, float* map) {
    reserve(burst_bytes(pulses));
    enqueue(pulses_dev, pulses, map);
    RD_TRY(cudaStreamSynchronize(stream_));
  }

 private:
  std::size_t burst_bytes(int pulses) const { return sizeof(float2) * gates_ * pulses; }

  void enqueue(const float2* in, int pulses, float* map) {
    const int total = gates_ * pulses;
    range_compress<<<(total + 255) / 256, 256, 0, stream_>>>(in, workspace_, gates_, pulses);
    RD_TRY(cudaGetLastError());
    const dim3 grid((gates_ + 127) / 128, pulses);
    doppler_power<<<grid, 128, 0, stream_>>>(workspace_, map, gates_, pulses);
    RD_TRY(cudaGetLastError());
  }

  void record() {
    cudaGraph_t graph = nullptr;
    RD_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue(burst_, pulses_, map_);
    RD_TRY(cudaStreamEndCapture(stream_, &graph));
    RD_TRY(cudaGraphInstantiate(&exec_, graph, 0));
    RD_TRY(cudaGraphDestroy(graph));
  }

  void drop_recording() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  // Grows the shared workspace; never shrinks.
  void reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    RD_TRY(cudaStreamSynchronize(stream_));
    drop_recording();
    RD_TRY(cudaFree(workspace_));
    workspace_ = nullptr;
    RD_TRY(cudaMalloc(&workspace_, bytes));
    capacity_ = bytes;
  }

  int gates_;
  int pulses_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float2* burst_ = nullptr;
  float2* workspace_ = nullptr;
  float* map_ = nullptr;
  std::size_t capacity_ = 0;
};

// One dwell schedule: a calibration dwell is inserted after every 32 regular bursts.
void run_schedule(PulseDoppler& proc, int bursts, const float2* calibration_dev,
                  int calibration_pulses, float* calibration_map) {
  for (int i = 0; i < bursts; ++i) {
    if (i % 32 == 31) proc.process_long_dwell(calibration_dev, calibration_pulses, calibration_map);
    proc.process_burst();
  }
  RD_TRY(cudaStreamSynchronize(proc.stream()));
}

}  // namespace radar
