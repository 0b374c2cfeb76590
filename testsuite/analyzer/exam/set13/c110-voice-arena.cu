// Voices of a sampler borrow buffers from an arena with one bin per stream. Streams come and go
// with the notes; an event per bin keeps the order when a buffer changes its stream.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#define SND(x)                                                                   \
  do {                                                                           \
    if (cudaError_t e_ = (x); e_ != cudaSuccess) {                               \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));              \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

class VoiceArena {
 public:
  VoiceArena(int frames, int buffers) {
    SND(cudaMalloc(&slab_, sizeof(float) * frames * buffers));
    for (int i = 0; i < buffers; ++i) fresh_.push_back(slab_ + static_cast<size_t>(i) * frames);
  }
  ~VoiceArena() {
    cudaDeviceSynchronize();
    for (auto& o : orphans_) cudaEventDestroy(o.done);
    for (auto& b : bins_) cudaEventDestroy(b.second.done);
    cudaFree(slab_);
  }
  VoiceArena(const VoiceArena&) = delete;
  VoiceArena& operator=(const VoiceArena&) = delete;

  float* take(cudaStream_t s) {
    Bin& mine = bin(s);
    if (float* p = pop(mine.free)) return p;
    if (float* p = pop(fresh_)) return p;
    while (!orphans_.empty()) {
      Bin o = std::move(orphans_.back());
      orphans_.pop_back();
      merge(s, mine, o);
      SND(cudaEventDestroy(o.done));
      if (float* p = pop(mine.free)) return p;
    }
    for (auto& [other, b] : bins_) {
      if (other == s || b.free.empty()) continue;
      merge(s, mine, b);
      return pop(mine.free);
    }
    return nullptr;
  }

  void give(float* p, cudaStream_t s) {
    Bin& mine = bin(s);
    mine.free.push_back(p);
    SND(cudaEventRecord(mine.done, s));
  }

  // s is about to be destroyed, possibly with work pending.
  void forget(cudaStream_t s) {
    auto it = bins_.find(s);
    if (it == bins_.end()) return;
    SND(cudaEventRecord(it->second.done, s));
    orphans_.push_back(std::move(it->second));
    bins_.erase(it);
  }

 private:
  struct Bin {
    cudaEvent_t done{};
    std::vector<float*> free;
  };

  static float* pop(std::vector<float*>& v) {
    if (v.empty()) return nullptr;
    float* p = v.back();
    v.pop_back();
    return p;
  }

  Bin& bin(cudaStream_t s) {
    auto [it, added] = bins_.try_emplace(s);
    if (added) SND(cudaEventCreateWithFlags(&it->second.done, cudaEventDisableTiming));
    return it->second;
  }

  void merge(cudaStream_t s, Bin& mine, Bin& from) {
    SND(cudaStreamWaitEvent(s, from.done, 0));
    SND(cudaEventRecord(mine.done, s));
    mine.free.insert(mine.free.end(), from.free.begin(), from.free.end());
    from.free.clear();
  }

  float* slab_ = nullptr;
  std::vector<float*> fresh_;
  std::map<cudaStream_t, Bin> bins_;
  std::vector<Bin> orphans_;
};

__global__ void oscillate(float* v, int n, float w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = __sinf(w * i);
}

__global__ void mix_in(float* bus, const float* v, int n, float gain) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bus[i], gain * v[i]);
}

class Note {
 public:
  Note(VoiceArena& arena, float* bus, int frames, cudaEvent_t bus_clear)
      : arena_(arena), bus_(bus), n_(frames) {
    SND(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SND(cudaStreamWaitEvent(stream_, bus_clear, 0));
  }
  ~Note() {
    arena_.forget(stream_);
    cudaStreamDestroy(stream_);
  }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  bool play(float pitch, int partials) {
    for (int p = 1; p <= partials; ++p) {
      float* v = arena_.take(stream_);
      if (!v) return false;
      oscillate<<<(n_ + 127) / 128, 128, 0, stream_>>>(v, n_, pitch * p);
      mix_in<<<(n_ + 127) / 128, 128, 0, stream_>>>(bus_, v, n_, 1.f / p);
      arena_.give(v, stream_);
    }
    return true;
  }

 private:
  VoiceArena& arena_;
  float* bus_;
  int n_;
  cudaStream_t stream_{};
};

int main() {
  constexpr int kFrames = 48000;
  float* bus = nullptr;
  cudaEvent_t clear{};
  cudaStream_t setup{};
  SND(cudaMalloc(&bus, kFrames * sizeof(float)));
  SND(cudaStreamCreateWithFlags(&setup, cudaStreamNonBlocking));
  SND(cudaEventCreateWithFlags(&clear, cudaEventDisableTiming));
  SND(cudaMemsetAsync(bus, 0, kFrames * sizeof(float), setup));
  SND(cudaEventRecord(clear, setup));
  {
    VoiceArena arena(kFrames, 6);
    for (int bar = 0; bar < 32; ++bar) {
      Note root(arena, bus, kFrames, clear), third(arena, bus, kFrames, clear);
      if (!root.play(0.01f + 0.001f * bar, 8) || !third.play(0.0125f + 0.001f * bar, 5))
        std::puts("out of voices");
    }
    SND(cudaDeviceSynchronize());
  }
  float first = 0.f;
  SND(cudaMemcpy(&first, bus + 100, sizeof first, cudaMemcpyDeviceToHost));
  std::printf("%f\n", first);
  SND(cudaEventDestroy(clear));
  SND(cudaStreamDestroy(setup));
  SND(cudaFree(bus));
  return 0;
}
