#include <cuda_runtime.h>

#include <iostream>
#include <string>
#include <tuple>
#include <utility>

namespace accel {

inline void guard(cudaError_t rc, const std::string& op) {
    if (rc != cudaSuccess) {
        std::cerr << op << ": " << cudaGetErrorString(rc) << std::endl;
        std::abort();
    }
}

template <typename Fn, typename... Args>
__global__ void trampoline(Fn fn, int n, Args... args) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) fn(i, args...);
}

template <typename T>
class Buffer {
public:
    explicit Buffer(int extent) : extent_(extent) { guard(cudaMalloc(&data_, bytes()), "malloc"); }
    ~Buffer() { cudaFree(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* data() const { return data_; }
    int extent() const { return extent_; }
    size_t bytes() const { return static_cast<size_t>(extent_) * sizeof(T); }

private:
    int extent_;
    T* data_ = nullptr;
};

class Queue {
public:
    Queue() { guard(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
    ~Queue() {
        wait();
        cudaStreamDestroy(stream_);
    }
    Queue(const Queue&) = delete;

    template <typename Fn, typename... Args>
    void exec(int n, Fn fn, Args... args) {
        trampoline<<<(n + 127) / 128, 128, 0, stream_>>>(fn, n, args...);
        guard(cudaGetLastError(), "exec");
    }

    template <typename T>
    void copy(Buffer<T>& dst, const Buffer<T>& src) {
        guard(cudaMemcpy(dst.data(), src.data(), src.bytes(), cudaMemcpyDeviceToDevice), "copy");
    }

    template <typename T>
    void fill(Buffer<T>& dst, int byte) {
        guard(cudaMemsetAsync(dst.data(), byte, dst.bytes(), stream_), "fill");
    }

    void wait() { guard(cudaStreamSynchronize(stream_), "wait"); }

private:
    cudaStream_t stream_{};
};

}  // namespace accel

struct Diffuse {
    int n;
    __device__ void operator()(int i, const double* in, double* out) const {
        const double left = in[i == 0 ? n - 1 : i - 1];
        const double right = in[i == n - 1 ? 0 : i + 1];
        out[i] = 0.25 * left + 0.5 * in[i] + 0.25 * right;
    }
};

template <typename Op>
class Stepper {
public:
    Stepper(accel::Queue& q, int n) : queue_(q), now_(n), next_(n) {
        queue_.fill(now_, 0);
        queue_.fill(next_, 0);
    }
    void advance(int steps) {
        for (int s = 0; s < steps; ++s) {
            queue_.exec(now_.extent(), Op{now_.extent()}, static_cast<const double*>(now_.data()), next_.data());
            queue_.copy(now_, next_);
        }
    }

private:
    accel::Queue& queue_;
    accel::Buffer<double> now_, next_;
};

int main() {
    accel::Queue queue;
    Stepper<Diffuse> stepper(queue, 1 << 20);
    stepper.advance(100);
    queue.wait();
    return 0;
}
