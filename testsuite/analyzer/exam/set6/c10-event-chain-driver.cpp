#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHAIN(x)                                                    \
    do {                                                            \
        CUresult chain_rc = (x);                                    \
        if (chain_rc != CUDA_SUCCESS) {                             \
            std::fprintf(stderr, "%s -> %d\n", #x, int(chain_rc));  \
            std::exit(1);                                           \
        }                                                           \
    } while (0)

class Stage {
public:
    explicit Stage(CUfunction fn) : fn_(fn) { CHAIN(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
    ~Stage() { cuStreamDestroy(stream_); }
    Stage(const Stage&) = delete;
    CUstream stream() const { return stream_; }

    void launch(CUdeviceptr in, CUdeviceptr out, unsigned n) const {
        void* args[] = {&in, &out, &n};
        CHAIN(cuLaunchKernel(fn_, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream_, args, nullptr));
    }

private:
    CUfunction fn_;
    CUstream stream_{};
};

class Chain {
public:
    Chain(CUfunction fn, int stages, unsigned n) : n_(n) {
        CHAIN(cuEventCreate(&token_, CU_EVENT_DISABLE_TIMING));
        for (int i = 0; i < stages; ++i) stages_.push_back(new Stage(fn));
        buffers_.resize(stages + 1);
        for (auto& b : buffers_) CHAIN(cuMemAlloc(&b, n * sizeof(float)));
        CHAIN(cuMemAllocHost(reinterpret_cast<void**>(&host_), n * sizeof(float)));
    }
    ~Chain() {
        CHAIN(cuStreamSynchronize(stages_.back()->stream()));
        for (Stage* s : stages_) delete s;
        for (auto b : buffers_) cuMemFree(b);
        cuMemFreeHost(host_);
        cuEventDestroy(token_);
    }

    float run(float value) {
        for (unsigned i = 0; i < n_; ++i) host_[i] = value;
        CHAIN(cuMemcpyHtoDAsync(buffers_.front(), host_, n_ * sizeof(float), stages_.front()->stream()));
        for (size_t i = 0; i < stages_.size(); ++i) {
            if (i > 0) pass(stages_[i - 1]->stream(), stages_[i]->stream());
            stages_[i]->launch(buffers_[i], buffers_[i + 1], n_);
        }
        CUstream last = stages_.back()->stream();
        CHAIN(cuMemcpyDtoHAsync(host_, buffers_.back(), n_ * sizeof(float), last));
        CHAIN(cuStreamSynchronize(last));
        return host_[0];
    }

private:
    void pass(CUstream from, CUstream to) {
        CHAIN(cuEventRecord(token_, from));
        CHAIN(cuStreamWaitEvent(to, token_, 0));
    }

    unsigned n_;
    CUevent token_{};
    std::vector<Stage*> stages_;
    std::vector<CUdeviceptr> buffers_;
    float* host_ = nullptr;
};

int main(int argc, char** argv) {
    CHAIN(cuInit(0));
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction fn;
    CHAIN(cuDeviceGet(&device, 0));
    CHAIN(cuDevicePrimaryCtxRetain(&context, device));
    CHAIN(cuCtxSetCurrent(context));
    CHAIN(cuModuleLoad(&module, argc > 1 ? argv[1] : "stage.cubin"));
    CHAIN(cuModuleGetFunction(&fn, module, "stage"));
    {
        Chain chain(fn, 5, 1 << 20);
        float sum = 0;
        for (int i = 0; i < 20; ++i) sum += chain.run(static_cast<float>(i));
        std::printf("%f\n", sum);
    }
    CHAIN(cuModuleUnload(module));
    CHAIN(cuDevicePrimaryCtxRelease(device));
    return 0;
}
