// Reprojection of map layers. The parameters of the target projection sit in constant memory and change from
// layer to layer; two streams take turns.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define PROJ_CHECK(expr)                                                                          \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct Projection {
  double lon0, lat0, scale, falseEasting, falseNorthing;
};

__constant__ Projection dProjection;

__global__ void project(const double2* lonLat, float2* xy, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double lon = lonLat[i].x - dProjection.lon0, lat = lonLat[i].y - dProjection.lat0;
  xy[i] = make_float2(static_cast<float>(dProjection.falseEasting + dProjection.scale * lon * cos(lonLat[i].y)),
                      static_cast<float>(dProjection.falseNorthing + dProjection.scale * lat));
}

struct Layer {
  const double2* lonLat;
  float2* xy;
  int points;
  Projection target;
};

// The one constant symbol: whoever wants other parameters waits for the last kernel that reads the present ones.
class ProjectionSlot {
 public:
  ProjectionSlot() {
    PROJ_CHECK(cudaMallocHost(reinterpret_cast<void**>(&staged_), sizeof(Projection)));
    PROJ_CHECK(cudaEventCreateWithFlags(&installed_, cudaEventDisableTiming));
    PROJ_CHECK(cudaEventCreateWithFlags(&lastUse_, cudaEventDisableTiming));
  }
  ProjectionSlot(const ProjectionSlot&) = delete;
  ~ProjectionSlot() {
    cudaEventSynchronize(installed_);
    cudaFreeHost(staged_);
    cudaEventDestroy(installed_);
    cudaEventDestroy(lastUse_);
  }

  void install(const Projection& p, cudaStream_t stream) {
    PROJ_CHECK(cudaEventSynchronize(installed_));
    *staged_ = p;
    PROJ_CHECK(cudaStreamWaitEvent(stream, lastUse_, 0));
    PROJ_CHECK(cudaMemcpyToSymbolAsync(dProjection, staged_, sizeof p, 0, cudaMemcpyHostToDevice, stream));
    PROJ_CHECK(cudaEventRecord(installed_, stream));
  }

  // To be called behind the kernels that read the parameters, on the same stream.
  void used(cudaStream_t stream) { PROJ_CHECK(cudaEventRecord(lastUse_, stream)); }

 private:
  Projection* staged_ = nullptr;
  cudaEvent_t installed_ = nullptr;
  cudaEvent_t lastUse_ = nullptr;
};

class LayerProjector {
 public:
  LayerProjector() {
    for (cudaStream_t& s : streams_) PROJ_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  LayerProjector(const LayerProjector&) = delete;
  ~LayerProjector() {
    wait();
    for (cudaStream_t s : streams_) cudaStreamDestroy(s);
  }

  void enqueue(const Layer& layer) {
    cudaStream_t stream = streams_[turn_];
    turn_ = (turn_ + 1) % streams_.size();
    slot_.install(layer.target, stream);
    project<<<(layer.points + 127) / 128, 128, 0, stream>>>(layer.lonLat, layer.xy, layer.points);
    PROJ_CHECK(cudaGetLastError());
    slot_.used(stream);
  }

  void wait() {
    for (cudaStream_t s : streams_) PROJ_CHECK(cudaStreamSynchronize(s));
  }

 private:
  ProjectionSlot slot_;
  std::array<cudaStream_t, 2> streams_{};
  std::size_t turn_ = 0;
};

int main() {
  constexpr int kPoints = 1 << 20, kLayers = 8;
  double2* lonLat = nullptr;
  PROJ_CHECK(cudaMalloc(reinterpret_cast<void**>(&lonLat), kPoints * sizeof(double2)));
  PROJ_CHECK(cudaMemset(lonLat, 0, kPoints * sizeof(double2)));
  PROJ_CHECK(cudaDeviceSynchronize());
  std::vector<Layer> layers;
  for (int l = 0; l < kLayers; ++l) {
    float2* xy = nullptr;
    PROJ_CHECK(cudaMalloc(reinterpret_cast<void**>(&xy), kPoints * sizeof(float2)));
    layers.push_back({lonLat, xy, kPoints, {0.05 * l, 0.8, 6378137.0 * 0.9996, 500000.0, 0.0}});
  }
  {
    LayerProjector projector;
    for (const Layer& l : layers) projector.enqueue(l);
    projector.wait();
  }
  float2 first{};
  PROJ_CHECK(cudaMemcpy(&first, layers.back().xy, sizeof first, cudaMemcpyDeviceToHost));
  std::printf("%.2f %.2f\n", first.x, first.y);
  for (const Layer& l : layers) cudaFree(l.xy);
  cudaFree(lonLat);
}
