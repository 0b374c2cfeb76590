// Sliding window over a long recording: physical pages follow the window through one reserved
// address range, old pages are unmapped when the GPU has left them.
#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace window {

void drv(CUresult r, const char* expr) {
  if (r == CUDA_SUCCESS) return;
  const char* s = "?";
  cuGetErrorName(r, &s);
  std::fprintf(stderr, "%s: %s\n", expr, s);
  std::exit(1);
}
#define W_DRV(x) ::window::drv((x), #x)

class PageWindow {
 public:
  PageWindow(CUdevice device, std::size_t page_bytes, std::size_t pages) : pages_(pages) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    std::size_t gran = 0;
    W_DRV(cuMemGetAllocationGranularity(&gran, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    page_ = (page_bytes + gran - 1) / gran * gran;
    W_DRV(cuMemAddressReserve(&base_, page_ * pages_, 0, 0, 0));
  }

  ~PageWindow() {
    while (!mapped_.empty()) drop_oldest();
    W_DRV(cuMemAddressFree(base_, page_ * pages_));
  }

  PageWindow(const PageWindow&) = delete;
  PageWindow& operator=(const PageWindow&) = delete;

  // Next page of the recording; the oldest ones give way.
  CUdeviceptr advance(std::size_t keep) {
    while (mapped_.size() >= keep) drop_oldest();
    Page p;
    p.index = next_++ % pages_;
    W_DRV(cuMemCreate(&p.handle, page_, &prop_, 0));
    CUdeviceptr va = base_ + p.index * page_;
    W_DRV(cuMemMap(va, page_, 0, p.handle, 0));
    CUmemAccessDesc rw{};
    rw.location = prop_.location;
    rw.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    W_DRV(cuMemSetAccess(va, page_, &rw, 1));
    W_DRV(cuEventCreate(&p.last_use, CU_EVENT_DISABLE_TIMING));
    mapped_.push_back(p);
    return va;
  }

  // Work queued on `s` so far uses any of the mapped pages.
  void touched(CUstream s) {
    for (Page& p : mapped_) W_DRV(cuEventRecord(p.last_use, s));
  }

  CUdeviceptr at(std::size_t i) const { return base_ + mapped_[i].index * page_; }
  std::size_t mapped() const { return mapped_.size(); }
  std::size_t page_bytes() const { return page_; }

 private:
  struct Page {
    std::size_t index = 0;
    CUmemGenericAllocationHandle handle{};
    CUevent last_use{};
  };

  void drop_oldest() {
    Page p = mapped_.front();
    mapped_.pop_front();
    W_DRV(cuEventSynchronize(p.last_use));
    W_DRV(cuMemUnmap(base_ + p.index * page_, page_));
    W_DRV(cuMemRelease(p.handle));
    W_DRV(cuEventDestroy(p.last_use));
  }

  CUmemAllocationProp prop_{};
  std::size_t page_ = 0, pages_;
  CUdeviceptr base_ = 0;
  std::size_t next_ = 0;
  std::deque<Page> mapped_;
};

class Spectrograph {
 public:
  Spectrograph(CUdevice device, CUfunction stft, std::size_t page_bytes)
      : window_(device, page_bytes, 64), stft_(stft) {
    W_DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    W_DRV(cuMemAlloc(&power_, 4096 * sizeof(float)));
    W_DRV(cuMemsetD32Async(power_, 0, 4096, stream_));
  }
  ~Spectrograph() {
    W_DRV(cuStreamSynchronize(stream_));
    W_DRV(cuMemFree(power_));
    W_DRV(cuStreamDestroy(stream_));
  }
  Spectrograph(const Spectrograph&) = delete;
  Spectrograph& operator=(const Spectrograph&) = delete;

  void feed(const void* pinned_page) {
    CUdeviceptr page = window_.advance(8);
    W_DRV(cuMemcpyHtoDAsync(page, pinned_page, window_.page_bytes(), stream_));
    for (std::size_t i = 0; i < window_.mapped(); ++i) transform(window_.at(i));
    window_.touched(stream_);
  }

  std::vector<float> power() {
    std::vector<float> out(4096);
    W_DRV(cuStreamSynchronize(stream_));
    W_DRV(cuMemcpyDtoH(out.data(), power_, out.size() * sizeof(float)));
    return out;
  }

  std::size_t page_bytes() const { return window_.page_bytes(); }

 private:
  void transform(CUdeviceptr page) {
    unsigned n = static_cast<unsigned>(window_.page_bytes() / sizeof(float));
    void* args[] = {&page, &n, &power_};
    W_DRV(cuLaunchKernel(stft_, n / 4096, 1, 1, 256, 1, 1, 0, stream_, args, nullptr));
  }

  PageWindow window_;
  CUfunction stft_;
  CUstream stream_{};
  CUdeviceptr power_ = 0;
};

}  // namespace window

int main(int argc, char** argv) {
  W_DRV(cuInit(0));
  CUdevice dev{};
  CUcontext ctx{};
  CUmodule mod{};
  CUfunction stft{};
  W_DRV(cuDeviceGet(&dev, 0));
  W_DRV(cuDevicePrimaryCtxRetain(&ctx, dev));
  W_DRV(cuCtxSetCurrent(ctx));
  W_DRV(cuModuleLoad(&mod, argc > 1 ? argv[1] : "stft.cubin"));
  W_DRV(cuModuleGetFunction(&stft, mod, "stft_power"));
  {
    window::Spectrograph sg(dev, stft, std::size_t{2} << 20);
    void* tape = nullptr;
    W_DRV(cuMemAllocHost(&tape, sg.page_bytes() * 32));
    for (std::size_t i = 0; i < sg.page_bytes() * 32; ++i) static_cast<char*>(tape)[i] = i & 0x3f;
    for (int i = 0; i < 32; ++i) sg.feed(static_cast<char*>(tape) + i * sg.page_bytes());
    std::printf("%f\n", sg.power()[17]);
    W_DRV(cuMemFreeHost(tape));
  }
  W_DRV(cuModuleUnload(mod));
  W_DRV(cuDevicePrimaryCtxRelease(dev));
  return 0;
}
