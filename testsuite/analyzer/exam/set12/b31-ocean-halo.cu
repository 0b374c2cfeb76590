// Shallow-water step on a periodic strip: the east and west halo columns are packed on two streams while the
// interior is advanced on a third.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define CU_TRY(x)                                                                      \
  if (cudaError_t rc = (x); rc != cudaSuccess) {                                       \
    std::fprintf(stderr, "%s failed at line %d: %s\n", #x, __LINE__, cudaGetErrorString(rc)); \
    std::exit(EXIT_FAILURE);                                                           \
  }

constexpr int kNx = 2048;
constexpr int kNy = 1024;

__global__ void pack_column(const float* h, float* halo, int column) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < kNy) halo[y] = h[y * kNx + column];
}

__global__ void interior(const float* h, float* next) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < 1 || x >= kNx - 1 || y < 1 || y >= kNy - 1) return;
  int i = y * kNx + x;
  next[i] = h[i] + 0.1f * (h[i - 1] + h[i + 1] + h[i - kNx] + h[i + kNx] - 4.f * h[i]);
}

__global__ void boundary(const float* h, const float* west, const float* east, float* next) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < 1 || y >= kNy - 1) return;
  int l = y * kNx;
  int r = l + kNx - 1;
  next[l] = h[l] + 0.1f * (west[y] + h[l + 1] - 2.f * h[l]);
  next[r] = h[r] + 0.1f * (h[r - 1] + east[y] - 2.f * h[r]);
}

class Lane {
 public:
  Lane() { CU_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Lane() { cudaStreamDestroy(stream_); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  cudaStream_t get() const { return stream_; }
  void after(cudaEvent_t e) const { CU_TRY(cudaStreamWaitEvent(stream_, e, 0)); }
  void mark(cudaEvent_t e) const { CU_TRY(cudaEventRecord(e, stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class ShallowWater {
 public:
  ShallowWater() {
    for (float** p : {&height_, &next_}) CU_TRY(cudaMalloc(p, sizeof(float) * kNx * kNy));
    for (float** p : {&west_, &east_}) CU_TRY(cudaMalloc(p, sizeof(float) * kNy));
    CU_TRY(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    CU_TRY(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    CU_TRY(cudaMemsetAsync(next_, 0, sizeof(float) * kNx * kNy, compute_.get()));
  }
  ~ShallowWater() {
    CU_TRY(cudaDeviceSynchronize());
    cudaEventDestroy(packed_);
    cudaEventDestroy(stepped_);
    for (float* p : {east_, west_, next_, height_}) cudaFree(p);
  }

  void initialise(const float* pinned) {
    CU_TRY(cudaMemcpyAsync(height_, pinned, sizeof(float) * kNx * kNy, cudaMemcpyHostToDevice, compute_.get()));
    compute_.mark(stepped_);
  }

  void step() {
    exchange(west_lane_, west_, kNx - 1);
    exchange(east_lane_, east_, 0);

    dim3 grid((kNx + 127) / 128, kNy);
    interior<<<grid, 128, 0, compute_.get()>>>(height_, next_);
    compute_.after(packed_);
    boundary<<<(kNy + 127) / 128, 128, 0, compute_.get()>>>(height_, west_, east_, next_);
    CU_TRY(cudaGetLastError());
    compute_.mark(stepped_);
    std::swap(height_, next_);
  }

  void read(float* pinned) {
    CU_TRY(cudaMemcpyAsync(pinned, height_, sizeof(float) * kNx * kNy, cudaMemcpyDeviceToHost, compute_.get()));
    CU_TRY(cudaStreamSynchronize(compute_.get()));
  }

 private:
  void exchange(const Lane& lane, float* halo, int column) {
    lane.after(stepped_);
    pack_column<<<(kNy + 127) / 128, 128, 0, lane.get()>>>(height_, halo, column);
    lane.mark(packed_);
  }

  Lane compute_, west_lane_, east_lane_;
  cudaEvent_t stepped_ = nullptr;
  cudaEvent_t packed_ = nullptr;
  float *height_ = nullptr, *next_ = nullptr, *west_ = nullptr, *east_ = nullptr;
};

int main() {
  float* field = nullptr;
  CU_TRY(cudaMallocHost(&field, sizeof(float) * kNx * kNy));
  for (int i = 0; i < kNx * kNy; ++i) field[i] = (i % kNx) > kNx / 2 ? 1.f : 0.f;
  {
    ShallowWater model;
    model.initialise(field);
    for (int t = 0; t < 1000; ++t) model.step();
    model.read(field);
  }
  double mass = 0;
  for (int i = 0; i < kNx * kNy; ++i) mass += field[i];
  std::printf("mass %.6e\n", mass);
  CU_TRY(cudaFreeHost(field));
  return 0;
}
