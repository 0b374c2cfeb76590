// Video transcoder stages on the driver API; each frame's surface travels through three streams.
#include <cuda.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace relay {

inline void drv(CUresult r, int line) {
  if (r != CUDA_SUCCESS) throw std::runtime_error("line " + std::to_string(line) + ": " + std::to_string(int(r)));
}
#define DRV(x) ::relay::drv((x), __LINE__)

struct Frame {
  CUdeviceptr surface = 0;
  unsigned index = 0;
};

class Stage {
 public:
  Stage(CUmodule mod, const char* kernel) {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    DRV(cuEventCreate(&passed_, CU_EVENT_DISABLE_TIMING));
    if (kernel) DRV(cuModuleGetFunction(&fn_, mod, kernel));
  }
  virtual ~Stage() {
    cuStreamSynchronize(stream_);
    cuEventDestroy(passed_);
    cuStreamDestroy(stream_);
  }
  Stage(const Stage&) = delete;

  void enter(const Stage& previous) { DRV(cuStreamWaitEvent(stream_, previous.passed_, 0)); }
  void leave() { DRV(cuEventRecord(passed_, stream_)); }
  virtual void handle(Frame& f) = 0;
  void drain() { DRV(cuStreamSynchronize(stream_)); }

 protected:
  void launch(Frame& f, unsigned pixels) {
    void* args[] = {&f.surface, &pixels, &f.index};
    DRV(cuLaunchKernel(fn_, (pixels + 255) / 256, 1, 1, 256, 1, 1, 0, stream_, args, nullptr));
  }
  CUstream stream_{};

 private:
  CUevent passed_{};
  CUfunction fn_{};
};

class Decode final : public Stage {
 public:
  Decode(CUmodule m, unsigned pixels) : Stage(m, "decode_nv12"), pixels_(pixels) {}
  void handle(Frame& f) override {
    DRV(cuMemAllocAsync(&f.surface, pixels_ * 4ull, stream_));
    DRV(cuMemsetD32Async(f.surface, 0, pixels_, stream_));
    launch(f, pixels_);
  }

 private:
  unsigned pixels_;
};

class Denoise final : public Stage {
 public:
  Denoise(CUmodule m, unsigned pixels) : Stage(m, "denoise_temporal"), pixels_(pixels) {}
  void handle(Frame& f) override { launch(f, pixels_); }

 private:
  unsigned pixels_;
};

class Encode final : public Stage {
 public:
  Encode(CUmodule m, unsigned pixels) : Stage(m, "encode_macroblocks"), pixels_(pixels) {
    DRV(cuMemAllocHost(reinterpret_cast<void**>(&bits_), pixels_ * 4ull));
  }
  ~Encode() override {
    cuStreamSynchronize(stream_);
    cuMemFreeHost(bits_);
  }
  void handle(Frame& f) override {
    launch(f, pixels_);
    DRV(cuMemcpyDtoHAsync(bits_, f.surface, pixels_ * 4ull, stream_));
    DRV(cuMemFreeAsync(f.surface, stream_));
    f.surface = 0;
  }
  unsigned firstWord() {
    drain();
    return bits_[0];
  }

 private:
  unsigned pixels_;
  unsigned* bits_ = nullptr;
};

class Transcoder {
 public:
  Transcoder(CUmodule m, unsigned pixels) : decode_(m, pixels), denoise_(m, pixels), encode_(m, pixels) {}

  void push(unsigned index) {
    Frame f;
    f.index = index;
    decode_.handle(f);
    decode_.leave();
    denoise_.enter(decode_);
    denoise_.handle(f);
    denoise_.leave();
    encode_.enter(denoise_);
    encode_.handle(f);
    encode_.leave();
  }
  unsigned checksum() { return encode_.firstWord(); }

 private:
  Decode decode_;
  Denoise denoise_;
  Encode encode_;
};

}  // namespace relay

int main(int argc, char** argv) {
  DRV(cuInit(0));
  CUdevice dev;
  CUcontext ctx;
  CUmodule mod;
  DRV(cuDeviceGet(&dev, 0));
  DRV(cuDevicePrimaryCtxRetain(&ctx, dev));
  DRV(cuCtxSetCurrent(ctx));
  DRV(cuModuleLoad(&mod, argc > 1 ? argv[1] : "transcode.cubin"));
  {
    relay::Transcoder t(mod, 1920 * 1080);
    for (unsigned i = 0; i < 240; ++i) t.push(i);
    std::printf("%08x\n", t.checksum());
  }
  DRV(cuModuleUnload(mod));
  DRV(cuDevicePrimaryCtxRelease(dev));
}
