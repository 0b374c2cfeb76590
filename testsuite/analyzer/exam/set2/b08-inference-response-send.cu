// Backend for a forest model: scores rows and answers over a socket.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

struct TreeNode { int feature; float threshold; int left, right; float leaf; };

__global__ void score_rows(const TreeNode* nodes, const float* rows, int ncols, int nrows, float* out) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= nrows) return;
  int n = 0;
  while (nodes[n].feature >= 0)
    n = rows[r * ncols + nodes[n].feature] < nodes[n].threshold ? nodes[n].left : nodes[n].right;
  out[r] = nodes[n].leaf;
}

enum class Where { kHost, kDevice };

// Output of one request. Scores are computed on the device; `dest` says where
// the client wants them.
class OutputTensor {
 public:
  OutputTensor(int max_rows, cudaStream_t stream) : stream_(stream) {
    cudaMalloc(reinterpret_cast<void**>(&device_), max_rows * sizeof(float));
    cudaHostAlloc(reinterpret_cast<void**>(&reply_), max_rows * sizeof(float), cudaHostAllocDefault);
  }
  ~OutputTensor() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(reply_);
    cudaFree(device_);
  }
  float* device() { return device_; }
  const float* finalize(int nrows, Where dest) {
    if (dest == Where::kDevice) {
      cudaStreamSynchronize(stream_);
      return device_;
    }
    cudaMemcpyAsync(reply_, device_, nrows * sizeof(float), cudaMemcpyDeviceToHost, stream_);
    return reply_;
  }

 private:
  cudaStream_t stream_;
  float* device_ = nullptr;
  float* reply_ = nullptr;
};

static bool send_all(int fd, const void* data, size_t len) {
  const char* p = static_cast<const char*>(data);
  while (len > 0) {
    ssize_t k = ::send(fd, p, len, MSG_NOSIGNAL);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    p += k;
    len -= static_cast<size_t>(k);
  }
  return true;
}

class ForestInstance {
 public:
  ForestInstance(const TreeNode* nodes, int ncols, int max_rows)
      : nodes_(nodes), ncols_(ncols), stream_(make_stream()), output_(max_rows, stream_) {}
  ~ForestInstance() { cudaStreamSynchronize(stream_); }

  bool respond(int fd, const float* device_rows, int nrows) {
    score_rows<<<(nrows + 63) / 64, 64, 0, stream_>>>(nodes_, device_rows, ncols_, nrows, output_.device());
    if (cudaGetLastError() != cudaSuccess) return false;
    const float* scores = output_.finalize(nrows, Where::kHost);
    int header[2] = {nrows, static_cast<int>(sizeof(float))};
    if (!send_all(fd, header, sizeof(header))) return false;
    if (!send_all(fd, scores, nrows * sizeof(float))) {
      std::fprintf(stderr, "client went away: %s\n", std::strerror(errno));
      return false;
    }
    return true;
  }

 private:
  static cudaStream_t make_stream() {
    cudaStream_t s = nullptr;
    cudaStreamCreate(&s);
    return s;
  }
  const TreeNode* nodes_;
  int ncols_;
  cudaStream_t stream_;
  OutputTensor output_;
};
