#include <cuda.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#define DRV(expr)                                                                  \
    do {                                                                           \
        CUresult drv_rc = (expr);                                                  \
        if (drv_rc != CUDA_SUCCESS) {                                              \
            const char* drv_name = nullptr;                                        \
            cuGetErrorName(drv_rc, &drv_name);                                     \
            std::fprintf(stderr, "%s: %s\n", #expr, drv_name ? drv_name : "?");    \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

namespace ocean {

enum Side { west = 0, east = 1, sides = 2 };

class Field {
public:
    Field(unsigned nx, unsigned halo) : nx_(nx), halo_(halo) { DRV(cuMemAlloc(&data_, (nx + 2ull * halo) * sizeof(double))); }
    ~Field() { cuMemFree(data_); }
    Field(const Field&) = delete;
    CUdeviceptr base() const { return data_; }
    CUdeviceptr haloAt(Side s) const { return s == west ? data_ : data_ + (nx_ + halo_) * sizeof(double); }
    CUdeviceptr interiorAt(Side s) const { return data_ + (s == west ? halo_ : nx_) * sizeof(double); }
    size_t haloBytes() const { return halo_ * sizeof(double); }
    unsigned cells() const { return nx_; }

private:
    unsigned nx_, halo_;
    CUdeviceptr data_ = 0;
};

class HaloFiller {
public:
    HaloFiller() {
        for (auto& s : streams_) DRV(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        for (auto& e : filled_) DRV(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
        DRV(cuEventCreate(&start_, CU_EVENT_DISABLE_TIMING));
    }
    ~HaloFiller() {
        for (auto s : streams_) {
            cuStreamSynchronize(s);
            cuStreamDestroy(s);
        }
        for (auto e : filled_) cuEventDestroy(e);
        cuEventDestroy(start_);
    }
    HaloFiller(const HaloFiller&) = delete;

    void fill(const Field& f, CUstream main) {
        DRV(cuEventRecord(start_, main));
        fillSide(f, west);
        fillSide(f, east);
    }

    void joinInto(CUstream main) {
        for (auto e : filled_) DRV(cuStreamWaitEvent(main, e, 0));
    }

private:
    void fillSide(const Field& f, Side side) {
        const Side opposite = side == west ? east : west;
        CUstream s = streams_[side];
        DRV(cuStreamWaitEvent(s, start_, 0));
        DRV(cuMemcpyDtoDAsync(f.haloAt(side), f.interiorAt(opposite), f.haloBytes(), s));
        DRV(cuEventRecord(filled_.front(), s));
    }

    std::array<CUstream, sides> streams_{};
    std::array<CUevent, 1> filled_{};
    CUevent start_{};
};

class Model {
public:
    Model(CUfunction tendency, unsigned nx) : tendency_(tendency), velocity_(nx, 4), rate_(nx, 4) {
        DRV(cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING));
        DRV(cuMemsetD8Async(velocity_.base(), 0, (nx + 8ull) * sizeof(double), main_));
    }
    ~Model() {
        cuStreamSynchronize(main_);
        cuStreamDestroy(main_);
    }
    void timeStep() {
        halos_.fill(velocity_, main_);
        halos_.joinInto(main_);
        computeTendency();
    }
    void finish() { DRV(cuStreamSynchronize(main_)); }

private:
    void computeTendency() {
        CUdeviceptr v = velocity_.base();
        CUdeviceptr r = rate_.base();
        unsigned n = velocity_.cells();
        void* args[] = {&v, &r, &n};
        DRV(cuLaunchKernel(tendency_, (n + 127) / 128, 1, 1, 128, 1, 1, 0, main_, args, nullptr));
    }

    CUfunction tendency_;
    Field velocity_, rate_;
    HaloFiller halos_;
    CUstream main_{};
};

}  // namespace ocean

int main(int argc, char** argv) {
    DRV(cuInit(0));
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction tendency;
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    DRV(cuModuleLoad(&module, argc > 1 ? argv[1] : "ocean.cubin"));
    DRV(cuModuleGetFunction(&tendency, module, "velocity_tendency"));
    {
        ocean::Model model(tendency, 1 << 16);
        for (int i = 0; i < 100; ++i) model.timeStep();
        model.finish();
    }
    DRV(cuModuleUnload(module));
    DRV(cuDevicePrimaryCtxRelease(device));
    return 0;
}
