// Sparse solver fragment: temporaries come from the stream-ordered allocator of whichever stream
// builds them and are given back on the stream that used them last.
#include <cuda_runtime.h>

#include <iostream>
#include <stdexcept>
#include <utility>

namespace solver {

struct CudaError : std::runtime_error { using std::runtime_error::runtime_error; };

template <class F, class... A>
void call(const char* what, F f, A... a)
{
    if (cudaError_t e = f(a...); e != cudaSuccess) throw CudaError(std::string(what) + ": " + cudaGetErrorString(e));
}

// Move-only; owner() changes when the buffer is handed to another stream.
template <class T>
class Temporary {
public:
    Temporary(size_t n, cudaStream_t s) : n_(n), owner_(s)
    {
        void* p = nullptr;
        if (cudaMallocAsync(&p, n * sizeof(T), s) != cudaSuccess) throw CudaError("cudaMallocAsync");
        p_ = static_cast<T*>(p);
    }
    Temporary(Temporary&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_), owner_(o.owner_) {}
    ~Temporary()
    {
        if (p_) cudaFreeAsync(p_, owner_);
    }

    // Everything the new owner does from now on comes after what the old one has queued.
    void hand_over(cudaStream_t to, cudaEvent_t ev)
    {
        call("record", cudaEventRecord, ev, owner_);
        call("wait", cudaStreamWaitEvent, to, ev, 0u);
        owner_ = to;
    }
    T* get() const { return p_; }
    size_t size() const { return n_; }

private:
    T* p_;
    size_t n_;
    cudaStream_t owner_;
};

__global__ void build_diagonal(double* d, size_t n, double shift)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) d[i] = 1.0 / (shift + i % 7);
}

__global__ void apply_jacobi(const double* d, double* x, size_t n)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) x[i] *= d[i];
}

Temporary<double> preconditioner(size_t n, double shift, cudaStream_t setup)
{
    Temporary<double> d(n, setup);
    build_diagonal<<<unsigned((n + 255) / 256), 256, 0, setup>>>(d.get(), n, shift);
    call("build_diagonal", cudaGetLastError);
    return d;
}

void sweep(double* x, Temporary<double> d, cudaStream_t iterate)
{
    apply_jacobi<<<unsigned((d.size() + 255) / 256), 256, 0, iterate>>>(d.get(), x, d.size());
    call("apply_jacobi", cudaGetLastError);
}

}  // namespace solver

int main()
{
    using namespace solver;
    const size_t n = 1 << 22;
    cudaStream_t setup, iterate;
    cudaEvent_t handed;
    double* x = nullptr;
    try {
        call("setup", cudaStreamCreateWithFlags, &setup, unsigned(cudaStreamNonBlocking));
        call("iterate", cudaStreamCreateWithFlags, &iterate, unsigned(cudaStreamNonBlocking));
        call("event", cudaEventCreateWithFlags, &handed, unsigned(cudaEventDisableTiming));
        if (cudaMalloc(&x, n * sizeof(double)) != cudaSuccess) return 1;
        call("memset", cudaMemsetAsync, static_cast<void*>(x), 0, n * sizeof(double), iterate);
        for (int it = 0; it < 20; ++it) {
            auto d = preconditioner(n, 1.0 + it, setup);
            d.hand_over(iterate, handed);
            sweep(x, std::move(d), iterate);
        }
        call("sync", cudaStreamSynchronize, iterate);
        call("sync", cudaStreamSynchronize, setup);
    } catch (const CudaError& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    cudaFree(x);
    cudaEventDestroy(handed);
    cudaStreamDestroy(setup);
    cudaStreamDestroy(iterate);
    return 0;
}
