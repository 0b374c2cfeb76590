// Feeds detector rows of a CT scanner to the back-projector through one pinned staging buffer.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CT_CHECK(e)                                                                         \
  do {                                                                                      \
    cudaError_t s_ = (e);                                                                   \
    if (s_ != cudaSuccess) {                                                                \
      std::fprintf(stderr, "ct: %s (%s:%d)\n", cudaGetErrorString(s_), __FILE__, __LINE__); \
      std::abort();                                                                         \
    }                                                                                       \
  } while (0)

namespace ct {

struct Geometry {
  int detectors = 4096;
  int angles = 180;
  int edge = 512;
};

__global__ void backProject(const float* row, float* image, int edge, int detectors, float angle) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= edge) return;
  float s, c;
  __sincosf(angle, &s, &c);
  float t = ((x - edge * 0.5f) * c + (y - edge * 0.5f) * s) / edge + 0.5f;
  int d = min(detectors - 1, max(0, int(t * detectors)));
  image[y * edge + x] += row[d];
}

struct StageContext {
  cudaStream_t stream;    // where the rows are copied
  cudaStream_t consumer;  // where they are used
  cudaEvent_t copied;
};

// Rows are used on the stream that copies them: the stream's own order is all that the consumer needs.
struct HostOrder {
  static void publish(StageContext& ctx) { CT_CHECK(cudaEventRecord(ctx.copied, ctx.stream)); }
};

// Rows are used on another stream.
struct DeviceOrder {
  static void publish(StageContext& ctx) {
    CT_CHECK(cudaEventRecord(ctx.copied, ctx.stream));
    CT_CHECK(cudaStreamWaitEvent(ctx.consumer, ctx.copied, 0));
  }
};

template <class Order>
class RowStager {
 public:
  RowStager(StageContext& ctx, const Geometry& g) : ctx_(ctx), bytes_(g.detectors * sizeof(float)) {
    CT_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), bytes_, cudaHostAllocDefault));
  }
  ~RowStager() { cudaFreeHost(pinned_); }
  RowStager(const RowStager&) = delete;
  RowStager& operator=(const RowStager&) = delete;

  void push(const std::vector<float>& row, float* device) {
    awaitStaging();
    std::memcpy(pinned_, row.data(), bytes_);
    CT_CHECK(cudaMemcpyAsync(device, pinned_, bytes_, cudaMemcpyHostToDevice, ctx_.stream));
    Order::publish(ctx_);
  }

 private:
  // The staging buffer may be filled again when the last copy out of it is done.
  void awaitStaging() { CT_CHECK(cudaEventSynchronize(ctx_.copied)); }

  StageContext& ctx_;
  size_t bytes_;
  float* pinned_ = nullptr;
};

template <class Order>
class Reconstruction {
 public:
  Reconstruction(StageContext& ctx, const Geometry& g) : ctx_(ctx), geometry_(g), stager_(ctx, g) {
    CT_CHECK(cudaMalloc(&rows_, size_t(g.angles) * g.detectors * sizeof(float)));
    CT_CHECK(cudaMalloc(&image_, size_t(g.edge) * g.edge * sizeof(float)));
    CT_CHECK(cudaMemsetAsync(image_, 0, size_t(g.edge) * g.edge * sizeof(float), ctx.consumer));
  }
  ~Reconstruction() {
    cudaDeviceSynchronize();
    cudaFree(rows_);
    cudaFree(image_);
  }
  Reconstruction(const Reconstruction&) = delete;

  void addAngle(int index, const std::vector<float>& row) {
    float* device = rows_ + size_t(index) * geometry_.detectors;
    stager_.push(row, device);
    backProject<<<dim3((geometry_.edge + 127) / 128, geometry_.edge), 128, 0, ctx_.consumer>>>(
        device, image_, geometry_.edge, geometry_.detectors, index * 3.14159265f / geometry_.angles);
    CT_CHECK(cudaGetLastError());
  }

  std::vector<float> image() {
    std::vector<float> host(size_t(geometry_.edge) * geometry_.edge);
    CT_CHECK(cudaMemcpyAsync(host.data(), image_, host.size() * sizeof(float), cudaMemcpyDeviceToHost, ctx_.consumer));
    CT_CHECK(cudaStreamSynchronize(ctx_.consumer));
    return host;
  }

 private:
  StageContext& ctx_;
  Geometry geometry_;
  RowStager<Order> stager_;
  float* rows_ = nullptr;
  float* image_ = nullptr;
};

}  // namespace ct

int main() {
  using namespace ct;
  Geometry geometry;
  StageContext ctx{};
  CT_CHECK(cudaStreamCreateWithFlags(&ctx.stream, cudaStreamNonBlocking));
  CT_CHECK(cudaEventCreateWithFlags(&ctx.copied, cudaEventDisableTiming));
  ctx.consumer = ctx.stream;
  {
    Reconstruction<HostOrder> reconstruction(ctx, geometry);
    std::vector<float> row(geometry.detectors);
    for (int a = 0; a < geometry.angles; ++a) {
      for (int d = 0; d < geometry.detectors; ++d) row[d] = float((a * 31 + d) % 255) / 255.f;
      reconstruction.addAngle(a, row);
    }
    std::printf("centre: %f\n", reconstruction.image()[geometry.edge * geometry.edge / 2]);
  }
  CT_CHECK(cudaEventDestroy(ctx.copied));
  CT_CHECK(cudaStreamDestroy(ctx.stream));
  return 0;
}
