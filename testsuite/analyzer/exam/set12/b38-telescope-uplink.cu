// Radio telescope back end: channelised power spectra are streamed to the archive as soon as they are on the
// host.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(x)                                                                   \
  do {                                                                           \
    const cudaError_t try_rc = (x);                                              \
    if (try_rc != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(try_rc));          \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int kChannels = 4096;
constexpr int kIntegrations = 256;
constexpr int kDepth = 4;

__global__ void detect(const short2* voltages, float* power) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= kChannels) return;
  float acc = 0.f;
  for (int t = 0; t < kIntegrations; ++t) {
    short2 v = voltages[t * kChannels + c];
    acc += float(v.x) * v.x + float(v.y) * v.y;
  }
  power[c] = acc / kIntegrations;
}

__global__ void flatten_bandpass(float* power) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < kChannels) power[c] *= 1.f + 0.2f * (c - kChannels / 2) * (c - kChannels / 2) / float(kChannels * kChannels);
}

struct Packet {
  std::uint64_t sequence;
  int fd;
  float* spectrum;  // page-locked
};

void CUDART_CB send_packet(void* arg) {
  auto* p = static_cast<Packet*>(arg);
  ssize_t done = ::write(p->fd, &p->sequence, sizeof p->sequence);
  done += ::write(p->fd, p->spectrum, kChannels * sizeof(float));
  if (done < 0) std::perror("archive");
}

class Uplink {
 public:
  explicit Uplink(int fd) {
    TRY(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&download_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      TRY(cudaMalloc(&s.voltages, sizeof(short2) * kChannels * kIntegrations));
      TRY(cudaMalloc(&s.power, sizeof(float) * kChannels));
      TRY(cudaMallocHost(&s.packet.spectrum, sizeof(float) * kChannels));
      TRY(cudaEventCreateWithFlags(&s.detected, cudaEventDisableTiming));
      TRY(cudaEventCreateWithFlags(&s.sent, cudaEventDisableTiming));
      s.packet.fd = fd;
    }
  }
  ~Uplink() {
    TRY(cudaStreamSynchronize(compute_));
    TRY(cudaStreamSynchronize(download_));
    for (Slot& s : slots_) {
      cudaEventDestroy(s.sent);
      cudaEventDestroy(s.detected);
      cudaFreeHost(s.packet.spectrum);
      cudaFree(s.power);
      cudaFree(s.voltages);
    }
    cudaStreamDestroy(download_);
    cudaStreamDestroy(compute_);
  }
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  void push(const short2* pinned_voltages) {
    Slot& s = slots_[sequence_ % kDepth];
    TRY(cudaEventSynchronize(s.sent));
    s.packet.sequence = sequence_++;

    TRY(cudaMemcpyAsync(s.voltages, pinned_voltages, sizeof(short2) * kChannels * kIntegrations, cudaMemcpyHostToDevice, compute_));
    detect<<<kChannels / 128, 128, 0, compute_>>>(s.voltages, s.power);
    flatten_bandpass<<<kChannels / 128, 128, 0, compute_>>>(s.power);
    TRY(cudaEventRecord(s.detected, compute_));

    fetch(s);
    archive(s, compute_);
  }

 private:
  struct Slot {
    short2* voltages = nullptr;
    float* power = nullptr;
    cudaEvent_t detected = nullptr;
    cudaEvent_t sent = nullptr;
    Packet packet{};
  };

  void fetch(Slot& s) {
    TRY(cudaStreamWaitEvent(download_, s.detected, 0));
    TRY(cudaMemcpyAsync(s.packet.spectrum, s.power, sizeof(float) * kChannels, cudaMemcpyDeviceToHost, download_));
  }

  void archive(Slot& s, cudaStream_t stream) {
    TRY(cudaLaunchHostFunc(stream, send_packet, &s.packet));
    TRY(cudaEventRecord(s.sent, stream));
  }

  cudaStream_t compute_ = nullptr, download_ = nullptr;
  Slot slots_[kDepth];
  std::uint64_t sequence_ = 0;
};

int main() {
  constexpr int kPackets = 64;
  short2* voltages = nullptr;
  const std::size_t samples = std::size_t(kChannels) * kIntegrations;
  TRY(cudaMallocHost(&voltages, samples * sizeof(short2) * kPackets));
  for (std::size_t i = 0; i < samples * kPackets; ++i) voltages[i] = make_short2(short(i % 127), short(i % 89));
  {
    Uplink uplink(STDOUT_FILENO);
    for (int p = 0; p < kPackets; ++p) uplink.push(voltages + p * samples);
  }
  TRY(cudaFreeHost(voltages));
  return 0;
}
