// One integration step of an FX correlator: local products on one stream,
// exchange with the partner half-array on two others.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

static void require(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
    std::exit(EXIT_FAILURE);
  }
}
#define REQUIRE(x) require((x), __LINE__)

__global__ void multiply_accumulate(const float2* spectra, float2* products, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float2 a = spectra[i];
    const float2 b = spectra[(i + 1) % n];
    products[i] = make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
  }
}

__global__ void add_partner(const float2* local, const float2* remote, float2* visibilities, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    visibilities[i].x += local[i].x + remote[i].x;
    visibilities[i].y += local[i].y + remote[i].y;
  }
}

class Correlator {
 public:
  explicit Correlator(int channels) : n_(channels) {
    for (auto* s : {&main_, &compute_, &send_, &recv_}) REQUIRE(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (auto& e : stop_) REQUIRE(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    REQUIRE(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    for (auto* p : {&spectra_, &products_, &remote_, &visibilities_}) {
      REQUIRE(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
      REQUIRE(cudaMemsetAsync(*p, 0, bytes(), main_));
    }
    REQUIRE(cudaMallocHost(reinterpret_cast<void**>(&outbox_), bytes()));
    REQUIRE(cudaMallocHost(reinterpret_cast<void**>(&inbox_), bytes()));
    for (int i = 0; i < n_; ++i) inbox_[i] = make_float2(0.f, 0.f);
  }
  Correlator(const Correlator&) = delete;
  Correlator& operator=(const Correlator&) = delete;
  ~Correlator() {
    REQUIRE(cudaDeviceSynchronize());
    for (auto* p : {spectra_, products_, remote_, visibilities_}) REQUIRE(cudaFree(p));
    REQUIRE(cudaFreeHost(outbox_));
    REQUIRE(cudaFreeHost(inbox_));
    for (auto e : stop_) REQUIRE(cudaEventDestroy(e));
    REQUIRE(cudaEventDestroy(start_));
    for (auto s : {main_, compute_, send_, recv_}) REQUIRE(cudaStreamDestroy(s));
  }

  void step() {
    fork();
    correlate_local();
    push_spectra();
    pull_products();
    join();
    integrate();
  }

  void wait() { REQUIRE(cudaStreamSynchronize(main_)); }

 private:
  std::size_t bytes() const { return sizeof(float2) * static_cast<std::size_t>(n_); }
  int blocks() const { return (n_ + 127) / 128; }

  void fork() {
    REQUIRE(cudaEventRecord(start_, main_));
    for (auto s : {compute_, send_, recv_}) REQUIRE(cudaStreamWaitEvent(s, start_, 0));
  }

  void correlate_local() {
    multiply_accumulate<<<blocks(), 128, 0, compute_>>>(spectra_, products_, n_);
    REQUIRE(cudaGetLastError());
  }

  void push_spectra() {
    REQUIRE(cudaMemcpyAsync(outbox_, spectra_, bytes(), cudaMemcpyDeviceToHost, send_));
  }

  void pull_products() {
    REQUIRE(cudaMemcpyAsync(remote_, inbox_, bytes(), cudaMemcpyHostToDevice, recv_));
  }

  void join() {
    REQUIRE(cudaEventRecord(stop_[0], compute_));
    REQUIRE(cudaEventRecord(stop_[1], send_));
    REQUIRE(cudaStreamWaitEvent(main_, stop_[0], 0));
    REQUIRE(cudaStreamWaitEvent(main_, stop_[1], 0));
  }

  void integrate() {
    add_partner<<<blocks(), 128, 0, main_>>>(products_, remote_, visibilities_, n_);
    REQUIRE(cudaGetLastError());
  }

  int n_;
  cudaStream_t main_ = nullptr, compute_ = nullptr, send_ = nullptr, recv_ = nullptr;
  cudaEvent_t start_ = nullptr;
  std::array<cudaEvent_t, 3> stop_{};
  float2 *spectra_ = nullptr, *products_ = nullptr, *remote_ = nullptr, *visibilities_ = nullptr;
  float2 *outbox_ = nullptr, *inbox_ = nullptr;
};

int main() {
  Correlator correlator(4096);
  for (int i = 0; i < 16; ++i) correlator.step();
  correlator.wait();
  std::puts("integrated");
  return 0;
}
