// Radar video decoder with a ring of decoded frames. Users pull frames into their own memory on
// their own stream and give the slot back.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

namespace radar {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void verify(cudaError_t e) {
  if (e != cudaSuccess) throw Error(cudaGetErrorString(e));
}

struct FrameShape {
  int ranges = 0;
  int azimuths = 0;
  size_t count() const { return static_cast<size_t>(ranges) * azimuths; }
};

__global__ void expandRuns(const uint32_t* runs, const uint32_t* starts, float* frame, int ranges) {
  const uint32_t first = starts[blockIdx.x], last = starts[blockIdx.x + 1];
  int at = 0;
  for (uint32_t r = first; r < last; ++r) {
    const int length = runs[r] & 0xffff;
    const float value = (runs[r] >> 16) * (1.f / 65535.f);
    for (int i = at + threadIdx.x; i < at + length && i < ranges; i += blockDim.x)
      frame[static_cast<size_t>(blockIdx.x) * ranges + i] = value;
    at += length;
  }
}

__global__ void subtractClutter(float* frame, const float* clutter, size_t n) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) frame[i] = fmaxf(frame[i] - clutter[i], 0.f);
}

class Decoder {
 public:
  Decoder(FrameShape shape, int slots, const float* clutter) : shape_(shape), clutter_(clutter), slots_(slots) {
    verify(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (int i = 0; i < slots; ++i) {
      verify(cudaMalloc(&slots_[i].frame, shape.count() * sizeof(float)));
      verify(cudaEventCreateWithFlags(&slots_[i].decoded, cudaEventDisableTiming));
      free_.push_back(i);
    }
  }
  ~Decoder() {
    cudaDeviceSynchronize();
    for (Slot& s : slots_) {
      cudaFree(s.frame);
      cudaEventDestroy(s.decoded);
    }
    cudaStreamDestroy(stage_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool full() const { return free_.empty(); }
  FrameShape shape() const { return shape_; }

  // Queues one frame; returns its slot. `runs` and `starts` are resident on the device.
  int decode(const uint32_t* runs, const uint32_t* starts) {
    if (free_.empty()) throw Error("no free frame slot");
    const int id = free_.front();
    free_.pop_front();
    Slot& s = slots_[id];
    verify(cudaMemsetAsync(s.frame, 0, shape_.count() * sizeof(float), stage_));
    expandRuns<<<shape_.azimuths, 128, 0, stage_>>>(runs, starts, s.frame, shape_.ranges);
    const size_t n = shape_.count();
    subtractClutter<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stage_>>>(s.frame, clutter_, n);
    verify(cudaEventRecord(s.decoded, stage_));
    return id;
  }

  void copyTo(int id, float* dst, cudaStream_t user) {
    Slot& s = slots_.at(static_cast<size_t>(id));
    verify(cudaStreamWaitEvent(user, s.decoded, 0));
    verify(cudaMemcpyAsync(dst, s.frame, shape_.count() * sizeof(float), cudaMemcpyDeviceToDevice, user));
  }

  void release(int id) { free_.push_back(id); }

 private:
  struct Slot {
    float* frame = nullptr;
    cudaEvent_t decoded = nullptr;
  };

  FrameShape shape_;
  const float* clutter_;
  std::vector<Slot> slots_;
  std::deque<int> free_;
  cudaStream_t stage_ = nullptr;
};

struct Packet {
  const uint32_t* runs;
  const uint32_t* starts;
};

// Decodes a scan into `volume` (one frame after the other). Decoding runs ahead by the depth of the ring.
void decodeScan(Decoder& decoder, const std::vector<Packet>& packets, float* volume, cudaStream_t user) {
  std::deque<int> inFlight;
  size_t delivered = 0;
  auto deliver = [&] {
    const int id = inFlight.front();
    inFlight.pop_front();
    decoder.copyTo(id, volume + delivered * decoder.shape().count(), user);
    decoder.release(id);
    ++delivered;
  };
  for (const Packet& p : packets) {
    if (decoder.full()) deliver();
    inFlight.push_back(decoder.decode(p.runs, p.starts));
  }
  while (!inFlight.empty()) deliver();
}

}  // namespace radar
