// Back projection for the dental cone beam scanner. The projection set comes from the acquisition thread as ordinary vectors;
// the reconstruction of the slices is spread over a few streams.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dct {

inline void driver_check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  throw std::runtime_error(std::string(call) + " failed: " + (name ? name : "?"));
}
#define DCT_DRV(call) ::dct::driver_check((call), #call)

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { DCT_DRV(cuMemAlloc(&ptr_, bytes())); }

  // Allocates and initialises in one go.
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    DCT_DRV(cuMemcpyHtoD(ptr_, values.data(), bytes()));
    DCT_DRV(cuStreamSynchronize(nullptr));
  }

  ~DeviceArray() {
    if (ptr_) cuMemFree(ptr_);
  }
  DeviceArray(DeviceArray&& other) noexcept : ptr_(std::exchange(other.ptr_, 0)), count_(other.count_) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return reinterpret_cast<T*>(ptr_); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  CUdeviceptr ptr_ = 0;
  std::size_t count_ = 0;
};

struct Geometry {
  int views = 360;
  int detector_columns = 512;
  int detector_rows = 384;
  int slice_edge = 512;
};

__global__ void back_project(const float* projections, float* slice, Geometry geo, int row) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= geo.slice_edge || y >= geo.slice_edge) return;
  float sum = 0.f;
  for (int view = 0; view < geo.views; ++view) {
    const float angle = 3.14159265f * view / geo.views;
    const float t = (x - geo.slice_edge / 2) * cosf(angle) + (y - geo.slice_edge / 2) * sinf(angle);
    const int column = static_cast<int>(t) + geo.detector_columns / 2;
    if (column < 0 || column >= geo.detector_columns) continue;
    sum += projections[(static_cast<size_t>(view) * geo.detector_rows + row) * geo.detector_columns + column];
  }
  slice[y * geo.slice_edge + x] = sum / geo.views;
}

class StreamSet {
 public:
  explicit StreamSet(int count) : streams_(count) {
    for (CUstream& stream : streams_) DCT_DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  ~StreamSet() {
    for (CUstream stream : streams_) cuStreamDestroy(stream);
  }
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  CUstream pick(int i) const { return streams_[i % streams_.size()]; }
  void synchronize() const {
    for (CUstream stream : streams_) DCT_DRV(cuStreamSynchronize(stream));
  }

 private:
  std::vector<CUstream> streams_;
};

class Reconstructor {
 public:
  explicit Reconstructor(const Geometry& geo) : geo_(geo), streams_(4) {}

  std::vector<float> run(const std::vector<float>& projections, int first_row, int rows) {
    const std::size_t pixels = static_cast<std::size_t>(geo_.slice_edge) * geo_.slice_edge;
    DeviceArray<float> input(projections);
    DeviceArray<float> volume(pixels * rows);
    for (int i = 0; i < rows; ++i) launch_slice(input, volume.get() + pixels * i, first_row + i, streams_.pick(i));
    streams_.synchronize();

    std::vector<float> host(volume.size());
    DCT_DRV(cuMemcpyDtoH(host.data(), reinterpret_cast<CUdeviceptr>(volume.get()), volume.bytes()));
    return host;
  }

 private:
  void launch_slice(const DeviceArray<float>& input, float* slice, int row, CUstream stream) {
    const dim3 block(16, 16);
    const dim3 grid((geo_.slice_edge + 15) / 16, (geo_.slice_edge + 15) / 16);
    back_project<<<grid, block, 0, stream>>>(input.get(), slice, geo_, row);
    if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("back_project");
  }

  Geometry geo_;
  StreamSet streams_;
};

}  // namespace dct

int main() {
  DCT_DRV(cuInit(0));
  CUdevice device;
  DCT_DRV(cuDeviceGet(&device, 0));
  CUcontext context;
  DCT_DRV(cuDevicePrimaryCtxRetain(&context, device));
  DCT_DRV(cuCtxSetCurrent(context));

  dct::Geometry geo;
  std::vector<float> projections(static_cast<std::size_t>(geo.views) * geo.detector_rows * geo.detector_columns, 1.f);
  {
    dct::Reconstructor reconstructor(geo);
    const std::vector<float> volume = reconstructor.run(projections, 100, 16);
    std::printf("centre voxel %f\n", volume[geo.slice_edge * geo.slice_edge / 2 + geo.slice_edge / 2]);
  }
  DCT_DRV(cuDevicePrimaryCtxRelease(device));
  return 0;
}
