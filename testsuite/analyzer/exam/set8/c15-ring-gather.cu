// All-gather over the GPUs of a machine as a ring of peer copies; every device passes on what it got in the step before.
// Runs with any number of devices, one included.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x)                                                                               \
  do {                                                                                      \
    cudaError_t rc_ = (x);                                                                  \
    if (rc_ != cudaSuccess) {                                                               \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));     \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

__global__ void produce(int* out, int n, int seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = seed * 1000003 + i;
}

__global__ void verify(const int* all, int n, int ranks, int round, int* errors) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * ranks) return;
  if (all[i] != (round * ranks + i / n) * 1000003 + i % n) atomicAdd(errors, 1);
}

struct Rank {
  int device = 0;
  cudaStream_t compute = nullptr;
  cudaStream_t link = nullptr;  // copies from this rank to its right neighbour
  int* all = nullptr;           // one chunk per rank
  int* errors = nullptr;
  cudaEvent_t filled = nullptr;    // own chunk written, whole buffer free for the incoming ones
  cudaEvent_t gathered = nullptr;  // last outgoing copy of this rank
  std::vector<cudaEvent_t> sent;   // per step
};

class Ring {
 public:
  Ring(int ranks, int chunk) : n_(chunk), ranks_(ranks) {
    for (int r = 0; r < ranks; ++r) {
      Rank& k = ranks_[r];
      k.device = r;
      CK(cudaSetDevice(r));
      CK(cudaStreamCreateWithFlags(&k.compute, cudaStreamNonBlocking));
      CK(cudaStreamCreateWithFlags(&k.link, cudaStreamNonBlocking));
      CK(cudaMalloc(&k.all, sizeof(int) * chunk * ranks));
      CK(cudaMalloc(&k.errors, sizeof(int)));
      CK(cudaMemsetAsync(k.errors, 0, sizeof(int), k.compute));
      CK(cudaEventCreateWithFlags(&k.filled, cudaEventDisableTiming));
      CK(cudaEventCreateWithFlags(&k.gathered, cudaEventDisableTiming));
      k.sent.resize(ranks);
      for (auto& e : k.sent) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    }
  }

  ~Ring() {
    for (Rank& k : ranks_) {
      CK(cudaSetDevice(k.device));
      CK(cudaDeviceSynchronize());
    }
    for (Rank& k : ranks_) {
      CK(cudaSetDevice(k.device));
      for (auto& e : k.sent) cudaEventDestroy(e);
      cudaEventDestroy(k.gathered);
      cudaEventDestroy(k.filled);
      cudaFree(k.errors);
      cudaFree(k.all);
      cudaStreamDestroy(k.link);
      cudaStreamDestroy(k.compute);
    }
  }

  void round(int number) {
    for (int r = 0; r < size(); ++r) fill(r, number);
    for (int step = 0; step + 1 < size(); ++step)
      for (int r = 0; r < size(); ++r) pass_on(r, step);
    for (int r = 0; r < size(); ++r) finish(r, number);
  }

  int errors() {
    int total = 0;
    for (Rank& k : ranks_) {
      int e = 0;
      CK(cudaSetDevice(k.device));
      CK(cudaMemcpyAsync(&e, k.errors, sizeof(int), cudaMemcpyDeviceToHost, k.compute));
      CK(cudaStreamSynchronize(k.compute));
      total += e;
    }
    return total;
  }

 private:
  int size() const { return static_cast<int>(ranks_.size()); }
  int left(int r) const { return (r + size() - 1) % size(); }
  int right(int r) const { return (r + 1) % size(); }
  int* chunk(Rank& k, int which) const { return k.all + static_cast<size_t>(which) * n_; }

  void fill(int r, int number) {
    Rank& k = ranks_[r];
    CK(cudaSetDevice(k.device));
    produce<<<(n_ + 255) / 256, 256, 0, k.compute>>>(chunk(k, r), n_, number * size() + r);
    CK(cudaGetLastError());
    CK(cudaEventRecord(k.filled, k.compute));
  }

  // In step s rank r sends the chunk that it got in step s - 1 (its own one in step 0).
  void pass_on(int r, int step) {
    Rank& k = ranks_[r];
    Rank& to = ranks_[right(r)];
    CK(cudaSetDevice(k.device));
    if (step == 0) {
      CK(cudaStreamWaitEvent(k.link, k.filled, 0));
      CK(cudaStreamWaitEvent(k.link, to.filled, 0));
    } else {
      CK(cudaStreamWaitEvent(k.link, ranks_[left(r)].sent[step - 1], 0));
    }
    int which = (r - step + size()) % size();
    CK(cudaMemcpyPeerAsync(chunk(to, which), to.device, chunk(k, which), k.device, sizeof(int) * n_, k.link));
    CK(cudaEventRecord(k.sent[step], k.link));
    if (step + 2 == size()) CK(cudaEventRecord(k.gathered, k.link));
  }

  // The next round may overwrite the buffer only behind the check and behind the copies in both directions.
  void finish(int r, int number) {
    Rank& k = ranks_[r];
    CK(cudaSetDevice(k.device));
    CK(cudaStreamWaitEvent(k.compute, ranks_[left(r)].gathered, 0));
    CK(cudaStreamWaitEvent(k.compute, k.gathered, 0));
    verify<<<(n_ * size() + 255) / 256, 256, 0, k.compute>>>(k.all, n_, size(), number, k.errors);
    CK(cudaGetLastError());
  }

  int n_;
  std::vector<Rank> ranks_;
};

int main() {
  int devices = 0;
  CK(cudaGetDeviceCount(&devices));
  Ring ring(devices, 1 << 20);
  for (int r = 0; r < 20; ++r) ring.round(r);
  std::printf("%d devices, %d errors\n", devices, ring.errors());
  return 0;
}
