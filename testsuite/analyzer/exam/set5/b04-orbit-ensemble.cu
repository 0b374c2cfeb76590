#include <cuda_runtime.h>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <vector>

static void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct State { float3 r; float3 v; };

__global__ void perturb(State* s, int n, float sigma, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = __sinf(i * 12.9898f + seed) * sigma;
  s[i].r = make_float3(7000.f + a, 0.5f * a, 0.f);
  s[i].v = make_float3(0.f, 7.5f + 1e-3f * a, 0.1f);
}

__global__ void propagate(State* s, int n, float dt, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State q = s[i];
  for (int k = 0; k < steps; ++k) {
    float d2 = q.r.x * q.r.x + q.r.y * q.r.y + q.r.z * q.r.z;
    float g = -398600.f * rsqrtf(d2) / d2;
    q.v.x += g * q.r.x * dt; q.v.y += g * q.r.y * dt; q.v.z += g * q.r.z * dt;
    q.r.x += q.v.x * dt; q.r.y += q.v.y * dt; q.r.z += q.v.z * dt;
  }
  s[i] = q;
}

__global__ void covariance(const State* s, int n, float* cov) {
  float xx = 0.f, yy = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { xx += s[i].r.x * s[i].r.x; yy += s[i].r.y * s[i].r.y; }
  atomicAdd(&cov[0], xx / n);
  atomicAdd(&cov[1], yy / n);
}

// One ensemble of clones of a tracked object. The stream belongs to the worker that fills it.
struct Ensemble {
  int object_id = -1;
  int n = 0;
  State* clones = nullptr;
  cudaStream_t stream = nullptr;
};

Ensemble run_worker(int object_id, int n, float horizon) {
  Ensemble e;
  e.object_id = object_id;
  e.n = n;
  ok(cudaStreamCreateWithFlags(&e.stream, cudaStreamNonBlocking));
  ok(cudaMalloc(&e.clones, n * sizeof(State)));
  const int b = (n + 255) / 256;
  perturb<<<b, 256, 0, e.stream>>>(e.clones, n, 0.4f, 31u * object_id);
  propagate<<<b, 256, 0, e.stream>>>(e.clones, n, 0.5f, static_cast<int>(horizon / 0.5f));
  ok(cudaGetLastError());
  return e;
}

class Catalogue {
 public:
  explicit Catalogue(int objects) : objects_(objects) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMalloc(&cov_, objects * 2 * sizeof(float)));
    ok(cudaMemsetAsync(cov_, 0, objects * 2 * sizeof(float), stream_));
  }
  ~Catalogue() {
    cudaDeviceSynchronize();
    for (auto& e : done_) {
      cudaFree(e.clones);
      cudaStreamDestroy(e.stream);
    }
    cudaFree(cov_);
    cudaStreamDestroy(stream_);
  }

  void absorb(Ensemble e) {
    covariance<<<1, 512, 0, stream_>>>(e.clones, e.n, cov_ + 2 * e.object_id);
    ok(cudaGetLastError());
    done_.push_back(e);
  }

  std::vector<float> result() {
    std::vector<float> h(objects_ * 2);
    ok(cudaMemcpyAsync(h.data(), cov_, h.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ok(cudaStreamSynchronize(stream_));
    return h;
  }

 private:
  int objects_;
  cudaStream_t stream_{};
  float* cov_ = nullptr;
  std::vector<Ensemble> done_;
};

int main() {
  const int objects = 24;
  Catalogue cat(objects);
  std::vector<std::future<Ensemble>> jobs;
  for (int o = 0; o < objects; ++o)
    jobs.push_back(std::async(std::launch::async, run_worker, o, 1 << 16, 5400.f));
  for (auto& j : jobs) cat.absorb(j.get());
  auto cov = cat.result();
  for (int o = 0; o < objects; ++o) std::printf("object %d: %g %g\n", o, cov[2 * o], cov[2 * o + 1]);
}
