#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define JNI_CUDA(x)                                                      \
    do {                                                                 \
        cudaError_t jrc = (x);                                           \
        if (jrc != cudaSuccess) {                                        \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(jrc)); \
            std::abort();                                                \
        }                                                                \
    } while (0)

class DeviceArena {
public:
    explicit DeviceArena(size_t bytes) : capacity_(bytes) { JNI_CUDA(cudaMalloc(&base_, bytes)); }
    ~DeviceArena() { cudaFree(base_); }
    DeviceArena(const DeviceArena&) = delete;
    template <typename T>
    T* take(size_t count) {
        const size_t bytes = (count * sizeof(T) + 255) / 256 * 256;
        if (top_ + bytes > capacity_) std::abort();
        T* p = reinterpret_cast<T*>(base_ + top_);
        top_ += bytes;
        return p;
    }
    size_t mark() const { return top_; }
    void rewind(size_t m) { top_ = m; }

private:
    size_t capacity_;
    size_t top_ = 0;
    char* base_ = nullptr;
};

class ArenaFrame {
public:
    explicit ArenaFrame(DeviceArena& a) : arena_(a), mark_(a.mark()) {}
    ~ArenaFrame() { arena_.rewind(mark_); }
    ArenaFrame(const ArenaFrame&) = delete;

private:
    DeviceArena& arena_;
    size_t mark_;
};

__global__ void expandOffsets(int32_t* offsets, int rows, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= rows) offsets[i] = i * width;
}

__global__ void copyRows(const int32_t* offsets, uint8_t* rows, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int b = 0; b < width; ++b) rows[offsets[i] + b] = static_cast<uint8_t>(b);
    }
}

struct Batch {
    int rows;
    int declaredRows;
    int width;
};

enum class Status { ok, badRowCount };

class RowConverter {
public:
    explicit RowConverter(DeviceArena& arena) : arena_(arena) {
        for (auto& s : streams_) JNI_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    }
    ~RowConverter() {
        for (auto s : streams_) {
            cudaStreamSynchronize(s);
            cudaStreamDestroy(s);
        }
    }
    Status convert(const Batch& b) {
        const cudaStream_t stream = streams_[calls_++ % 2];
        ArenaFrame frame(arena_);
        auto* offsets = arena_.take<int32_t>(b.rows + 1);
        expandOffsets<<<(b.rows + 128) / 128, 128, 0, stream>>>(offsets, b.rows, b.width);
        JNI_CUDA(cudaGetLastError());
        if (b.rows != b.declaredRows) {
            JNI_CUDA(cudaStreamSynchronize(stream));
            return Status::badRowCount;
        }
        auto* rows = arena_.take<uint8_t>(static_cast<size_t>(b.rows) * b.width);
        copyRows<<<(b.rows + 127) / 128, 128, 0, stream>>>(offsets, rows, b.rows, b.width);
        JNI_CUDA(cudaStreamSynchronize(stream));
        return Status::ok;
    }

private:
    DeviceArena& arena_;
    unsigned calls_ = 0;
    cudaStream_t streams_[2]{};
};

int main() {
    DeviceArena arena(256 << 20);
    int bad = 0;
    {
        RowConverter converter(arena);
        std::vector<Batch> batches;
        for (int i = 0; i < 64; ++i) batches.push_back({1 << 18, i % 7 == 3 ? 1 : 1 << 18, 64 + i});
        for (const Batch& b : batches) bad += converter.convert(b) != Status::ok;
    }
    std::printf("%d rejected\n", bad);
    return 0;
}
