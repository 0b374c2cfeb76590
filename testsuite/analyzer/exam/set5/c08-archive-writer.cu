// Telescope frames are binned on the GPU and written to disk by a thread of its own.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define CUDA_TRY(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e_)); std::exit(3); } } while (0)

__global__ void bin2x2(const uint16_t* in, uint32_t* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w / 2 || y >= h / 2) return;
  const uint16_t* p = in + 2 * y * w + 2 * x;
  out[y * (w / 2) + x] = p[0] + p[1] + p[w] + p[w + 1];
}

template <class T>
class BlockingQueue {
 public:
  void push(T v) {
    { std::lock_guard<std::mutex> g(m_); q_.push_back(v); }
    c_.notify_one();
  }
  T pop() {
    std::unique_lock<std::mutex> g(m_);
    c_.wait(g, [&] { return !q_.empty(); });
    T v = q_.front();
    q_.pop_front();
    return v;
  }

 private:
  std::mutex m_;
  std::condition_variable c_;
  std::deque<T> q_;
};

struct Frame {
  uint32_t* pixels;  // pinned
  int index;
};

class Archiver {
 public:
  Archiver(int frames, size_t pixels, const char* path) : pixels_(pixels), file_(std::fopen(path, "wb")) {
    for (int i = 0; i < frames; ++i) {
      Frame* f = new Frame{nullptr, -1};
      CUDA_TRY(cudaMallocHost(&f->pixels, pixels * sizeof(uint32_t)));
      all_.push_back(f);
      idle_.push(f);
    }
    writer_ = std::thread([this] { write_loop(); });
  }
  ~Archiver() {
    full_.push(nullptr);
    writer_.join();
    for (Frame* f : all_) {
      cudaFreeHost(f->pixels);
      delete f;
    }
    if (file_) std::fclose(file_);
  }

  // Copies `binned` out on `s`; the frame reaches the writer when the copy has run.
  void store(const uint32_t* binned, int index, cudaStream_t s) {
    Frame* f = idle_.pop();
    f->index = index;
    CUDA_TRY(cudaMemcpyAsync(f->pixels, binned, pixels_ * sizeof(uint32_t), cudaMemcpyDeviceToHost, s));
    CUDA_TRY(cudaLaunchHostFunc(s, &Archiver::landed, new Ticket{this, f}));
  }

 private:
  struct Ticket { Archiver* self; Frame* frame; };

  static void CUDART_CB landed(void* p) {
    Ticket* t = static_cast<Ticket*>(p);
    t->self->full_.push(t->frame);
    delete t;
  }

  void write_loop() {
    while (Frame* f = full_.pop()) {
      uint64_t sum = 0;
      for (size_t i = 0; i < pixels_; ++i) sum += f->pixels[i];
      if (file_) std::fwrite(f->pixels, sizeof(uint32_t), pixels_, file_);
      std::printf("frame %d flux %llu\n", f->index, static_cast<unsigned long long>(sum));
      idle_.push(f);
    }
  }

  size_t pixels_;
  std::FILE* file_;
  std::vector<Frame*> all_;
  BlockingQueue<Frame*> idle_, full_;
  std::thread writer_;
};

int main(int argc, char** argv) {
  const int w = 4096, h = 4096, n = 40;
  uint16_t* sky = nullptr;
  uint32_t* binned = nullptr;
  cudaStream_t s;
  CUDA_TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CUDA_TRY(cudaMalloc(&sky, sizeof(uint16_t) * w * h));
  CUDA_TRY(cudaMalloc(&binned, sizeof(uint32_t) * w * h / 4));
  {
    Archiver archive(4, size_t(w) * h / 4, argc > 1 ? argv[1] : "frames.raw");
    for (int k = 0; k < n; ++k) {
      CUDA_TRY(cudaMemsetAsync(sky, k + 1, sizeof(uint16_t) * w * h, s));
      bin2x2<<<dim3(w / 2 / 128, h / 2), 128, 0, s>>>(sky, binned, w, h);
      CUDA_TRY(cudaGetLastError());
      archive.store(binned, k, s);
    }
    CUDA_TRY(cudaStreamSynchronize(s));
  }
  cudaFree(binned);
  cudaFree(sky);
  cudaStreamDestroy(s);
}
