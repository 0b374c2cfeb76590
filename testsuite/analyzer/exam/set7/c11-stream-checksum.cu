// Checksum of a long byte stream. Reading, uploading and summing overlap by means of two halves.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CK(call)                                                                        \
    do {                                                                                \
        const cudaError_t ck_rc = (call);                                               \
        if (ck_rc != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(ck_rc)); \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

constexpr size_t kChunk = size_t(4) << 20;

// Stands for a file or a socket.
class ByteSource {
public:
    explicit ByteSource(size_t total) : left_(total) {}

    size_t read(unsigned char* out, size_t capacity)
    {
        const size_t count = capacity < left_ ? capacity : left_;
        for (size_t i = 0; i < count; ++i) {
            state_ = state_ * 1664525u + 1013904223u;
            out[i] = static_cast<unsigned char>(state_ >> 24);
        }
        left_ -= count;
        return count;
    }

private:
    size_t left_;
    uint32_t state_ = 1;
};

__global__ void sum_bytes(const unsigned char* bytes, size_t count, unsigned long long* sum)
{
    unsigned long long local = 0;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
         i += static_cast<size_t>(gridDim.x) * blockDim.x)
        local += bytes[i];
    atomicAdd(sum, local);
}

class Checksummer {
public:
    Checksummer()
    {
        CK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
        CK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CK(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming));
        CK(cudaMalloc(&sum_, sizeof *sum_));
        CK(cudaMallocHost(&host_sum_, sizeof *host_sum_));
        for (Half& half : halves_) {
            CK(cudaMallocHost(&half.host, kChunk));
            CK(cudaMalloc(&half.device, kChunk));
            CK(cudaEventCreateWithFlags(&half.uploaded, cudaEventDisableTiming));
            CK(cudaEventCreateWithFlags(&half.summed, cudaEventDisableTiming));
        }
    }

    Checksummer(const Checksummer&) = delete;
    Checksummer& operator=(const Checksummer&) = delete;

    ~Checksummer()
    {
        CK(cudaStreamSynchronize(upload_));
        CK(cudaStreamSynchronize(compute_));
        for (Half& half : halves_) {
            cudaFreeHost(half.host);
            cudaFree(half.device);
            cudaEventDestroy(half.uploaded);
            cudaEventDestroy(half.summed);
        }
        cudaFree(sum_);
        cudaFreeHost(host_sum_);
        cudaEventDestroy(finished_);
        cudaStreamDestroy(upload_);
        cudaStreamDestroy(compute_);
    }

    // Queues everything; the answer is fetched with result().
    void feed(ByteSource& source)
    {
        CK(cudaMemsetAsync(sum_, 0, sizeof *sum_, compute_));
        for (;;) {
            Half& half = halves_[turn_];
            CK(cudaEventSynchronize(half.uploaded));
            const size_t count = source.read(half.host, kChunk);
            if (count == 0)
                break;
            send(half, count);
            turn_ = 1 - turn_;
        }
        CK(cudaMemcpyAsync(host_sum_, sum_, sizeof *sum_, cudaMemcpyDeviceToHost, compute_));
        CK(cudaEventRecord(finished_, compute_));
    }

    unsigned long long result()
    {
        CK(cudaEventSynchronize(finished_));
        return *host_sum_;
    }

private:
    struct Half {
        unsigned char* host = nullptr;
        unsigned char* device = nullptr;
        cudaEvent_t uploaded = nullptr;
        cudaEvent_t summed = nullptr;
    };

    void send(Half& half, size_t count)
    {
        CK(cudaStreamWaitEvent(upload_, half.summed, 0));
        CK(cudaMemcpyAsync(half.device, half.host, count, cudaMemcpyHostToDevice, upload_));
        CK(cudaEventRecord(half.uploaded, upload_));
        CK(cudaStreamWaitEvent(compute_, half.uploaded, 0));
        sum_bytes<<<128, 256, 0, compute_>>>(half.device, count, sum_);
        CK(cudaGetLastError());
        CK(cudaEventRecord(half.summed, compute_));
    }

    std::array<Half, 2> halves_;
    int turn_ = 0;
    cudaStream_t upload_ = nullptr;
    cudaStream_t compute_ = nullptr;
    cudaEvent_t finished_ = nullptr;
    unsigned long long* sum_ = nullptr;
    unsigned long long* host_sum_ = nullptr;
};

int main()
{
    Checksummer checksummer;
    for (const size_t total : {size_t(1) << 26, size_t(12345678), size_t(0)}) {
        ByteSource source(total);
        checksummer.feed(source);
        std::printf("%zu bytes: sum %llu\n", total, checksummer.result());
    }
    return 0;
}
