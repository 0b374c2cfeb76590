#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define COL_EXPECTS(rc)                                                        \
    if (cudaError_t e_ = (rc); e_ != cudaSuccess) {                            \
        std::fprintf(stderr, "columns: %s\n", cudaGetErrorString(e_));         \
        std::abort();                                                          \
    }

namespace columns {

struct ColumnView {
    const int32_t* data;
    int rows;
};

__global__ void markSeen(const int32_t* data, int rows, uint32_t* bitmap, int bits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        uint32_t h = static_cast<uint32_t>(data[i]) % bits;
        atomicOr(&bitmap[h / 32], 1u << (h % 32));
    }
}

__global__ void countBits(const uint32_t* bitmap, int words, int* total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) atomicAdd(total, __popc(bitmap[i]));
}

class Scratch {
public:
    explicit Scratch(int bits) : bits_(bits) {
        COL_EXPECTS(cudaMalloc(&bitmap_, words() * sizeof(uint32_t)));
        COL_EXPECTS(cudaMalloc(&total_, sizeof(int)));
        COL_EXPECTS(cudaMallocHost(&result_, sizeof(int)));
    }
    ~Scratch() {
        cudaFreeHost(result_);
        cudaFree(total_);
        cudaFree(bitmap_);
    }
    Scratch(const Scratch&) = delete;
    int bits() const { return bits_; }
    int words() const { return (bits_ + 31) / 32; }
    uint32_t* bitmap() const { return bitmap_; }
    int* total() const { return total_; }
    int* result() const { return result_; }

private:
    int bits_;
    uint32_t* bitmap_ = nullptr;
    int* total_ = nullptr;
    int* result_ = nullptr;
};

int distinctCount(const ColumnView& column, Scratch& scratch, cudaStream_t stream) {
    COL_EXPECTS(cudaMemsetAsync(scratch.bitmap(), 0, scratch.words() * sizeof(uint32_t), stream));
    COL_EXPECTS(cudaMemsetAsync(scratch.total(), 0, sizeof(int), stream));
    markSeen<<<(column.rows + 255) / 256, 256, 0, stream>>>(column.data, column.rows, scratch.bitmap(), scratch.bits());
    countBits<<<(scratch.words() + 255) / 256, 256, 0, stream>>>(scratch.bitmap(), scratch.words(), scratch.total());
    COL_EXPECTS(cudaMemcpyAsync(scratch.result(), scratch.total(), sizeof(int), cudaMemcpyDeviceToHost, stream));
    COL_EXPECTS(cudaStreamSynchronize(stream));
    return *scratch.result();
}

}  // namespace columns

class Query {
public:
    explicit Query(int rows) : rows_(rows), scratch_(1 << 16) {
        COL_EXPECTS(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        COL_EXPECTS(cudaMalloc(&keys_, rows * sizeof(int32_t)));
        COL_EXPECTS(cudaMemsetAsync(keys_, 1, rows * sizeof(int32_t), stream_));
    }
    ~Query() {
        cudaStreamSynchronize(stream_);
        cudaFree(keys_);
        cudaStreamDestroy(stream_);
    }
    Query(const Query&) = delete;
    int cardinality() { return columns::distinctCount({keys_, rows_}, scratch_, stream_); }

private:
    int rows_;
    columns::Scratch scratch_;
    cudaStream_t stream_{};
    int32_t* keys_ = nullptr;
};

int main() {
    Query orders(1 << 20), items(1 << 22);
    long sum = 0;
    for (int i = 0; i < 8; ++i) sum += orders.cardinality() + items.cardinality();
    std::printf("%ld\n", sum);
    return 0;
}
