// Two-way nested ocean model: the west and east halos are packed on streams
// of their own while the interior is advanced.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OCN_TRY(x)                                                            \
  do {                                                                        \
    const cudaError_t rc = (x);                                               \
    if (rc != cudaSuccess) {                                                  \
      std::fprintf(stderr, "ocean: %s (%d)\n", cudaGetErrorString(rc), __LINE__); \
      std::exit(2);                                                           \
    }                                                                         \
  } while (0)

struct Tile {
  int nx = 0;
  int ny = 0;
  float* eta = nullptr;
  float* west = nullptr;
  float* east = nullptr;
};

__global__ void packColumn(const float* eta, float* halo, int nx, int ny, int column, int passes) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= ny) return;
  float v = eta[j * nx + column];
  for (int p = 0; p < passes; ++p) v = 0.5f * (v + eta[j * nx + column]);
  halo[j] = v;
}

__global__ void advance(float* eta, const float* west, const float* east, int nx, int ny) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y;
  if (i >= nx) return;
  float l = i > 0 ? eta[j * nx + i] : west[j];
  float r = i + 1 < nx ? eta[j * nx + i] : east[j];
  eta[j * nx + i] = 0.25f * (l + r) + 0.5f * eta[j * nx + i];
}

class HaloExchange {
 public:
  HaloExchange() {
    OCN_TRY(cudaStreamCreateWithFlags(&west_, cudaStreamNonBlocking));
    OCN_TRY(cudaStreamCreateWithFlags(&east_, cudaStreamNonBlocking));
    OCN_TRY(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    OCN_TRY(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
  }
  ~HaloExchange() {
    cudaStreamSynchronize(west_);
    cudaStreamSynchronize(east_);
    cudaEventDestroy(start_);
    cudaEventDestroy(packed_);
    cudaStreamDestroy(west_);
    cudaStreamDestroy(east_);
  }

  // Packs both halos behind the work of `compute`.
  void begin(const Tile& t, cudaStream_t compute) {
    OCN_TRY(cudaEventRecord(start_, compute));
    pack(t, t.west, 0, west_, 200);
    pack(t, t.east, t.nx - 1, east_, 1);
  }

  // Work enqueued in `compute` after this call sees both halos.
  void end(cudaStream_t compute) { OCN_TRY(cudaStreamWaitEvent(compute, packed_, 0)); }

 private:
  void pack(const Tile& t, float* halo, int column, cudaStream_t s, int passes) {
    OCN_TRY(cudaStreamWaitEvent(s, start_, 0));
    packColumn<<<(t.ny + 127) / 128, 128, 0, s>>>(t.eta, halo, t.nx, t.ny, column, passes);
    OCN_TRY(cudaGetLastError());
    OCN_TRY(cudaEventRecord(packed_, s));
  }

  cudaStream_t west_ = nullptr;
  cudaStream_t east_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t packed_ = nullptr;
};

static Tile makeTile(int nx, int ny, cudaStream_t s) {
  Tile t;
  t.nx = nx;
  t.ny = ny;
  OCN_TRY(cudaMalloc(reinterpret_cast<void**>(&t.eta), nx * ny * sizeof(float)));
  OCN_TRY(cudaMalloc(reinterpret_cast<void**>(&t.west), ny * sizeof(float)));
  OCN_TRY(cudaMalloc(reinterpret_cast<void**>(&t.east), ny * sizeof(float)));
  OCN_TRY(cudaMemsetAsync(t.eta, 0, nx * ny * sizeof(float), s));
  return t;
}

static void freeTile(Tile& t) {
  OCN_TRY(cudaFree(t.eta));
  OCN_TRY(cudaFree(t.west));
  OCN_TRY(cudaFree(t.east));
}

int main() {
  cudaStream_t compute = nullptr;
  OCN_TRY(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  Tile tile = makeTile(2048, 1024, compute);
  {
    HaloExchange halo;
    for (int step = 0; step < 50; ++step) {
      halo.begin(tile, compute);
      halo.end(compute);
      advance<<<dim3((tile.nx + 255) / 256, tile.ny), 256, 0, compute>>>(
          tile.eta, tile.west, tile.east, tile.nx, tile.ny);
      OCN_TRY(cudaGetLastError());
    }
    OCN_TRY(cudaStreamSynchronize(compute));
  }
  std::vector<float> row(tile.nx);
  OCN_TRY(cudaMemcpy(row.data(), tile.eta, row.size() * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("eta[0]=%f\n", row[0]);
  freeTile(tile);
  OCN_TRY(cudaStreamDestroy(compute));
  return 0;
}
