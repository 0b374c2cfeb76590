/* Pulsar back-end: detected power is written to disk by a thread, slots are announced by the stream. */
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

constexpr int kSlots = 4;
constexpr int kChannels = 4096;
constexpr int kSpectra = 512;
constexpr size_t kBlock = size_t(kChannels) * kSpectra;

void die_if(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::_Exit(1);
}

enum class State { Free, Queued, Full };

struct Recorder;

struct Slot {
  Recorder* owner = nullptr;
  float* host = nullptr;
  State state = State::Free;
};

struct Recorder {
  Slot slot[kSlots];
  std::mutex mu;
  std::condition_variable changed;
  bool closing = false;
  std::thread writer;
  FILE* file = nullptr;
};

void CUDART_CB announce(void* arg) {
  Slot* s = static_cast<Slot*>(arg);
  std::lock_guard<std::mutex> lk(s->owner->mu);
  s->state = State::Full;
  s->owner->changed.notify_all();
}

void write_loop(Recorder* r) {
  for (int next = 0;; next = (next + 1) % kSlots) {
    Slot& s = r->slot[next];
    {
      std::unique_lock<std::mutex> lk(r->mu);
      r->changed.wait(lk, [&] { return s.state == State::Full || (r->closing && s.state == State::Free); });
      if (s.state == State::Free) return;
    }
    std::fwrite(s.host, sizeof(float), kBlock, r->file);
    std::lock_guard<std::mutex> lk(r->mu);
    s.state = State::Free;
    r->changed.notify_all();
  }
}

void recorder_open(Recorder& r, const char* path) {
  r.file = std::fopen(path, "wb");
  if (!r.file) std::_Exit(2);
  for (Slot& s : r.slot) {
    s.owner = &r;
    die_if(cudaMallocHost(&s.host, kBlock * sizeof(float)), "slot");
  }
  r.writer = std::thread(write_loop, &r);
}

Slot& recorder_claim(Recorder& r, int block) {
  Slot& s = r.slot[block % kSlots];
  std::unique_lock<std::mutex> lk(r.mu);
  r.changed.wait(lk, [&] { return s.state == State::Free; });
  s.state = State::Queued;
  return s;
}

void recorder_push(Slot& s, const float* dev, cudaStream_t stream) {
  die_if(cudaMemcpyAsync(s.host, dev, kBlock * sizeof(float), cudaMemcpyDeviceToHost, stream), "copy");
  die_if(cudaLaunchHostFunc(stream, announce, &s), "announce");
}

void recorder_close(Recorder& r) {
  {
    std::lock_guard<std::mutex> lk(r.mu);
    r.closing = true;
  }
  r.changed.notify_all();
  r.writer.join();
  std::fclose(r.file);
  for (Slot& s : r.slot) die_if(cudaFreeHost(s.host), "slot");
}

__global__ void detect(float* power, size_t n, unsigned seed) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  unsigned x = unsigned(i) * 2654435761u + seed;
  float re = float(x & 0xffff) - 32768.f, im = float(x >> 16) - 32768.f;
  power[i] = re * re + im * im;
}

void observe(Recorder& r, int blocks) {
  cudaStream_t stream;
  float* power;
  die_if(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  die_if(cudaMalloc(&power, kBlock * sizeof(float)), "power");
  for (int b = 0; b < blocks; ++b) {
    detect<<<unsigned((kBlock + 255) / 256), 256, 0, stream>>>(power, kBlock, unsigned(b));
    Slot& s = recorder_claim(r, b);
    recorder_push(s, power, stream);
  }
  die_if(cudaStreamSynchronize(stream), "observe");
  die_if(cudaFree(power), "power");
  die_if(cudaStreamDestroy(stream), "stream");
}

}  // namespace

int main(int argc, char** argv) {
  Recorder r;
  recorder_open(r, argc > 1 ? argv[1] : "pulsar.fil");
  observe(r, 100);
  recorder_close(r);
}
