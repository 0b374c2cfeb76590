// Offline stem mixer: every stem is decoded and filtered in its own lane, then summed.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace mix {

void require(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

__global__ void dequantise(const short* pcm, float* out, float gain, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = pcm[i] * gain * (1.f / 32768.f);
}

__global__ void high_shelf(float* x, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * x[i] + b * x[i] * x[i] * x[i];
}

__global__ void accumulate(float* bus, const float* stem, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bus[i] += stem[i];
}

struct Lane {
  cudaStream_t stream{};
  short* pcm = nullptr;
  float* samples = nullptr;
};

class StemMixer {
 public:
  StemMixer(int lanes, int block) : block_(block), lanes_(lanes) {
    for (Lane& l : lanes_) {
      require(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking), "lane stream");
      require(cudaMalloc(&l.pcm, block_ * sizeof(short)), "pcm");
      require(cudaMalloc(&l.samples, block_ * sizeof(float)), "samples");
    }
    require(cudaStreamCreateWithFlags(&bus_stream_, cudaStreamNonBlocking), "bus stream");
    require(cudaEventCreateWithFlags(&stem_done_, cudaEventDisableTiming), "event");
    require(cudaMalloc(&bus_, block_ * sizeof(float)), "bus");
  }

  ~StemMixer() {
    for (Lane& l : lanes_) cudaStreamSynchronize(l.stream);
    cudaStreamSynchronize(bus_stream_);
    for (Lane& l : lanes_) {
      cudaFree(l.samples);
      cudaFree(l.pcm);
      cudaStreamDestroy(l.stream);
    }
    cudaFree(bus_);
    cudaEventDestroy(stem_done_);
    cudaStreamDestroy(bus_stream_);
  }

  void render(const std::vector<const short*>& stems, float* out) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      process(lanes_[i], stems[i], 0.8f / lanes_.size());
      mark(lanes_[i]);
    }
    sum(out);
  }

 private:
  int grid() const { return (block_ + 127) / 128; }

  void process(Lane& l, const short* host, float gain) {
    require(cudaMemcpyAsync(l.pcm, host, block_ * sizeof(short), cudaMemcpyHostToDevice, l.stream),
            "upload");
    dequantise<<<grid(), 128, 0, l.stream>>>(l.pcm, l.samples, gain, block_);
    high_shelf<<<grid(), 128, 0, l.stream>>>(l.samples, 0.95f, 0.02f, block_);
  }

  void mark(const Lane& l) {
    require(cudaEventRecord(stem_done_, l.stream), "record");
    require(cudaStreamWaitEvent(bus_stream_, stem_done_, 0), "join");
  }

  void sum(float* out) {
    require(cudaMemsetAsync(bus_, 0, block_ * sizeof(float), bus_stream_), "clear");
    for (const Lane& l : lanes_)
      accumulate<<<grid(), 128, 0, bus_stream_>>>(bus_, l.samples, block_);
    require(cudaMemcpyAsync(out, bus_, block_ * sizeof(float), cudaMemcpyDeviceToHost, bus_stream_),
            "download");
    require(cudaStreamSynchronize(bus_stream_), "mix");
  }

  int block_;
  std::vector<Lane> lanes_;
  cudaStream_t bus_stream_{};
  cudaEvent_t stem_done_{};
  float* bus_ = nullptr;
};

}  // namespace mix

int main() {
  constexpr int kLanes = 6, kBlock = 1 << 18;
  std::vector<short*> pinned(kLanes);
  float* out = nullptr;
  for (short*& p : pinned) {
    mix::require(cudaMallocHost(&p, kBlock * sizeof(short)), "pinned");
    for (int i = 0; i < kBlock; ++i) p[i] = static_cast<short>((i * 37) & 0x3fff);
  }
  mix::require(cudaMallocHost(&out, kBlock * sizeof(float)), "pinned");
  {
    mix::StemMixer mixer(kLanes, kBlock);
    std::vector<const short*> stems(pinned.begin(), pinned.end());
    for (int block = 0; block < 8; ++block) {
      mixer.render(stems, out);
      std::printf("block %d: %f\n", block, out[kBlock / 2]);
    }
  }
  for (short* p : pinned) cudaFreeHost(p);
  cudaFreeHost(out);
  return 0;
}
