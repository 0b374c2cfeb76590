// Token decode step captured once and replayed; prefill runs eagerly between
// replays. Small host-side tables are staged through a pinned pool.
#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rt {

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class HostStaging {
 public:
  class Lease {
   public:
    Lease() = default;
    Lease(HostStaging* o, int* p) : owner_(o), p_(p) {}
    Lease(Lease&& l) noexcept : owner_(std::exchange(l.owner_, nullptr)), p_(std::exchange(l.p_, nullptr)) {}
    Lease& operator=(Lease&& l) noexcept {
      std::swap(owner_, l.owner_);
      std::swap(p_, l.p_);
      return *this;
    }
    ~Lease() {
      if (owner_) owner_->idle_.push_back(p_);
    }
    int* get() const { return p_; }

   private:
    HostStaging* owner_ = nullptr;
    int* p_ = nullptr;
  };

  HostStaging(size_t ints, int slabs) {
    for (int i = 0; i < slabs; ++i) {
      int* p = nullptr;
      check(cudaMallocHost(reinterpret_cast<void**>(&p), ints * sizeof(int)));
      idle_.push_back(p);
    }
  }
  ~HostStaging() {
    for (int* p : idle_) cudaFreeHost(p);
  }
  Lease acquire() {
    if (idle_.empty()) throw std::runtime_error("staging exhausted");
    int* p = idle_.back();
    idle_.pop_back();
    return Lease(this, p);
  }

 private:
  std::vector<int*> idle_;
};

__global__ void concatHeads(const float* in, const int* offsets, float* out, int heads,
                            int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < heads * dim) out[offsets[i / dim] + i % dim] = in[i];
}

struct Shape {
  int heads;
  int dim;
};

class ConcatOp {
 public:
  ConcatOp(HostStaging& staging, Shape maxShape) : staging_(staging) {
    check(cudaMalloc(&offsets_, maxShape.heads * sizeof(int)));
  }
  ~ConcatOp() { cudaFree(offsets_); }

  void compute(Shape s, int stride, const float* in, float* out, cudaStream_t stream, bool capturing) {
    HostStaging::Lease host = staging_.acquire();
    for (int h = 0; h < s.heads; ++h) host.get()[h] = h * stride;
    check(cudaMemcpyAsync(offsets_, host.get(), s.heads * sizeof(int), cudaMemcpyHostToDevice, stream));
    concatHeads<<<(s.heads * s.dim + 127) / 128, 128, 0, stream>>>(in, offsets_, out, s.heads, s.dim);
    check(cudaGetLastError());
    if (capturing)
      retained_.push_back(std::move(host));
    else
      check(cudaStreamSynchronize(stream));
  }

 private:
  HostStaging& staging_;
  std::vector<HostStaging::Lease> retained_;
  int* offsets_ = nullptr;
};

class Decoder {
 public:
  Decoder(HostStaging& staging, Shape s, const float* in, float* out) : op_(staging, s), shape_(s), in_(in), out_(out) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Decoder() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
  }

  void capture() {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    op_.compute(shape_, shape_.dim, in_, out_, stream_, true);
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphInstantiate(&exec_, graph, 0));
    check(cudaGraphDestroy(graph));
  }

  void prefill(const float* prompt, float* cache, int stride) {
    op_.compute(shape_, stride, prompt, cache, stream_, false);
  }

  void decode() {
    check(cudaGraphLaunch(exec_, stream_));
    check(cudaStreamSynchronize(stream_));
  }

 private:
  ConcatOp op_;
  Shape shape_;
  const float* in_;
  float* out_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace rt

void serve(const float* tokens, float* hidden, const std::vector<std::pair<const float*, float*>>& prompts,
           rt::Shape s, int cacheStride, int stepsBetween) {
  rt::HostStaging staging(1024, 4);
  rt::Decoder dec(staging, s, tokens, hidden);
  dec.capture();
  for (const auto& p : prompts) {
    dec.prefill(p.first, p.second, cacheStride);
    for (int i = 0; i < stepsBetween; ++i) dec.decode();
  }
}
