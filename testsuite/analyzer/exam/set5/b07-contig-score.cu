#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(x)                                                         \
  if (cudaError_t err = (x); err != cudaSuccess) {                       \
    std::fprintf(stderr, "%s (%d)\n", cudaGetErrorString(err), __LINE__); \
    std::exit(1);                                                        \
  }

using Base = unsigned char;

struct Contig {
  const Base* seq;  // device
  int length;
};

struct Scoring {
  int match = 2, mismatch = -3;
};

__global__ void profile_kernel(const Base* contig, int len, Scoring sc, short* profile) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= len) return;
  for (int b = 0; b < 4; ++b) profile[b * len + i] = contig[i] == b ? sc.match : sc.mismatch;
}

__global__ void extend_kernel(const short* profile, int len, const Base* reads, int read_len, int n_reads, int* best) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n_reads) return;
  const Base* q = reads + r * read_len;
  int top = 0;
  for (int off = 0; off + read_len <= len; off += 7) {
    int run = 0;
    for (int k = 0; k < read_len; ++k) {
      run = max(0, run + profile[q[k] * len + off + k]);
      top = max(top, run);
    }
  }
  best[r] = top;
}

struct Lanes {
  explicit Lanes(int n) : s(n) {
    for (auto& x : s) CHECK(cudaStreamCreateWithFlags(&x, cudaStreamNonBlocking));
  }
  ~Lanes() {
    for (auto x : s) cudaStreamDestroy(x);
  }
  cudaStream_t at(size_t i) const { return s[i % s.size()]; }
  void drain() const {
    for (auto x : s) CHECK(cudaStreamSynchronize(x));
  }
  std::vector<cudaStream_t> s;
};

class ReadMapper {
 public:
  ReadMapper(const Base* reads, int n_reads, int read_len, int max_contig)
      : reads_(reads), n_reads_(n_reads), read_len_(read_len), lanes_(4) {
    CHECK(cudaMalloc(&profile_, sizeof(short) * 4 * max_contig));
  }
  ~ReadMapper() {
    lanes_.drain();
    cudaFree(profile_);
  }

  // best: device array, contigs.size() x n_reads
  void map(const std::vector<Contig>& contigs, int* best) {
    for (size_t i = 0; i < contigs.size(); ++i) {
      cudaStream_t lane = lanes_.at(i);
      prepare(contigs[i], lane);
      score(contigs[i], best + i * n_reads_, lane);
    }
    lanes_.drain();
  }

 private:
  void prepare(const Contig& c, cudaStream_t lane) {
    profile_kernel<<<(c.length + 255) / 256, 256, 0, lane>>>(c.seq, c.length, scoring_, profile_);
    CHECK(cudaGetLastError());
  }
  void score(const Contig& c, int* best, cudaStream_t lane) {
    extend_kernel<<<(n_reads_ + 127) / 128, 128, 0, lane>>>(profile_, c.length, reads_, read_len_, n_reads_, best);
    CHECK(cudaGetLastError());
  }

  const Base* reads_;
  int n_reads_, read_len_;
  Scoring scoring_;
  Lanes lanes_;
  short* profile_ = nullptr;
};

static Base* upload(const std::string& bases) {
  Base* d = nullptr;
  CHECK(cudaMalloc(&d, bases.size()));
  CHECK(cudaMemcpy(d, bases.data(), bases.size(), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  return d;
}

int main() {
  const int n_reads = 4096, read_len = 100, n_contigs = 40, len = 30000;
  Base* reads = upload(std::string(n_reads * read_len, '\1'));
  std::vector<Contig> contigs;
  for (int i = 0; i < n_contigs; ++i) contigs.push_back({upload(std::string(len - i * 16, char(i & 3))), len - i * 16});
  int* best = nullptr;
  CHECK(cudaMalloc(&best, sizeof(int) * n_reads * n_contigs));
  ReadMapper mapper(reads, n_reads, read_len, len);
  mapper.map(contigs, best);
  std::vector<int> host(n_reads * n_contigs);
  CHECK(cudaMemcpy(host.data(), best, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("top score %d\n", *std::max_element(host.begin(), host.end()));
  for (auto& c : contigs) cudaFree(const_cast<Base*>(c.seq));
  cudaFree(best);
  cudaFree(reads);
}
