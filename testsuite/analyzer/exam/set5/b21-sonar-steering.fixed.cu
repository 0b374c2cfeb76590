// Towed-array beamformer: steering delays are recomputed on the host for every ping.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#define SONAR_CHECK(expr)                                                        \
  do {                                                                           \
    cudaError_t rc_ = (expr);                                                    \
    if (rc_ != cudaSuccess)                                                      \
      throw std::runtime_error(std::string(#expr ": ") + cudaGetErrorString(rc_)); \
  } while (0)

namespace sonar {

struct PingHeader {
  double heading_rad;
  double sound_speed;
  int index;
};

struct ArrayGeometry {
  int hydrophones;
  int beams;
  int samples;
  double spacing_m;
};

__global__ void delay_and_sum(const float* trace, const float* delays, float* beams, int hydrophones, int nbeams,
                              int samples) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (s >= samples || b >= nbeams) return;
  float acc = 0.f;
  for (int h = 0; h < hydrophones; ++h) {
    int shift = __float2int_rn(delays[b * hydrophones + h]);
    int k = s - shift;
    if (k >= 0 && k < samples) acc += trace[h * samples + k];
  }
  beams[b * samples + s] += acc;
}

// Owns the delay table on both sides.
class SteeringStage {
 public:
  explicit SteeringStage(const ArrayGeometry& g) : geom_(g), count_(size_t(g.beams) * g.hydrophones) {
    SONAR_CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    SONAR_CHECK(cudaEventCreateWithFlags(&staged_, cudaEventDisableTiming));
    SONAR_CHECK(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
    SONAR_CHECK(cudaHostAlloc(&host_, count_ * sizeof(float), cudaHostAllocDefault));
    SONAR_CHECK(cudaMalloc(&dev_, count_ * sizeof(float)));
  }
  ~SteeringStage() {
    cudaStreamSynchronize(copy_);
    cudaFree(dev_);
    cudaFreeHost(host_);
    cudaEventDestroy(consumed_);
    cudaEventDestroy(staged_);
    cudaStreamDestroy(copy_);
  }
  SteeringStage(const SteeringStage&) = delete;
  SteeringStage& operator=(const SteeringStage&) = delete;

  void compute(const PingHeader& ping) {
    SONAR_CHECK(cudaEventSynchronize(staged_));
    for (int b = 0; b < geom_.beams; ++b) {
      const double angle = ping.heading_rad + (b - geom_.beams / 2) * 0.01;
      for (int h = 0; h < geom_.hydrophones; ++h)
        host_[size_t(b) * geom_.hydrophones + h] =
            float(h * geom_.spacing_m * std::sin(angle) / ping.sound_speed * 48000.0);
    }
  }

  void upload() {
    SONAR_CHECK(cudaStreamWaitEvent(copy_, consumed_, 0));
    SONAR_CHECK(cudaMemcpyAsync(dev_, host_, count_ * sizeof(float), cudaMemcpyHostToDevice, copy_));
    SONAR_CHECK(cudaEventRecord(staged_, copy_));
  }

  const float* acquire(cudaStream_t consumer) const {
    SONAR_CHECK(cudaStreamWaitEvent(consumer, staged_, 0));
    return dev_;
  }
  void release(cudaStream_t consumer) { SONAR_CHECK(cudaEventRecord(consumed_, consumer)); }

 private:
  ArrayGeometry geom_;
  size_t count_;
  cudaStream_t copy_{};
  cudaEvent_t staged_{}, consumed_{};
  float* host_ = nullptr;
  float* dev_ = nullptr;
};

class Beamformer {
 public:
  explicit Beamformer(const ArrayGeometry& g) : geom_(g), steering_(g) {
    SONAR_CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    SONAR_CHECK(cudaMalloc(&beams_, bytes()));
    SONAR_CHECK(cudaMemsetAsync(beams_, 0, bytes(), compute_));
  }
  ~Beamformer() {
    cudaStreamSynchronize(compute_);
    cudaFree(beams_);
    cudaStreamDestroy(compute_);
  }

  void process(const PingHeader& ping, const float* trace) {
    steering_.compute(ping);
    steering_.upload();
    const float* delays = steering_.acquire(compute_);
    dim3 grid((geom_.samples + 255) / 256, geom_.beams);
    delay_and_sum<<<grid, 256, 0, compute_>>>(trace, delays, beams_, geom_.hydrophones, geom_.beams, geom_.samples);
    SONAR_CHECK(cudaGetLastError());
    steering_.release(compute_);
  }

  std::vector<float> collect() {
    std::vector<float> out(size_t(geom_.beams) * geom_.samples);
    SONAR_CHECK(cudaStreamSynchronize(compute_));
    SONAR_CHECK(cudaMemcpy(out.data(), beams_, bytes(), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  size_t bytes() const { return size_t(geom_.beams) * geom_.samples * sizeof(float); }
  ArrayGeometry geom_;
  SteeringStage steering_;
  cudaStream_t compute_{};
  float* beams_ = nullptr;
};

}  // namespace sonar

int main(int argc, char** argv) {
  const int pings = argc > 1 ? std::atoi(argv[1]) : 32;
  sonar::ArrayGeometry geom{256, 128, 8192, 0.75};
  float* trace = nullptr;
  const size_t trace_bytes = size_t(geom.hydrophones) * geom.samples * sizeof(float);
  SONAR_CHECK(cudaMalloc(&trace, trace_bytes));
  SONAR_CHECK(cudaMemset(trace, 0, trace_bytes));
  SONAR_CHECK(cudaDeviceSynchronize());
  {
    sonar::Beamformer bf(geom);
    for (int i = 0; i < pings; ++i) bf.process({0.02 * i, 1480.0 + 0.1 * i, i}, trace);
    std::printf("%f\n", bf.collect().front());
  }
  cudaFree(trace);
  return 0;
}
