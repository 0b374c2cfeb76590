// Seed-and-extend alignment of short reads.  Both phases are recorded as graphs: batch k is extended while
// batch k+1 is being seeded.
#include <cuda_runtime.h>

#include <cassert>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

static void cuda_check(cudaError_t rc, int line) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
  std::exit(1);
}
#define CHECK(x) cuda_check((x), __LINE__)

constexpr int kReads = 1 << 14;
constexpr int kReadLength = 128;
constexpr int kSeeds = kReadLength - 15;
constexpr int kReference = 1 << 22;

struct Hit {
  int position;
  int score;
};

__global__ void hash_seeds(const char* reads, unsigned* hashes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kReads * kSeeds) return;
  const char* s = reads + (i / kSeeds) * kReadLength + i % kSeeds;
  unsigned h = 2166136261u;
  for (int k = 0; k < 16; ++k) h = (h ^ static_cast<unsigned char>(s[k])) * 16777619u;
  hashes[i] = h;
}

__global__ void vote(const unsigned* hashes, int* candidates) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= kReads) return;
  unsigned best = ~0u;
  for (int s = 0; s < kSeeds; ++s) best = min(best, hashes[r * kSeeds + s]);
  candidates[r] = best % (kReference - kReadLength);
}

__global__ void score_band(const char* reads, const int* candidates, const char* reference, int* band) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kReads * 32) return;
  int r = i / 32;
  int offset = i % 32;
  int score = 0;
  for (int k = 0; k < kReadLength - 32; ++k)
    score += reads[r * kReadLength + k] == reference[candidates[r] + k + offset] ? 1 : -1;
  band[i] = score;
}

__global__ void best_of_band(const int* band, const int* candidates, Hit* hits) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= kReads) return;
  Hit h{candidates[r], band[r * 32]};
  for (int o = 1; o < 32; ++o)
    if (band[r * 32 + o] > h.score) h = Hit{candidates[r] + o, band[r * 32 + o]};
  hits[r] = h;
}

// Linear allocator for the temporaries of the recorded phases.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : size_(bytes) { CHECK(cudaMalloc(&base_, bytes)); }
  ~Arena() { CHECK(cudaFree(base_)); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <typename T>
  T* take(std::size_t n) {
    std::size_t bytes = (n * sizeof(T) + 255) / 256 * 256;
    assert(used_ + bytes <= size_);
    T* p = reinterpret_cast<T*>(base_ + used_);
    used_ += bytes;
    return p;
  }
  void rewind() { used_ = 0; }

 private:
  char* base_ = nullptr;
  std::size_t size_;
  std::size_t used_ = 0;
};

class Aligner {
 public:
  Aligner() : arena_(std::size_t(kReads) * kSeeds * sizeof(unsigned) + std::size_t(kReads) * 32 * sizeof(int) + 4096) {
    CHECK(cudaStreamCreateWithFlags(&seeding_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&extending_, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&reference_, kReference));
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaMalloc(&reads_[i], kReads * kReadLength));
      CHECK(cudaMalloc(&candidates_[i], kReads * sizeof(int)));
      CHECK(cudaMalloc(&hits_[i], kReads * sizeof(Hit)));
      CHECK(cudaEventCreateWithFlags(&seeded_[i], cudaEventDisableTiming));
      CHECK(cudaEventCreateWithFlags(&extended_[i], cudaEventDisableTiming));
    }
    for (int i = 0; i < 2; ++i) {
      arena_.rewind();
      record_seeding(i);
      arena_.rewind();
      record_extension(i);
    }
  }
  ~Aligner() {
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; ++i) {
      cudaGraphExecDestroy(seed_[i]);
      cudaGraphExecDestroy(extend_[i]);
      cudaEventDestroy(seeded_[i]);
      cudaEventDestroy(extended_[i]);
      cudaFree(hits_[i]);
      cudaFree(candidates_[i]);
      cudaFree(reads_[i]);
    }
    cudaFree(reference_);
    cudaStreamDestroy(extending_);
    cudaStreamDestroy(seeding_);
  }

  void set_reference(const char* pinned) {
    CHECK(cudaMemcpyAsync(reference_, pinned, kReference, cudaMemcpyHostToDevice, extending_));
  }

  void submit(const char* pinned_reads, Hit* pinned_hits) {
    int slot = batch_++ % 2;
    CHECK(cudaStreamWaitEvent(seeding_, extended_[slot], 0));
    CHECK(cudaMemcpyAsync(reads_[slot], pinned_reads, kReads * kReadLength, cudaMemcpyHostToDevice, seeding_));
    CHECK(cudaGraphLaunch(seed_[slot], seeding_));
    CHECK(cudaEventRecord(seeded_[slot], seeding_));

    CHECK(cudaStreamWaitEvent(extending_, seeded_[slot], 0));
    CHECK(cudaGraphLaunch(extend_[slot], extending_));
    CHECK(cudaMemcpyAsync(pinned_hits, hits_[slot], kReads * sizeof(Hit), cudaMemcpyDeviceToHost, extending_));
    CHECK(cudaEventRecord(extended_[slot], extending_));
  }

  void finish() { CHECK(cudaStreamSynchronize(extending_)); }

 private:
  void record_seeding(int i) {
    auto* hashes = arena_.take<unsigned>(std::size_t(kReads) * kSeeds);
    CHECK(cudaStreamBeginCapture(seeding_, cudaStreamCaptureModeThreadLocal));
    hash_seeds<<<(kReads * kSeeds + 255) / 256, 256, 0, seeding_>>>(reads_[i], hashes);
    vote<<<kReads / 256, 256, 0, seeding_>>>(hashes, candidates_[i]);
    seed_[i] = finish_recording(seeding_);
  }

  void record_extension(int i) {
    auto* band = arena_.take<int>(std::size_t(kReads) * 32);
    CHECK(cudaStreamBeginCapture(extending_, cudaStreamCaptureModeThreadLocal));
    score_band<<<kReads * 32 / 256, 256, 0, extending_>>>(reads_[i], candidates_[i], reference_, band);
    best_of_band<<<kReads / 256, 256, 0, extending_>>>(band, candidates_[i], hits_[i]);
    extend_[i] = finish_recording(extending_);
  }

  static cudaGraphExec_t finish_recording(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
  }

  Arena arena_;
  cudaStream_t seeding_ = nullptr, extending_ = nullptr;
  cudaGraphExec_t seed_[2] = {}, extend_[2] = {};
  cudaEvent_t seeded_[2] = {}, extended_[2] = {};
  char* reads_[2] = {};
  int* candidates_[2] = {};
  Hit* hits_[2] = {};
  char* reference_ = nullptr;
  int batch_ = 0;
};

int main() {
  constexpr int kBatches = 16;
  char *reference = nullptr, *reads = nullptr;
  Hit* hits = nullptr;
  CHECK(cudaMallocHost(&reference, kReference));
  CHECK(cudaMallocHost(&reads, std::size_t(kBatches) * kReads * kReadLength));
  CHECK(cudaMallocHost(&hits, std::size_t(kBatches) * kReads * sizeof(Hit)));
  for (int i = 0; i < kReference; ++i) reference[i] = "ACGT"[(i * 7 + i / 11) % 4];
  for (std::size_t i = 0; i < std::size_t(kBatches) * kReads * kReadLength; ++i) reads[i] = reference[(i * 5) % kReference];
  {
    Aligner aligner;
    aligner.set_reference(reference);
    for (int b = 0; b < kBatches; ++b)
      aligner.submit(reads + std::size_t(b) * kReads * kReadLength, hits + std::size_t(b) * kReads);
    aligner.finish();
  }
  long total = 0;
  for (int i = 0; i < kBatches * kReads; ++i) total += hits[i].score;
  std::printf("mean score %.2f\n", double(total) / (kBatches * kReads));
  CHECK(cudaFreeHost(hits));
  CHECK(cudaFreeHost(reads));
  CHECK(cudaFreeHost(reference));
}
