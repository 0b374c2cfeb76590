#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace redzone {

inline void drv(CUresult rc, const char* where) {
    if (rc == CUDA_SUCCESS) return;
    const char* name = "?";
    cuGetErrorName(rc, &name);
    throw std::runtime_error(std::string(where) + ": " + name);
}

struct GuardedBuffer {
    CUdeviceptr begin = 0;
    size_t bytes = 0;
    size_t guard = 0;
};

class PinnedCounter {
public:
    explicit PinnedCounter(size_t words) : words_(words) {
        drv(cuMemHostAlloc(&host_, words * sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
        drv(cuMemHostGetDevicePointer(&device_, host_, 0), "cuMemHostGetDevicePointer");
    }
    ~PinnedCounter() { cuMemFreeHost(host_); }
    PinnedCounter(const PinnedCounter&) = delete;
    PinnedCounter& operator=(const PinnedCounter&) = delete;

    void clearOn(CUstream s) { drv(cuMemsetD32Async(device_, 0, words_, s), "cuMemsetD32Async"); }
    uint32_t value(size_t i) const { return static_cast<volatile uint32_t*>(host_)[i]; }
    CUdeviceptr device() const { return device_; }

private:
    void* host_ = nullptr;
    CUdeviceptr device_ = 0;
    size_t words_;
};

class Checker {
public:
    Checker(CUfunction kernel, CUstream stream) : kernel_(kernel), stream_(stream) {}

    std::optional<size_t> firstBroken(const std::vector<GuardedBuffer>& buffers) {
        PinnedCounter mismatches(2);
        mismatches.clearOn(stream_);
        std::optional<size_t> broken;
        for (size_t i = 0; i < buffers.size() && !broken; ++i) {
            compare(buffers[i].begin - buffers[i].guard, buffers[i].guard, mismatches.device());
            compare(buffers[i].begin + buffers[i].bytes, buffers[i].guard, mismatches.device() + sizeof(uint32_t));
            drv(cuStreamSynchronize(stream_), "cuStreamSynchronize");
            if (mismatches.value(0) != 0 || mismatches.value(1) != 0) broken = i;
        }
        return broken;
    }

private:
    void compare(CUdeviceptr zone, size_t bytes, CUdeviceptr counter) {
        unsigned n = static_cast<unsigned>(bytes);
        void* args[] = {&zone, &n, &counter};
        drv(cuLaunchKernel(kernel_, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream_, args, nullptr), "cuLaunchKernel");
    }

    CUfunction kernel_;
    CUstream stream_;
};

}  // namespace redzone

int main(int argc, char** argv) {
    using redzone::drv;
    drv(cuInit(0), "cuInit");
    CUdevice dev;
    CUcontext ctx;
    CUmodule module;
    CUfunction fn;
    CUstream stream;
    drv(cuDeviceGet(&dev, 0), "device");
    drv(cuDevicePrimaryCtxRetain(&ctx, dev), "context");
    drv(cuCtxSetCurrent(ctx), "current");
    drv(cuModuleLoad(&module, argc > 1 ? argv[1] : "redzone.fatbin"), "module");
    drv(cuModuleGetFunction(&fn, module, "count_mismatches"), "function");
    drv(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");

    redzone::Checker checker(fn, stream);
    std::vector<redzone::GuardedBuffer> buffers;
    for (int round = 0; round < 4; ++round) {
        if (auto bad = checker.firstBroken(buffers)) std::printf("buffer %zu\n", *bad);
        redzone::GuardedBuffer b;
        b.bytes = 4096;
        b.guard = 256;
        drv(cuMemAlloc(&b.begin, b.bytes + 2 * b.guard), "alloc");
        drv(cuMemsetD8Async(b.begin, 0, b.bytes + 2 * b.guard, stream), "fill");
        b.begin += b.guard;
        buffers.push_back(b);
    }
    drv(cuStreamSynchronize(stream), "sync");
    for (auto& b : buffers) cuMemFree(b.begin - b.guard);
    cuStreamDestroy(stream);
    cuModuleUnload(module);
    cuDevicePrimaryCtxRelease(dev);
    return 0;
}
