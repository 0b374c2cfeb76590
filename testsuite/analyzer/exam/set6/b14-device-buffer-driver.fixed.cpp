#include <cuda.h>

#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#define CU(call)                                                             \
    do {                                                                     \
        const CUresult r_ = (call);                                          \
        if (r_ != CUDA_SUCCESS) {                                            \
            std::cerr << #call << " failed with " << int(r_) << std::endl;   \
            std::exit(1);                                                    \
        }                                                                    \
    } while (0)

class Fence {
public:
    Fence() { CU(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING)); }
    ~Fence() { cuEventDestroy(event_); }
    Fence(const Fence&) = delete;
    void order(CUstream before, CUstream after) {
        CU(cuEventRecord(event_, before));
        CU(cuStreamWaitEvent(after, event_, 0));
    }

private:
    CUevent event_{};
};

class DeviceBuffer {
public:
    DeviceBuffer(size_t bytes, CUstream home) : bytes_(bytes), home_(home) { CU(cuMemAllocAsync(&ptr_, bytes_, home_)); }
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : ptr_(std::exchange(other.ptr_, 0)), bytes_(other.bytes_), home_(other.home_) {}
    DeviceBuffer(const DeviceBuffer&) = delete;
    ~DeviceBuffer() {
        if (ptr_ != 0) cuMemFreeAsync(ptr_, home_);
    }
    CUdeviceptr get() const { return ptr_; }
    CUdeviceptr* slot() { return &ptr_; }
    size_t bytes() const { return bytes_; }
    CUstream home() const { return home_; }

private:
    CUdeviceptr ptr_ = 0;
    size_t bytes_;
    CUstream home_;
};

class LineSolver {
public:
    LineSolver(CUfunction sweep, size_t rows) : sweep_(sweep), rows_(rows) {
        CU(cuStreamCreate(&upload_, CU_STREAM_NON_BLOCKING));
        CU(cuStreamCreate(&solve_, CU_STREAM_NON_BLOCKING));
        CU(cuMemAlloc(&solution_, rows_ * sizeof(double)));
        CU(cuMemHostAlloc(reinterpret_cast<void**>(&pinned_), rows_ * sizeof(double), 0));
    }
    ~LineSolver() {
        cuStreamSynchronize(upload_);
        cuStreamSynchronize(solve_);
        cuMemFreeHost(pinned_);
        cuMemFree(solution_);
        cuStreamDestroy(solve_);
        cuStreamDestroy(upload_);
    }

    void iterate(const std::vector<double>& rhs) {
        CU(cuStreamSynchronize(upload_));
        for (size_t i = 0; i < rows_; ++i) pinned_[i] = rhs[i];
        DeviceBuffer load = stage();
        fence_.order(upload_, solve_);
        relax(load);
        fence_.order(solve_, load.home());
    }

private:
    DeviceBuffer stage() {
        DeviceBuffer b(rows_ * sizeof(double), upload_);
        CU(cuMemcpyHtoDAsync(b.get(), pinned_, b.bytes(), upload_));
        return b;
    }

    void relax(DeviceBuffer& load) {
        unsigned n = static_cast<unsigned>(rows_);
        void* args[] = {load.slot(), &solution_, &n};
        CU(cuLaunchKernel(sweep_, (n + 127) / 128, 1, 1, 128, 1, 1, 0, solve_, args, nullptr));
    }

    CUfunction sweep_;
    size_t rows_;
    CUstream upload_{}, solve_{};
    CUdeviceptr solution_ = 0;
    double* pinned_ = nullptr;
    Fence fence_;
};

int main(int argc, char** argv) {
    CU(cuInit(0));
    CUdevice device;
    CUcontext context;
    CU(cuDeviceGet(&device, 0));
    CU(cuDevicePrimaryCtxRetain(&context, device));
    CU(cuCtxSetCurrent(context));
    CUmodule module;
    CUfunction sweep;
    CU(cuModuleLoad(&module, argc > 1 ? argv[1] : "lines.cubin"));
    CU(cuModuleGetFunction(&sweep, module, "sweep_lines"));
    {
        LineSolver solver(sweep, 1 << 16);
        std::vector<double> rhs(1 << 16, 1.0);
        for (int i = 0; i < 50; ++i) solver.iterate(rhs);
    }
    CU(cuModuleUnload(module));
    CU(cuDevicePrimaryCtxRelease(device));
    return 0;
}
