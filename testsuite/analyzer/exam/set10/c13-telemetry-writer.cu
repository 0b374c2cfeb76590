// Telemetry recorder of a test bench: a kernel quantises samples straight into mapped
// page-locked records, and a writer appends finished records to a log file.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <queue>
#include <vector>

#define TM_CHECK(call)                                                      \
  do {                                                                      \
    cudaError_t tm_rc = (call);                                             \
    if (tm_rc != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(tm_rc));   \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

namespace bench {

constexpr int kChannels = 64;
constexpr int kSamples = 1024;
constexpr std::size_t kRecordBytes = sizeof(std::int16_t) * kChannels * kSamples;

__global__ void quantise(const float* __restrict__ in, std::int16_t* __restrict__ record, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kChannels * kSamples)
    record[i] = static_cast<std::int16_t>(fminf(fmaxf(in[i] * scale, -32768.f), 32767.f));
}

struct Record {
  std::int16_t* host = nullptr;
  std::int16_t* device = nullptr;
  cudaEvent_t written = nullptr;

  Record() {
    TM_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&host), kRecordBytes, cudaHostAllocMapped));
    TM_CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
    TM_CHECK(cudaEventCreateWithFlags(&written, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  ~Record() {
    cudaEventSynchronize(written);
    cudaEventDestroy(written);
    cudaFreeHost(host);
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
};

class Recorder {
 public:
  Recorder(const char* path, int records) : file_(::open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644)) {
    if (file_ < 0) {
      std::perror(path);
      std::exit(1);
    }
    TM_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TM_CHECK(cudaMalloc(&samples_, sizeof(float) * kChannels * kSamples));
    TM_CHECK(cudaMallocHost(&staging_, sizeof(float) * kChannels * kSamples));
    TM_CHECK(cudaEventCreateWithFlags(&staged_, cudaEventDisableTiming));
    for (int i = 0; i < records; ++i) idle_.push_back(std::make_unique<Record>());
  }
  ~Recorder() {
    flush();
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(staged_);
    cudaFreeHost(staging_);
    cudaFree(samples_);
    cudaStreamDestroy(stream_);
    ::close(file_);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  template <typename Fill>
  void add(Fill&& fill, float scale) {
    TM_CHECK(cudaEventSynchronize(staged_));
    fill(staging_);
    TM_CHECK(cudaMemcpyAsync(samples_, staging_, sizeof(float) * kChannels * kSamples,
                             cudaMemcpyHostToDevice, stream_));
    TM_CHECK(cudaEventRecord(staged_, stream_));

    if (idle_.empty()) write_oldest();
    auto record = std::move(idle_.back());
    idle_.pop_back();
    quantise<<<kChannels * kSamples / 256, 256, 0, stream_>>>(samples_, record->device, scale);
    TM_CHECK(cudaGetLastError());
    TM_CHECK(cudaEventRecord(record->written, stream_));
    pending_.push(std::move(record));
  }

  void flush() {
    while (!pending_.empty()) write_oldest();
  }

 private:
  void write_oldest() {
    auto record = std::move(pending_.front());
    pending_.pop();
    TM_CHECK(cudaEventSynchronize(record->written));
    append(*record);
    idle_.push_back(std::move(record));
  }

  void append(const Record& r) {
    const char* p = reinterpret_cast<const char*>(r.host);
    std::size_t left = kRecordBytes;
    while (left > 0) {
      const ssize_t n = ::write(file_, p, left);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        std::perror("write");
        std::exit(1);
      }
      p += n;
      left -= static_cast<std::size_t>(n);
    }
  }

  int file_;
  cudaStream_t stream_ = nullptr;
  float* samples_ = nullptr;
  float* staging_ = nullptr;
  cudaEvent_t staged_ = nullptr;
  std::vector<std::unique_ptr<Record>> idle_;
  std::queue<std::unique_ptr<Record>> pending_;
};

}  // namespace bench

int main(int argc, char** argv) {
  bench::Recorder recorder(argc > 1 ? argv[1] : "bench.log", 4);
  for (int block = 0; block < 100; ++block) {
    recorder.add(
        [block](float* out) {
          for (int i = 0; i < bench::kChannels * bench::kSamples; ++i)
            out[i] = std::sin(0.001f * i * (1 + block % 7));
        },
        16000.f);
  }
  recorder.flush();
}
