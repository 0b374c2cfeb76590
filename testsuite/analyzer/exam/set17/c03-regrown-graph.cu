// A captured two-branch graph whose buffers may grow: growing waits for the replays, throws
// the executable graph away and captures anew on the next run.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace imaging {

inline void ck(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void edges(const float* image, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < w && y < h) {
    int c = y * w + x;
    out[c] = fabsf(image[c] - image[x > 0 ? c - 1 : c]) + fabsf(image[c] - image[y > 0 ? c - w : c]);
  }
}

__global__ void smooth(const float* image, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < w && y < h) {
    int c = y * w + x;
    out[c] = 0.5f * image[c] + 0.25f * (image[x > 0 ? c - 1 : c] + image[x < w - 1 ? c + 1 : c]);
  }
}

__global__ void blend(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.7f * a[i] + 0.3f * b[i];
}

struct StreamDeleter {
  using pointer = cudaStream_t;
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
};
struct EventDeleter {
  using pointer = cudaEvent_t;
  void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
struct GraphExecDeleter {
  using pointer = cudaGraphExec_t;
  void operator()(cudaGraphExec_t g) const { cudaGraphExecDestroy(g); }
};
struct DeviceDeleter {
  void operator()(float* p) const { cudaFree(p); }
};
using StreamPtr = std::unique_ptr<CUstream_st, StreamDeleter>;
using EventPtr = std::unique_ptr<CUevent_st, EventDeleter>;
using GraphExecPtr = std::unique_ptr<CUgraphExec_st, GraphExecDeleter>;
using Buffer = std::unique_ptr<float, DeviceDeleter>;

Buffer allocate(std::size_t n) {
  float* p = nullptr;
  ck(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(float)));
  return Buffer(p);
}

class Pipeline {
 public:
  Pipeline() {
    cudaStream_t s = nullptr;
    ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    main_.reset(s);
    ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    branch_.reset(s);
    cudaEvent_t e = nullptr;
    ck(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    fork_.reset(e);
    ck(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    join_.reset(e);
  }
  ~Pipeline() { cudaStreamSynchronize(main_.get()); }

  std::vector<float> run(const std::vector<float>& image, int w, int h) {
    if (image.size() != static_cast<std::size_t>(w) * h) throw std::invalid_argument("image size");
    resize(w, h);
    if (!exec_) capture();
    const std::size_t bytes = image.size() * sizeof(float);
    std::vector<float> result(image.size());
    ck(cudaMemcpyAsync(input_.get(), image.data(), bytes, cudaMemcpyHostToDevice, main_.get()));
    ck(cudaGraphLaunch(exec_.get(), main_.get()));
    ck(cudaMemcpyAsync(result.data(), output_.get(), bytes, cudaMemcpyDeviceToHost, main_.get()));
    ck(cudaStreamSynchronize(main_.get()));
    return result;
  }

 private:
  void resize(int w, int h) {
    if (w == w_ && h == h_) return;
    ck(cudaStreamSynchronize(main_.get()));
    exec_.reset();
    const std::size_t n = static_cast<std::size_t>(w) * h;
    for (Buffer* b : {&input_, &edge_, &soft_, &output_}) *b = allocate(n);
    w_ = w;
    h_ = h;
  }

  void capture() {
    const dim3 grid((w_ + 127) / 128, h_);
    const int n = w_ * h_;
    ck(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeThreadLocal));
    ck(cudaEventRecord(fork_.get(), main_.get()));
    ck(cudaStreamWaitEvent(branch_.get(), fork_.get(), 0));
    edges<<<grid, 128, 0, main_.get()>>>(input_.get(), edge_.get(), w_, h_);
    smooth<<<grid, 128, 0, branch_.get()>>>(input_.get(), soft_.get(), w_, h_);
    ck(cudaEventRecord(join_.get(), branch_.get()));
    ck(cudaStreamWaitEvent(main_.get(), join_.get(), 0));
    blend<<<(n + 255) / 256, 256, 0, main_.get()>>>(edge_.get(), soft_.get(), output_.get(), n);
    cudaGraph_t graph = nullptr;
    ck(cudaStreamEndCapture(main_.get(), &graph));
    cudaGraphExec_t exec = nullptr;
    ck(cudaGraphInstantiate(&exec, graph, 0));
    exec_.reset(exec);
    ck(cudaGraphDestroy(graph));
  }

  int w_ = 0, h_ = 0;
  StreamPtr main_, branch_;
  EventPtr fork_, join_;
  Buffer input_, edge_, soft_, output_;
  GraphExecPtr exec_;
};

std::vector<float> growing(const std::vector<float>& large, int w, int h) {
  Pipeline pipeline;
  const std::vector<float> small(static_cast<std::size_t>(64) * 64, 1.0f);
  pipeline.run(small, 64, 64);
  return pipeline.run(large, w, h);
}

}  // namespace imaging
