// Safe wrappers for stream-ordered device memory (C++ mirror of the Rust crate).
#include <cuda_runtime.h>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

namespace cuda_oxide {

struct DriverError : std::runtime_error {
    explicit DriverError(cudaError_t e) : std::runtime_error(cudaGetErrorName(e)) {}
};
inline void result(cudaError_t e) { if (e != cudaSuccess) throw DriverError(e); }

class Event {
public:
    Event() { result(cudaEventCreateWithFlags(&raw_, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(raw_); }
    Event(const Event&) = delete;
    cudaEvent_t raw() const { return raw_; }
private:
    cudaEvent_t raw_ = nullptr;
};

class Stream {
public:
    Stream() { result(cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamSynchronize(raw_); cudaStreamDestroy(raw_); }
    Stream(const Stream&) = delete;
    void join(const Stream& other) const {
        Event e;
        result(cudaEventRecord(e.raw(), other.raw_));
        result(cudaStreamWaitEvent(raw_, e.raw(), 0));
    }
    void synchronize() const { result(cudaStreamSynchronize(raw_)); }
    cudaStream_t raw() const { return raw_; }
private:
    cudaStream_t raw_ = nullptr;
};

template <typename T>
class DeviceBuffer {
public:
    static DeviceBuffer zeroed(const Stream& s, size_t len) {
        DeviceBuffer b(s, len);
        result(cudaMemsetAsync(b.ptr_, 0, len * sizeof(T), s.raw()));
        return b;
    }
    static DeviceBuffer uninit(const Stream& s, size_t len) { return DeviceBuffer(s, len); }
    DeviceBuffer(DeviceBuffer&& o) noexcept : stream_(o.stream_), ptr_(std::exchange(o.ptr_, nullptr)), len_(o.len_) {}
    ~DeviceBuffer() {
        if (ptr_) cudaFreeAsync(ptr_, stream_->raw());
    }
    T* ptr() const { return ptr_; }
    size_t len() const { return len_; }
    const Stream& home() const { return *stream_; }
private:
    DeviceBuffer(const Stream& s, size_t len) : stream_(&s), len_(len) {
        result(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), len * sizeof(T), s.raw()));
    }
    const Stream* stream_;
    T* ptr_ = nullptr;
    size_t len_;
};

}  // namespace cuda_oxide

namespace kernels {
__global__ void fill(uint32_t* out, size_t n, uint32_t seed) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = seed ^ uint32_t(i * 2654435761u);
}
__global__ void histogram(const uint32_t* in, size_t n, unsigned int* bins) {
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i] >> 24], 1u);
}
}  // namespace kernels

using cuda_oxide::DeviceBuffer;
using cuda_oxide::Stream;

static DeviceBuffer<uint32_t> generate(const Stream& producer, size_t n, uint32_t seed) {
    auto buf = DeviceBuffer<uint32_t>::uninit(producer, n);
    kernels::fill<<<unsigned((n + 255) / 256), 256, 0, producer.raw()>>>(buf.ptr(), n, seed);
    cuda_oxide::result(cudaGetLastError());
    return buf;
}

static void consume(const Stream& consumer, DeviceBuffer<uint32_t> samples, DeviceBuffer<unsigned int>& bins) {
    consumer.join(samples.home());
    unsigned grid = unsigned((samples.len() + 255) / 256);
    kernels::histogram<<<grid, 256, 0, consumer.raw()>>>(samples.ptr(), samples.len(), bins.ptr());
    cuda_oxide::result(cudaGetLastError());
}

int main() {
    const size_t n = size_t(1) << 24;
    Stream producer, consumer;
    auto bins = DeviceBuffer<unsigned int>::zeroed(consumer, 256);
    for (uint32_t round = 0; round < 4; ++round)
        consume(consumer, generate(producer, n, round), bins);
    unsigned int host[256];
    consumer.synchronize();
    cuda_oxide::result(cudaMemcpy(host, bins.ptr(), sizeof(host), cudaMemcpyDeviceToHost));
    return host[0] > 0 ? 0 : 1;
}
