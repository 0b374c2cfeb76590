#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rt {

class Status {
public:
    static void expect(CUresult rc, const char* expr) {
        if (rc == CUDA_SUCCESS) return;
        const char* text = nullptr;
        cuGetErrorString(rc, &text);
        std::fprintf(stderr, "%s: %s\n", expr, text != nullptr ? text : "unknown");
        std::exit(3);
    }
};
#define RT(x) ::rt::Status::expect((x), #x)

class Context {
public:
    explicit Context(int ordinal) {
        RT(cuInit(0));
        RT(cuDeviceGet(&device_, ordinal));
        RT(cuDevicePrimaryCtxRetain(&context_, device_));
        RT(cuCtxSetCurrent(context_));
    }
    ~Context() { cuDevicePrimaryCtxRelease(device_); }
    Context(const Context&) = delete;

private:
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
};

enum class Init { none, copyHost };

class MemObject {
public:
    MemObject(size_t bytes, Init init, const void* host) : bytes_(bytes) {
        RT(cuMemAlloc(&ptr_, bytes_));
        if (init == Init::copyHost) {
            RT(cuMemcpyHtoD(ptr_, host, bytes_));
            RT(cuStreamSynchronize(CU_STREAM_LEGACY));
        }
    }
    ~MemObject() { cuMemFree(ptr_); }
    MemObject(const MemObject&) = delete;
    const CUdeviceptr* handle() const { return &ptr_; }
    size_t bytes() const { return bytes_; }

private:
    CUdeviceptr ptr_ = 0;
    size_t bytes_;
};

class Queue {
public:
    Queue() { RT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
    ~Queue() { cuStreamDestroy(stream_); }
    Queue(const Queue&) = delete;

    void launch(CUfunction fn, unsigned items, std::vector<const void*> args) {
        std::vector<void*> raw;
        for (const void* a : args) raw.push_back(const_cast<void*>(a));
        RT(cuLaunchKernel(fn, (items + 63) / 64, 1, 1, 64, 1, 1, 0, stream_, raw.data(), nullptr));
    }

    void read(const MemObject& m, void* host) {
        RT(cuMemcpyDtoHAsync(host, *m.handle(), m.bytes(), stream_));
        finish();
    }

    void finish() { RT(cuStreamSynchronize(stream_)); }

private:
    CUstream stream_ = nullptr;
};

class Program {
public:
    explicit Program(const std::string& path) { RT(cuModuleLoad(&module_, path.c_str())); }
    ~Program() { cuModuleUnload(module_); }
    CUfunction kernel(const char* name) const {
        CUfunction f = nullptr;
        RT(cuModuleGetFunction(&f, module_, name));
        return f;
    }

private:
    CUmodule module_ = nullptr;
};

}  // namespace rt

static std::vector<float> addVectors(rt::Queue& queue, CUfunction add, const std::vector<float>& a, const std::vector<float>& b) {
    unsigned n = static_cast<unsigned>(a.size());
    const size_t bytes = n * sizeof(float);
    rt::MemObject left(bytes, rt::Init::copyHost, a.data());
    rt::MemObject right(bytes, rt::Init::copyHost, b.data());
    rt::MemObject sum(bytes, rt::Init::none, nullptr);
    queue.launch(add, n, {left.handle(), right.handle(), sum.handle(), &n});
    std::vector<float> out(n);
    queue.read(sum, out.data());
    return out;
}

int main(int argc, char** argv) {
    rt::Context context(0);
    {
        rt::Program program(argc > 1 ? argv[1] : "vector.ptx");
        rt::Queue queue;
        CUfunction add = program.kernel("add");
        std::vector<float> a(1 << 20, 1.0f), b(1 << 20, 2.0f);
        for (int i = 0; i < 4; ++i) a = addVectors(queue, add, a, b);
        std::printf("%g\n", a[0]);
    }
    return 0;
}
