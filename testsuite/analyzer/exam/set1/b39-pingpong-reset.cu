// Gradient bucket with two halves: one is filled while the other is reduced.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define DS_CHECK(x)                                                     \
    do {                                                                \
        cudaError_t e = (x);                                            \
        if (e != cudaSuccess) {                                         \
            std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

__global__ void average_kernel(const float* bucket, float* reduced, size_t n, float inv_world)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) reduced[i] += bucket[i] * inv_world;
}

struct Grad {
    const float* data;
    size_t numel;
};

class Bucket {
public:
    Bucket(size_t capacity, float* reduced) : _capacity(capacity), _reduced(reduced)
    {
        DS_CHECK(cudaStreamCreateWithFlags(&_fill, cudaStreamNonBlocking));
        DS_CHECK(cudaStreamCreateWithFlags(&_reduce, cudaStreamNonBlocking));
        DS_CHECK(cudaEventCreateWithFlags(&_filled, cudaEventDisableTiming));
        for (int i = 0; i < 2; ++i) {
            DS_CHECK(cudaMalloc((void**)&_half[i], capacity * sizeof(float)));
            DS_CHECK(cudaEventCreateWithFlags(&_reduced_evt[i], cudaEventDisableTiming));
        }
    }

    ~Bucket()
    {
        cudaStreamSynchronize(_fill);
        cudaStreamSynchronize(_reduce);
        for (int i = 0; i < 2; ++i) {
            cudaEventDestroy(_reduced_evt[i]);
            cudaFree(_half[i]);
        }
        cudaEventDestroy(_filled);
        cudaStreamDestroy(_reduce);
        cudaStreamDestroy(_fill);
    }

    cudaStream_t stream() const { return _fill; }

    // The gradient was produced on stream().
    void add(const Grad& g)
    {
        if (g.numel > _capacity) std::abort();
        if (_used + g.numel > _capacity) flush();
        DS_CHECK(cudaMemcpyAsync(_half[_index] + _used, g.data, g.numel * sizeof(float),
                                 cudaMemcpyDeviceToDevice, _fill));
        _used += g.numel;
    }

    void flush()
    {
        if (_used == 0) return;
        DS_CHECK(cudaEventRecord(_filled, _fill));
        DS_CHECK(cudaStreamWaitEvent(_reduce, _filled, 0));
        int blocks = (int)((_used + 255) / 256);
        average_kernel<<<blocks, 256, 0, _reduce>>>(_half[_index], _reduced, _used, 0.125f);
        DS_CHECK(cudaGetLastError());
        DS_CHECK(cudaEventRecord(_reduced_evt[_index], _reduce));
        swap_halves();
        clear();
    }

    void wait() { DS_CHECK(cudaStreamSynchronize(_reduce)); }

private:
    void swap_halves()
    {
        _index ^= 1;
        // The half that is filled next must have been reduced.
        DS_CHECK(cudaStreamWaitEvent(_fill, _reduced_evt[_index], 0));
    }

    void clear()
    {
        _used = 0;
        _index = 0;
    }

    size_t _capacity;
    size_t _used = 0;
    int _index = 0;
    float* _reduced;
    float* _half[2] = {nullptr, nullptr};
    cudaEvent_t _reduced_evt[2] = {nullptr, nullptr};
    cudaEvent_t _filled = nullptr;
    cudaStream_t _fill = nullptr;
    cudaStream_t _reduce = nullptr;
};

void reduce_all(Bucket& bucket, const std::vector<Grad>& grads)
{
    for (const Grad& g : grads) bucket.add(g);
    bucket.flush();
    bucket.wait();
}
