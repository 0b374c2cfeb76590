// Ray batches travel through stages on different streams. A batch is stream-ordered
// memory that belongs to whichever stage holds it, and it is freed there.
#include <cuda_runtime.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace wave {

inline void req(cudaError_t e, const char* s) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(s) + " " + cudaGetErrorString(e));
}
#define REQ(x) ::wave::req((x), #x)

struct Ray { float3 o, d; float t; int pixel; };

__global__ void generate(Ray* rays, int n, int first, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int p = first + i;
  rays[i] = {make_float3(0, 0, -4), make_float3((p % width) / float(width) - 0.5f, (p / width) / float(width) - 0.5f, 1), 1e30f, p};
}

__global__ void intersectSphere(Ray* rays, int n, float radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Ray& r = rays[i];
  float b = r.o.x * r.d.x + r.o.y * r.d.y + r.o.z * r.d.z;
  float a = r.d.x * r.d.x + r.d.y * r.d.y + r.d.z * r.d.z;
  float c = r.o.x * r.o.x + r.o.y * r.o.y + r.o.z * r.o.z - radius * radius;
  float disc = b * b - a * c;
  if (disc >= 0.f) r.t = (-b - sqrtf(disc)) / a;
}

__global__ void shade(const Ray* rays, int n, float* image) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) image[rays[i].pixel] = rays[i].t < 1e29f ? 1.f / rays[i].t : 0.f;
}

class Stream {
 public:
  Stream() { REQ(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamSynchronize(s_); cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

// Owned by one stream at a time.
class Batch {
 public:
  Batch(int n, cudaStream_t owner) : n_(n), owner_(owner) {
    REQ(cudaMallocAsync(reinterpret_cast<void**>(&rays_), n * sizeof(Ray), owner_));
  }
  Batch(Batch&& o) noexcept : n_(o.n_), owner_(o.owner_), rays_(std::exchange(o.rays_, nullptr)) {}
  Batch& operator=(Batch&&) = delete;
  ~Batch() { if (rays_) cudaFreeAsync(rays_, owner_); }

  Ray* rays() const { return rays_; }
  int size() const { return n_; }
  cudaStream_t owner() const { return owner_; }
  int blocks() const { return (n_ + 127) / 128; }

  // The next owner continues where the present one stands.
  void moveTo(cudaStream_t next) {
    if (next == owner_) return;
    cudaEvent_t e;
    REQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    REQ(cudaEventRecord(e, owner_));
    REQ(cudaStreamWaitEvent(next, e, 0));
    REQ(cudaEventDestroy(e));
    owner_ = next;
  }

 private:
  int n_;
  cudaStream_t owner_;
  Ray* rays_ = nullptr;
};

class Tracer {
 public:
  // `image` is device memory that is ready when render() is called.
  void render(float* image, int width, int height, int batch) {
    std::deque<Batch> traced;
    const int total = width * height;
    for (int first = 0; first < total; first += batch) {
      const int n = first + batch < total ? batch : total - first;
      traced.push_back(trace(make(n, first, width)));
      if (traced.size() > 2) {
        resolve(std::move(traced.front()), image);
        traced.pop_front();
      }
    }
    while (!traced.empty()) {
      resolve(std::move(traced.front()), image);
      traced.pop_front();
    }
    REQ(cudaStreamSynchronize(film_));
  }

 private:
  Batch make(int n, int first, int width) {
    Batch b(n, camera_);
    generate<<<b.blocks(), 128, 0, b.owner()>>>(b.rays(), n, first, width);
    return b;
  }

  Batch trace(Batch b) {
    b.moveTo(geometry_);
    intersectSphere<<<b.blocks(), 128, 0, b.owner()>>>(b.rays(), b.size(), 1.f);
    return b;
  }

  void resolve(Batch b, float* image) {
    b.moveTo(film_);
    shade<<<b.blocks(), 128, 0, b.owner()>>>(b.rays(), b.size(), image);
    REQ(cudaGetLastError());
  }

  Stream camera_, geometry_, film_;
};

}  // namespace wave
