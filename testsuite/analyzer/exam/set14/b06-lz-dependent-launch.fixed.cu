// GPU LZ-style compressor: match finding, offsets, and encoding as a chain of
// small kernels with programmatic dependent launch between them.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LZ_CHECK(x)                                                    \
  do {                                                                 \
    cudaError_t e = (x);                                               \
    if (e != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e));   \
      std::abort();                                                    \
    }                                                                  \
  } while (0)

namespace lz {

__device__ __forceinline__ void waitForPrimary() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void launchDependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

struct ChunkHeader {
  uint32_t literals;
  uint32_t matches;
};

__global__ void findMatches(const uint8_t* in, uint32_t* lengths, ChunkHeader* headers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  launchDependents();
  if (i >= n) return;
  uint32_t len = 0;
  while (len < 32 && i + len < static_cast<uint32_t>(n) && i >= 64 && in[i + len] == in[i - 64 + len]) ++len;
  lengths[i] = len;
  if (threadIdx.x == 0) {
    headers[blockIdx.x].matches = len;
    headers[blockIdx.x].literals = blockDim.x - len;
  }
}

// Per-block view of a chunk; the header is small enough for registers.
class ChunkReader {
 public:
  __device__ ChunkReader(const ChunkHeader* headers, const uint32_t* lengths, int chunk)
      : header_(headers[chunk]), lengths_(lengths) {}
  __device__ uint32_t budget() const { return header_.literals + 2 * header_.matches; }
  __device__ uint32_t length(int i) const { return lengths_[i]; }

 private:
  ChunkHeader header_;
  const uint32_t* lengths_;
};

__global__ void encode(const uint8_t* in, const uint32_t* lengths, const ChunkHeader* headers,
                       uint16_t* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  waitForPrimary();
  ChunkReader reader(headers, lengths, blockIdx.x);
  if (i >= n) return;
  uint32_t len = reader.length(i);
  uint16_t tag = len > 3 ? static_cast<uint16_t>(0x8000u | len) : in[i];
  out[i] = threadIdx.x < reader.budget() ? tag : in[i];
}

template <typename... Params, typename... Args>
void launchDependent(void (*kernel)(Params...), int grid, int block, cudaStream_t s,
                     Args&&... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(grid);
  cfg.blockDim = dim3(block);
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  LZ_CHECK(cudaLaunchKernelEx(&cfg, kernel, static_cast<Params>(args)...));
}

class Compressor {
 public:
  explicit Compressor(int n) : n_(n), blocks_((n + 255) / 256) {
    LZ_CHECK(cudaStreamCreate(&stream_));
    LZ_CHECK(cudaMalloc(reinterpret_cast<void**>(&in_), n));
    LZ_CHECK(cudaMalloc(reinterpret_cast<void**>(&lengths_), n * sizeof(uint32_t)));
    LZ_CHECK(cudaMalloc(reinterpret_cast<void**>(&headers_), blocks_ * sizeof(ChunkHeader)));
    LZ_CHECK(cudaMalloc(reinterpret_cast<void**>(&out_), n * sizeof(uint16_t)));
  }
  ~Compressor() {
    cudaStreamSynchronize(stream_);
    cudaFree(in_);
    cudaFree(lengths_);
    cudaFree(headers_);
    cudaFree(out_);
    cudaStreamDestroy(stream_);
  }

  std::vector<uint16_t> compress(const std::vector<uint8_t>& data) {
    LZ_CHECK(cudaMemcpyAsync(in_, data.data(), n_, cudaMemcpyHostToDevice, stream_));
    findMatches<<<blocks_, 256, 0, stream_>>>(in_, lengths_, headers_, n_);
    launchDependent(encode, blocks_, 256, stream_, in_, lengths_, headers_, out_, n_);
    std::vector<uint16_t> codes(n_);
    LZ_CHECK(cudaMemcpyAsync(codes.data(), out_, n_ * sizeof(uint16_t), cudaMemcpyDeviceToHost,
                             stream_));
    LZ_CHECK(cudaStreamSynchronize(stream_));
    return codes;
  }

 private:
  int n_;
  int blocks_;
  cudaStream_t stream_ = nullptr;
  uint8_t* in_ = nullptr;
  uint32_t* lengths_ = nullptr;
  ChunkHeader* headers_ = nullptr;
  uint16_t* out_ = nullptr;
};

}  // namespace lz

int main() {
  std::vector<uint8_t> text(1 << 20);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint8_t>("abracadabra"[i % 11]);
  lz::Compressor c(static_cast<int>(text.size()));
  auto codes = c.compress(text);
  std::printf("first code %04x\n", codes.empty() ? 0u : codes[0]);
  return 0;
}
