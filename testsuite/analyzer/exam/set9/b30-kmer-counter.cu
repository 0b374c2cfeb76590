// k-mer counting for sequencing reads that arrive in batches.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace kmers {

inline void must(cudaError_t e, const char* where) {
    if (e != cudaSuccess) throw std::runtime_error(std::string(where) + cudaGetErrorString(e));
}

// Device memory with stream-ordered lifetime.
class StreamBuffer {
public:
    StreamBuffer(size_t bytes, cudaStream_t stream) : stream_(stream) {
        must(cudaMallocAsync(&data_, bytes, stream), "StreamBuffer: ");
    }
    ~StreamBuffer() {
        if (data_ != nullptr) cudaFreeAsync(data_, stream_);
    }
    StreamBuffer(StreamBuffer&& o) noexcept
        : data_(std::exchange(o.data_, nullptr)), stream_(o.stream_) {}
    StreamBuffer(const StreamBuffer&) = delete;
    StreamBuffer& operator=(const StreamBuffer&) = delete;

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    // The stream on which the memory is given back.
    void set_stream(cudaStream_t stream) { stream_ = stream; }

private:
    void* data_ = nullptr;
    cudaStream_t stream_;
};

__device__ __forceinline__ uint32_t base_code(char c) {
    return c == 'A' ? 0u : c == 'C' ? 1u : c == 'G' ? 2u : 3u;
}

__global__ void count_kmers(const char* reads, int length, int k, uint32_t* histogram) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + k > length) return;
    uint32_t code = 0;
    for (int j = 0; j < k; ++j) code = code << 2 | base_code(reads[i + j]);
    atomicAdd(histogram + code, 1u);
}

class Counter {
public:
    Counter(int k, int max_batch) : k_(k), max_batch_(max_batch) {
        must(cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking), "stream: ");
        must(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking), "stream: ");
        must(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming), "event: ");
        must(cudaMallocHost(&staging_, max_batch), "staging: ");
        must(cudaMalloc(&histogram_, bins() * sizeof(uint32_t)), "histogram: ");
        must(cudaMemsetAsync(histogram_, 0, bins() * sizeof(uint32_t), compute_), "clear: ");
    }

    ~Counter() {
        cudaStreamSynchronize(io_);
        cudaStreamSynchronize(compute_);
        cudaFree(histogram_);
        cudaFreeHost(staging_);
        cudaEventDestroy(uploaded_);
        cudaStreamDestroy(io_);
        cudaStreamDestroy(compute_);
    }

    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    void add_batch(const char* reads, int length) {
        if (length < k_) return;
        if (length > max_batch_) throw std::length_error("batch too long");
        StreamBuffer device_reads = upload(reads, length);
        must(cudaStreamWaitEvent(compute_, uploaded_, 0), "wait: ");
        const int threads = 256;
        count_kmers<<<(length + threads - 1) / threads, threads, 0, compute_>>>(
            device_reads.as<char>(), length, k_, histogram_);
        must(cudaGetLastError(), "count_kmers: ");
    }

    // `out` holds 4^k counters.
    void read(uint32_t* out) {
        must(cudaMemcpyAsync(out, histogram_, bins() * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                             compute_),
             "read: ");
        must(cudaStreamSynchronize(compute_), "read: ");
    }

private:
    size_t bins() const { return size_t(1) << (2 * k_); }

    StreamBuffer upload(const char* reads, int length) {
        // The previous batch may still be leaving the staging area.
        must(cudaEventSynchronize(uploaded_), "upload: ");
        std::memcpy(staging_, reads, length);
        StreamBuffer buffer(length, io_);
        must(cudaMemcpyAsync(buffer.as<char>(), staging_, length, cudaMemcpyHostToDevice, io_),
             "upload: ");
        must(cudaEventRecord(uploaded_, io_), "upload: ");
        return buffer;
    }

    int k_;
    int max_batch_;
    cudaStream_t io_ = nullptr;
    cudaStream_t compute_ = nullptr;
    cudaEvent_t uploaded_ = nullptr;
    char* staging_ = nullptr;
    uint32_t* histogram_ = nullptr;
};

}  // namespace kmers
