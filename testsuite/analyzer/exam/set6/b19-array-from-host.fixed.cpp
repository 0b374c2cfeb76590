#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nd {

class CudaError : public std::runtime_error {
public:
    explicit CudaError(cudaError_t rc) : std::runtime_error(cudaGetErrorString(rc)) {}
};

inline void check(cudaError_t rc) {
    if (rc != cudaSuccess) throw CudaError(rc);
}

struct PinnedDelete {
    void operator()(void* p) const noexcept { cudaFreeHost(p); }
};
using PinnedBlock = std::unique_ptr<void, PinnedDelete>;

PinnedBlock makePinned(size_t bytes) {
    void* p = nullptr;
    if (cudaHostAlloc(&p, bytes, cudaHostAllocDefault) != cudaSuccess) throw std::bad_alloc();
    return PinnedBlock(p);
}

struct DeviceDelete {
    cudaStream_t stream{};
    void operator()(void* p) const noexcept { cudaFreeAsync(p, stream); }
};

class Array {
public:
    Array(size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
        void* p = nullptr;
        check(cudaMallocAsync(&p, bytes, stream));
        data_ = std::unique_ptr<void, DeviceDelete>(p, DeviceDelete{stream});
    }
    void assign(const void* host) { check(cudaMemcpyAsync(data_.get(), host, bytes_, cudaMemcpyHostToDevice, stream_)); }
    void fetch(void* host) const {
        check(cudaMemcpyAsync(host, data_.get(), bytes_, cudaMemcpyDeviceToHost, stream_));
        check(cudaStreamSynchronize(stream_));
    }
    void* data() const { return data_.get(); }
    size_t bytes() const { return bytes_; }

private:
    size_t bytes_;
    cudaStream_t stream_;
    std::unique_ptr<void, DeviceDelete> data_;
};

using Rows = std::vector<std::vector<float>>;

class Factory {
public:
    explicit Factory(cudaStream_t stream) : stream_(stream) {}

    Array fromPinned(const void* pinned, size_t bytes) {
        Array a(bytes, stream_);
        a.assign(pinned);
        return a;
    }

    Array fromRows(const Rows& rows) {
        size_t count = 0;
        for (const auto& r : rows) count += r.size();
        PinnedBlock packed = makePinned(count * sizeof(float));
        auto* at = static_cast<float*>(packed.get());
        for (const auto& r : rows) {
            std::memcpy(at, r.data(), r.size() * sizeof(float));
            at += r.size();
        }
        Array a(count * sizeof(float), stream_);
        check(cudaMemcpyAsync(a.data(), packed.get(), a.bytes(), cudaMemcpyHostToDevice, stream_));
        check(cudaStreamSynchronize(stream_));
        return a;
    }

private:
    cudaStream_t stream_;
};

}  // namespace nd

int main() {
    cudaStream_t stream;
    nd::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    {
        nd::Factory factory(stream);
        nd::Rows rows(64, std::vector<float>(4096, 2.0f));
        std::vector<nd::Array> arrays;
        for (int i = 0; i < 8; ++i) arrays.push_back(factory.fromRows(rows));
        auto shared = nd::makePinned(1 << 20);
        std::memset(shared.get(), 0, 1 << 20);
        auto big = factory.fromPinned(shared.get(), 1 << 20);
        std::vector<float> back(64 * 4096);
        for (const auto& a : arrays) a.fetch(back.data());
        nd::check(cudaStreamSynchronize(stream));
    }
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    return 0;
}
