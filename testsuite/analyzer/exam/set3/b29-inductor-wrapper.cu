// AOT ID: ['0_inference']  -- generated host code
#include <cuda_runtime.h>
#include <cstdint>
#include <stdexcept>

#define AOTI_RUNTIME_CUDA_CHECK(EXPR)                                    \
  do {                                                                   \
    const cudaError_t code = (EXPR);                                     \
    if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code)); \
  } while (0)

extern "C" __global__ void triton_poi_fused_add_0(const float* in_ptr0, float* out_ptr0, int64_t xnumel) {
  int64_t x0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (x0 < xnumel) out_ptr0[x0] = in_ptr0[x0] + 1.0f;
}

extern "C" __global__ void triton_poi_fused_mul_sigmoid_1(const float* in_ptr0, float* out_ptr0, int64_t xnumel) {
  int64_t x0 = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (x0 < xnumel) out_ptr0[x0] = in_ptr0[x0] / (1.0f + expf(-in_ptr0[x0]));
}

extern "C" __global__ void triton_red_fused_sum_2(const float* in_ptr0, float* out_ptr0, int64_t rnumel) {
  __shared__ float acc[256];
  float s = 0.f;
  for (int64_t r = threadIdx.x; r < rnumel; r += blockDim.x) s += in_ptr0[r];
  acc[threadIdx.x] = s;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (threadIdx.x < w) acc[threadIdx.x] += acc[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) out_ptr0[0] = acc[0];
}

namespace torch::aot_inductor {

struct RAIIEvent {
  RAIIEvent() { AOTI_RUNTIME_CUDA_CHECK(cudaEventCreateWithFlags(&ev, cudaEventDisableTiming)); }
  ~RAIIEvent() { cudaEventDestroy(ev); }
  RAIIEvent(const RAIIEvent&) = delete;
  cudaEvent_t ev{};
};

class AOTInductorModel {
 public:
  explicit AOTInductorModel(int64_t numel) : numel_(numel) {
    AOTI_RUNTIME_CUDA_CHECK(cudaStreamCreateWithFlags(&stream0, cudaStreamNonBlocking));
    AOTI_RUNTIME_CUDA_CHECK(cudaStreamCreateWithFlags(&stream1, cudaStreamNonBlocking));
    AOTI_RUNTIME_CUDA_CHECK(cudaMalloc(&buf0, numel * sizeof(float)));
    AOTI_RUNTIME_CUDA_CHECK(cudaMalloc(&buf1, numel * sizeof(float)));
    AOTI_RUNTIME_CUDA_CHECK(cudaMalloc(&buf2, sizeof(float)));
  }
  ~AOTInductorModel() {
    cudaStreamSynchronize(stream0);
    cudaStreamSynchronize(stream1);
    cudaFree(buf0);
    cudaFree(buf1);
    cudaFree(buf2);
    cudaStreamDestroy(stream1);
    cudaStreamDestroy(stream0);
  }

  // arg0_1 is mutated in place.
  void call(float* arg0_1) {
    fork();
    side_region(arg0_1);
    join();
    writeback(arg0_1);
    main_region(arg0_1);
  }

  float item() {
    float h = 0.f;
    AOTI_RUNTIME_CUDA_CHECK(cudaStreamSynchronize(stream0));
    AOTI_RUNTIME_CUDA_CHECK(cudaMemcpy(&h, buf2, sizeof(float), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  int blocks() const { return static_cast<int>((numel_ + 255) / 256); }

  void fork() {
    AOTI_RUNTIME_CUDA_CHECK(cudaEventRecord(event0.ev, stream0));
    AOTI_RUNTIME_CUDA_CHECK(cudaStreamWaitEvent(stream1, event0.ev, 0));
  }

  void side_region(const float* arg0_1) {
    // with torch.cuda.stream(s1): x.add_(1)
    triton_poi_fused_add_0<<<blocks(), 256, 0, stream1>>>(arg0_1, buf0, numel_);
    AOTI_RUNTIME_CUDA_CHECK(cudaGetLastError());
  }

  void join() {
    // torch.cuda.current_stream().wait_stream(s1)
    AOTI_RUNTIME_CUDA_CHECK(cudaEventRecord(event1.ev, stream1));
    AOTI_RUNTIME_CUDA_CHECK(cudaStreamWaitEvent(stream0, event1.ev, 0));
  }

  // epilogue: input mutation
  void writeback(float* arg0_1) {
    AOTI_RUNTIME_CUDA_CHECK(cudaMemcpyAsync(arg0_1, buf0, numel_ * sizeof(float), cudaMemcpyDeviceToDevice, stream1));
  }

  void main_region(const float* arg0_1) {
    triton_poi_fused_mul_sigmoid_1<<<blocks(), 256, 0, stream0>>>(arg0_1, buf1, numel_);
    triton_red_fused_sum_2<<<1, 256, 0, stream0>>>(buf1, buf2, numel_);
    AOTI_RUNTIME_CUDA_CHECK(cudaGetLastError());
  }

  int64_t numel_;
  cudaStream_t stream0{}, stream1{};
  float *buf0{}, *buf1{}, *buf2{};
  RAIIEvent event0, event1;
};

}  // namespace torch::aot_inductor

int main() {
  const int64_t numel = 1 << 20;
  float* x = nullptr;
  AOTI_RUNTIME_CUDA_CHECK(cudaMalloc(&x, numel * sizeof(float)));
  AOTI_RUNTIME_CUDA_CHECK(cudaMemset(x, 0, numel * sizeof(float)));
  AOTI_RUNTIME_CUDA_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  float r = 0.f;
  {
    torch::aot_inductor::AOTInductorModel model(numel);
    model.call(x);
    r = model.item();
  }
  AOTI_RUNTIME_CUDA_CHECK(cudaFree(x));
  return r > 0.f ? 0 : 1;
}
