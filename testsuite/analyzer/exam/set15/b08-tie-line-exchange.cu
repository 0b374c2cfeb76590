#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Two-area power flow: every iteration solves the own area while the boundary angles are
// sent to and received from the neighbouring area's mailbox in pinned memory.

#define PF_CHECK(x)                                                                    \
  if (cudaError_t e_ = (x); e_ != cudaSuccess) {                                       \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));   \
    std::abort();                                                                      \
  }

__global__ void relax_kernel(const float* theta, const float* injection, float* next, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float left = i > 0 ? theta[i - 1] : theta[i];
  const float right = i + 1 < n ? theta[i + 1] : theta[i];
  next[i] = 0.5f * (left + right + injection[i]);
}

__global__ void mismatch_kernel(float* theta, const float* next, const float* remote, int n, int tie) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  theta[i] = i < tie ? 0.5f * (next[i] + remote[i]) : next[i];
}

struct StreamEvent {
  StreamEvent() {
    PF_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PF_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  ~StreamEvent() {
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
};

struct Mailbox {
  explicit Mailbox(int tie) {
    PF_CHECK(cudaMallocHost(&out, tie * sizeof(float)));
    PF_CHECK(cudaMallocHost(&in, tie * sizeof(float)));
    for (int i = 0; i < tie; ++i) in[i] = 0.01f * i;
  }
  ~Mailbox() {
    cudaFreeHost(in);
    cudaFreeHost(out);
  }
  float* out = nullptr;
  float* in = nullptr;
};

class AreaSolver {
 public:
  AreaSolver(int buses, int tie, Mailbox& box) : n_(buses), tie_(tie), box_(box) {
    for (float** p : {&theta_, &injection_, &next_}) PF_CHECK(cudaMalloc(p, n_ * sizeof(float)));
    PF_CHECK(cudaMalloc(&remote_, tie_ * sizeof(float)));
    PF_CHECK(cudaMemsetAsync(theta_, 0, n_ * sizeof(float), main_.stream));
    PF_CHECK(cudaMemsetAsync(injection_, 0, n_ * sizeof(float), main_.stream));
  }
  ~AreaSolver() {
    cudaDeviceSynchronize();
    for (float* p : {theta_, injection_, next_, remote_}) cudaFree(p);
  }

  void iterate() {
    fork();
    relax_kernel<<<blocks(), 256, 0, compute_.stream>>>(theta_, injection_, next_, n_);
    PF_CHECK(cudaGetLastError());
    PF_CHECK(cudaMemcpyAsync(box_.out, theta_, tie_ * sizeof(float), cudaMemcpyDeviceToHost,
                             send_.stream));
    PF_CHECK(cudaMemcpyAsync(remote_, box_.in, tie_ * sizeof(float), cudaMemcpyHostToDevice,
                             recv_.stream));
    join();
    combine();
  }

  std::vector<float> angles() {
    std::vector<float> host(n_);
    PF_CHECK(cudaMemcpyAsync(host.data(), theta_, n_ * sizeof(float), cudaMemcpyDeviceToHost,
                             main_.stream));
    PF_CHECK(cudaStreamSynchronize(main_.stream));
    return host;
  }

 private:
  unsigned blocks() const { return (n_ + 255) / 256; }

  void fork() {
    PF_CHECK(cudaEventRecord(main_.event, main_.stream));
    for (StreamEvent* s : {&compute_, &send_, &recv_})
      PF_CHECK(cudaStreamWaitEvent(s->stream, main_.event, 0));
  }

  void join() {
    for (StreamEvent* s : {&compute_, &send_}) {
      PF_CHECK(cudaEventRecord(s->event, s->stream));
      PF_CHECK(cudaStreamWaitEvent(main_.stream, s->event, 0));
    }
  }

  void combine() {
    mismatch_kernel<<<blocks(), 256, 0, main_.stream>>>(theta_, next_, remote_, n_, tie_);
    PF_CHECK(cudaGetLastError());
  }

  int n_, tie_;
  Mailbox& box_;
  StreamEvent main_, compute_, send_, recv_;
  float* theta_ = nullptr;
  float* injection_ = nullptr;
  float* next_ = nullptr;
  float* remote_ = nullptr;
};

int main() {
  constexpr int kBuses = 1 << 16;
  constexpr int kTie = 4096;
  Mailbox box(kTie);
  AreaSolver area(kBuses, kTie, box);
  for (int it = 0; it < 50; ++it) area.iterate();
  const std::vector<float> theta = area.angles();
  std::printf("theta[0] = %f\n", theta[0]);
  return 0;
}
