// Rotor balancing: normalises vibration samples, multiplies them with the influence matrix and
// corrects the result. Short kernels are chained by dependent launches, the product comes from
// the BLAS library.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

namespace rotor {

inline void pass(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void pass(cublasStatus_t s) {
    if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas");
}

__device__ __forceinline__ void grid_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void grid_trigger() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void remove_offset(const float* raw, const float* offset, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    grid_wait();
    grid_trigger();
    if (i < n) out[i] = raw[i] - offset[i];
}

// gain is a constant table that is written only once, when the object is made.
__global__ void apply_gain(const float* gain, float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float g = i < n ? gain[i] : 0.f;
    grid_wait();
    if (i < n) x[i] *= g;
}

__global__ void limit(float* x, int n, float bound) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fminf(bound, fmaxf(-bound, x[i]));
}

class Balancer {
public:
    // gain and offset: n values each; influence: n x n, column major.
    Balancer(const std::vector<float>& gain, const std::vector<float>& offset,
             const std::vector<float>& influence)
        : n_(static_cast<int>(gain.size())) {
        pass(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        pass(cublasCreate(&blas_));
        pass(cublasSetStream(blas_, stream_));
        for (float** p : {&gain_, &offset_, &raw_, &clean_, &weights_}) {
            pass(cudaMalloc(p, n_ * sizeof(float)));
        }
        pass(cudaMalloc(&influence_, size_t(n_) * n_ * sizeof(float)));
        put(gain_, gain.data(), n_);
        put(offset_, offset.data(), n_);
        put(influence_, influence.data(), size_t(n_) * n_);
        pass(cudaStreamSynchronize(stream_));
    }

    ~Balancer() {
        cudaStreamSynchronize(stream_);
        cublasDestroy(blas_);
        for (float* p : {gain_, offset_, raw_, clean_, weights_, influence_}) cudaFree(p);
        cudaStreamDestroy(stream_);
    }

    Balancer(const Balancer&) = delete;
    Balancer& operator=(const Balancer&) = delete;

    // Correction weights for one revolution.
    std::vector<float> solve(const std::vector<float>& samples, float bound) {
        if (static_cast<int>(samples.size()) != n_) throw std::length_error("samples");
        put(raw_, samples.data(), n_);
        chain(remove_offset, static_cast<const float*>(raw_), static_cast<const float*>(offset_),
              clean_, n_);
        chain(apply_gain, static_cast<const float*>(gain_), clean_, n_);

        const float one = 1.f, zero = 0.f;
        pass(cublasSgemv(blas_, CUBLAS_OP_N, n_, n_, &one, influence_, n_, clean_, 1, &zero,
                         weights_, 1));
        limit<<<(n_ + 127) / 128, 128, 0, stream_>>>(weights_, n_, bound);
        pass(cudaGetLastError());

        std::vector<float> result(n_);
        pass(cudaMemcpyAsync(result.data(), weights_, n_ * sizeof(float), cudaMemcpyDeviceToHost,
                             stream_));
        pass(cudaStreamSynchronize(stream_));
        return result;
    }

private:
    void put(float* dst, const float* src, size_t count) {
        pass(cudaMemcpyAsync(dst, src, count * sizeof(float), cudaMemcpyHostToDevice, stream_));
    }

    // Launches with the permission to start before the predecessor in the stream has ended.
    template <class... P, class... Args>
    void chain(void (*kernel)(P...), Args... args) {
        cudaLaunchAttribute early{};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t cfg{};
        cfg.gridDim = dim3((n_ + 127) / 128);
        cfg.blockDim = dim3(128);
        cfg.stream = stream_;
        cfg.attrs = &early;
        cfg.numAttrs = 1;
        pass(cudaLaunchKernelEx(&cfg, kernel, args...));
    }

    int n_;
    cudaStream_t stream_ = nullptr;
    cublasHandle_t blas_ = nullptr;
    float *gain_ = nullptr, *offset_ = nullptr, *raw_ = nullptr, *clean_ = nullptr;
    float *weights_ = nullptr, *influence_ = nullptr;
};

}  // namespace rotor
