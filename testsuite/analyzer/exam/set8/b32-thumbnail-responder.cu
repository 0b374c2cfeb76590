// Thumbnail service: the decoder thread enqueues work on the GPU, the responder thread sends finished thumbnails.
// Slots travel between the two through a small queue.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

void must(cudaError_t rc) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "cuda error: %s\n", cudaGetErrorString(rc));
    std::exit(1);
  }
}

constexpr int kSize = 512;
constexpr int kThumb = 128;

struct Slot;

class SlotQueue {
 public:
  void push(Slot* s) {
    {
      std::lock_guard<std::mutex> lock(m_);
      q_.push_back(s);
    }
    cv_.notify_one();
  }
  Slot* pop() {
    std::unique_lock<std::mutex> lock(m_);
    cv_.wait(lock, [&] { return !q_.empty(); });
    Slot* s = q_.front();
    q_.pop_front();
    return s;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<Slot*> q_;
};

struct Slot {
  int id = 0;
  uint8_t* image = nullptr;
  uint8_t* thumb = nullptr;
  uint8_t* reply = nullptr;  // page-locked
  cudaEvent_t scaled = nullptr;
  SlotQueue* done = nullptr;
};

__global__ void synthesise(uint8_t* image, int id) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  image[y * kSize + x] = static_cast<uint8_t>((x * id) ^ y);
}

__global__ void downscale(const uint8_t* image, uint8_t* thumb) {
  int x = threadIdx.x, y = blockIdx.x;
  const int f = kSize / kThumb;
  unsigned sum = 0;
  for (int j = 0; j < f; ++j)
    for (int i = 0; i < f; ++i) sum += image[(y * f + j) * kSize + x * f + i];
  thumb[y * kThumb + x] = static_cast<uint8_t>(sum / (f * f));
}

void CUDART_CB on_finished(void* user) {
  Slot* slot = static_cast<Slot*>(user);
  slot->done->push(slot);
}

class Decoder {
 public:
  explicit Decoder(int slots) {
    must(cudaStreamCreateWithFlags(&decode_, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&egress_, cudaStreamNonBlocking));
    for (int i = 0; i < slots; ++i) {
      auto s = std::make_unique<Slot>();
      must(cudaMalloc(&s->image, kSize * kSize));
      must(cudaMalloc(&s->thumb, kThumb * kThumb));
      must(cudaMallocHost(&s->reply, kThumb * kThumb));
      must(cudaEventCreateWithFlags(&s->scaled, cudaEventDisableTiming));
      s->done = &finished_;
      idle_.push(s.get());
      slots_.push_back(std::move(s));
    }
  }
  ~Decoder() {
    must(cudaStreamSynchronize(egress_));
    must(cudaStreamSynchronize(decode_));
    for (auto& s : slots_) {
      cudaEventDestroy(s->scaled);
      cudaFreeHost(s->reply);
      cudaFree(s->thumb);
      cudaFree(s->image);
    }
    cudaStreamDestroy(egress_);
    cudaStreamDestroy(decode_);
  }

  void submit(int id) {
    Slot* s = idle_.pop();
    s->id = id;
    synthesise<<<dim3(kSize / 128, kSize), 128, 0, decode_>>>(s->image, id);
    downscale<<<kThumb, kThumb, 0, decode_>>>(s->image, s->thumb);
    must(cudaGetLastError());
    must(cudaEventRecord(s->scaled, decode_));
    send_back(s);
    must(cudaLaunchHostFunc(decode_, on_finished, s));
  }

  Slot* next_finished() { return finished_.pop(); }
  void recycle(Slot* s) { idle_.push(s); }

 private:
  void send_back(Slot* s) {
    must(cudaStreamWaitEvent(egress_, s->scaled, 0));
    must(cudaMemcpyAsync(s->reply, s->thumb, kThumb * kThumb, cudaMemcpyDeviceToHost, egress_));
  }

  cudaStream_t decode_ = nullptr;
  cudaStream_t egress_ = nullptr;
  SlotQueue idle_;
  SlotQueue finished_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

void respond(Decoder& decoder, int count) {
  for (int i = 0; i < count; ++i) {
    Slot* s = decoder.next_finished();
    unsigned crc = 0;
    for (int k = 0; k < kThumb * kThumb; ++k) crc = crc * 31 + s->reply[k];
    std::printf("image %d: %08x\n", s->id, crc);
    decoder.recycle(s);
  }
}

}  // namespace

int main() {
  const int images = 100;
  Decoder decoder(4);
  std::thread responder([&] { respond(decoder, images); });
  for (int id = 0; id < images; ++id) decoder.submit(id);
  responder.join();
  return 0;
}
