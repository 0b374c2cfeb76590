#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

#define CUDA_TRY(x)                                                          \
    do {                                                                     \
        cudaError_t const rc = (x);                                          \
        if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc)); \
    } while (0)

struct DeviceScope {
    int saved = 0;
    explicit DeviceScope(int d) {
        CUDA_TRY(cudaGetDevice(&saved));
        CUDA_TRY(cudaSetDevice(d));
    }
    ~DeviceScope() { cudaSetDevice(saved); }
};

struct Slab {
    char* data = nullptr;
    std::vector<cudaEvent_t> used;
    int lastDevice = -1;
};

class SlabPool {
public:
    SlabPool(int devices, int slabs, size_t bytes) : bytes_(bytes), slabs_(slabs) {
        for (Slab& s : slabs_) {
            CUDA_TRY(cudaHostAlloc(reinterpret_cast<void**>(&s.data), bytes, cudaHostAllocPortable));
            s.used.resize(devices);
            for (int d = 0; d < devices; ++d) {
                CUDA_TRY(cudaEventCreateWithFlags(&s.used[d], cudaEventDisableTiming));
            }
            idle_.push_back(&s);
        }
    }
    ~SlabPool() {
        for (Slab& s : slabs_) {
            for (cudaEvent_t e : s.used) cudaEventDestroy(e);
            cudaFreeHost(s.data);
        }
    }

    Slab* acquire() {
        Slab* s = idle_.front();
        idle_.pop_front();
        if (s->lastDevice >= 0) CUDA_TRY(cudaEventSynchronize(s->used[s->lastDevice]));
        return s;
    }

    void release(Slab* s, int device, cudaStream_t stream) {
        s->lastDevice = device;
        (void)cudaEventRecord(s->used[device], stream);
        idle_.push_back(s);
    }

    size_t bytes() const { return bytes_; }

private:
    size_t bytes_;
    std::vector<Slab> slabs_;
    std::deque<Slab*> idle_;
};

class DeviceTable {
public:
    DeviceTable(int device, size_t bytes) : device_(device) {
        DeviceScope scope(device);
        CUDA_TRY(cudaMalloc(reinterpret_cast<void**>(&columns_), bytes));
        CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    DeviceTable(const DeviceTable&) = delete;
    ~DeviceTable() {
        DeviceScope scope(device_);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
        cudaFree(columns_);
    }

    void append(SlabPool& pool, const std::vector<char>& rows) {
        DeviceScope scope(device_);
        for (size_t at = 0; at < rows.size(); at += pool.bytes()) {
            const size_t n = rows.size() - at < pool.bytes() ? rows.size() - at : pool.bytes();
            Slab* slab = pool.acquire();
            std::memcpy(slab->data, rows.data() + at, n);
            CUDA_TRY(cudaMemcpyAsync(columns_ + at, slab->data, n, cudaMemcpyHostToDevice, stream_));
            pool.release(slab, device_, stream_);
        }
    }

private:
    int device_;
    char* columns_ = nullptr;
    cudaStream_t stream_{};
};

int main() {
    int devices = 0;
    CUDA_TRY(cudaGetDeviceCount(&devices));
    if (devices < 2) return 0;
    CUDA_TRY(cudaSetDevice(0));
    std::vector<char> rows(32 << 20, 'x');
    SlabPool pool(2, 4, 1 << 20);
    {
        DeviceTable first(0, rows.size());
        DeviceTable second(1, rows.size());
        for (int i = 0; i < 4; ++i) {
            first.append(pool, rows);
            second.append(pool, rows);
        }
    }
    return 0;
}
