// Docking scorer on the driver API: every ligand works on a private copy of the receptor's potential grid.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* msg = nullptr;
  cuGetErrorString(r, &msg);
  std::fprintf(stderr, "%s: %s\n", what, msg ? msg : "?");
  std::exit(EXIT_FAILURE);
}
#define DRV(call) drv((call), #call)

struct Buffer {
  CUdeviceptr ptr = 0;
  size_t bytes = 0;
};

Buffer buffer_create(size_t bytes) {
  Buffer b;
  b.bytes = bytes;
  DRV(cuMemAlloc(&b.ptr, bytes));
  return b;
}

Buffer buffer_from_host(const void* src, size_t bytes) {
  Buffer b = buffer_create(bytes);
  DRV(cuMemcpyHtoD(b.ptr, src, bytes));
  return b;
}

Buffer buffer_clone(const Buffer& other) {
  Buffer b = buffer_create(other.bytes);
  DRV(cuMemcpyDtoD(b.ptr, other.ptr, other.bytes));
  DRV(cuStreamSynchronize(nullptr));
  return b;
}

void buffer_destroy(Buffer& b) {
  if (b.ptr) DRV(cuMemFree(b.ptr));
  b = Buffer{};
}

struct Device {
  CUdevice dev;
  CUcontext ctx;
  CUmodule mod;
  CUfunction carve;
  CUfunction score;
};

Device device_open(const char* image) {
  Device d{};
  DRV(cuInit(0));
  DRV(cuDeviceGet(&d.dev, 0));
  DRV(cuDevicePrimaryCtxRetain(&d.ctx, d.dev));
  DRV(cuCtxSetCurrent(d.ctx));
  DRV(cuModuleLoad(&d.mod, image));
  DRV(cuModuleGetFunction(&d.carve, d.mod, "carve_pocket"));
  DRV(cuModuleGetFunction(&d.score, d.mod, "score_poses"));
  return d;
}

class LigandJob {
 public:
  LigandJob(const Device& d, const Buffer& receptor, unsigned cells, unsigned poses)
      : dev_(d), cells_(cells), poses_(poses), grid_(buffer_clone(receptor)), scores_(buffer_create(poses * sizeof(float))) {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  ~LigandJob() {
    DRV(cuStreamSynchronize(stream_));
    buffer_destroy(grid_);
    buffer_destroy(scores_);
    DRV(cuStreamDestroy(stream_));
  }
  LigandJob(const LigandJob&) = delete;

  void start(float radius) {
    void* carve_args[] = {&grid_.ptr, &cells_, &radius};
    DRV(cuLaunchKernel(dev_.carve, (cells_ + 255) / 256, 1, 1, 256, 1, 1, 0, stream_, carve_args, nullptr));
    void* score_args[] = {&grid_.ptr, &scores_.ptr, &cells_, &poses_};
    DRV(cuLaunchKernel(dev_.score, poses_, 1, 1, 128, 1, 1, 0, stream_, score_args, nullptr));
  }

  float best() {
    std::vector<float> host(poses_);
    DRV(cuStreamSynchronize(stream_));
    DRV(cuMemcpyDtoH(host.data(), scores_.ptr, scores_.bytes));
    float b = host[0];
    for (float s : host) b = s < b ? s : b;
    return b;
  }

 private:
  const Device& dev_;
  unsigned cells_, poses_;
  Buffer grid_, scores_;
  CUstream stream_ = nullptr;
};

int main(int argc, char** argv) {
  Device dev = device_open(argc > 1 ? argv[1] : "docking.cubin");
  const unsigned cells = 256u * 256u * 256u, poses = 4096;
  std::vector<float> potential(cells, -0.25f);
  Buffer receptor = buffer_from_host(potential.data(), cells * sizeof(float));
  DRV(cuCtxSynchronize());
  for (int ligand = 0; ligand < 16; ++ligand) {
    LigandJob job(dev, receptor, cells, poses);
    job.start(2.0f + 0.1f * float(ligand));
    std::printf("ligand %d: %f\n", ligand, job.best());
  }
  buffer_destroy(receptor);
  DRV(cuModuleUnload(dev.mod));
  DRV(cuDevicePrimaryCtxRelease(dev.dev));
  return 0;
}
