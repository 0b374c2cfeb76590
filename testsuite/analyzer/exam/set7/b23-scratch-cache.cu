// Ranks auction bids and numbers the winners. Two sections of the pipeline work side by side.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#define OK(call)                                                                                     \
    do {                                                                                             \
        cudaError_t rc_ = (call);                                                                    \
        if (rc_ != cudaSuccess) {                                                                    \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));         \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

// Temporary storage for CUB. It grows on demand and is kept until the end of the program.
class ScratchCache {
public:
    void* get(size_t bytes, cudaStream_t stream)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        int device = 0;
        OK(cudaGetDevice(&device));
        Block& block = blocks_[Key(device)];
        if (block.bytes < bytes) {
            OK(cudaStreamSynchronize(stream));
            OK(cudaFree(block.data));
            OK(cudaMalloc(&block.data, bytes));
            block.bytes = bytes;
        }
        return block.data;
    }

    void clear()
    {
        OK(cudaDeviceSynchronize());
        for (auto& entry : blocks_)
            OK(cudaFree(entry.second.data));
        blocks_.clear();
    }

private:
    using Key = int;
    struct Block {
        void* data = nullptr;
        size_t bytes = 0;
    };
    std::mutex mutex_;
    std::map<Key, Block> blocks_;
};

ScratchCache scratch;

__global__ void make_bids(uint32_t* price, uint32_t* bidder, int n, uint32_t seed)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        price[i] = (i * 2654435761u + seed) >> 8;
        bidder[i] = i;
    }
}

__global__ void mark_winners(const uint32_t* flags_in, int* flags, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        flags[i] = (flags_in[i] % 7u) == 0u;
}

void rank_bids(const uint32_t* price, uint32_t* price_out, const uint32_t* bidder, uint32_t* bidder_out, int n,
               cudaStream_t stream)
{
    size_t bytes = 0;
    OK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, price, price_out, bidder, bidder_out, n, 0, 32, stream));
    void* temp = scratch.get(bytes, stream);
    OK(cub::DeviceRadixSort::SortPairs(temp, bytes, price, price_out, bidder, bidder_out, n, 0, 32, stream));
}

void number_winners(const int* flags, int* position, int n, cudaStream_t stream)
{
    size_t bytes = 0;
    OK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, flags, position, n, stream));
    void* temp = scratch.get(bytes, stream);
    OK(cub::DeviceScan::ExclusiveSum(temp, bytes, flags, position, n, stream));
}

uint32_t ranking_section(int n, int rounds)
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    uint32_t* buffer = nullptr;
    OK(cudaMalloc(&buffer, sizeof(uint32_t) * 4 * n));
    for (int r = 0; r < rounds; ++r) {
        make_bids<<<(n + 255) / 256, 256, 0, stream>>>(buffer, buffer + n, n, 17u * r);
        rank_bids(buffer, buffer + 2 * n, buffer + n, buffer + 3 * n, n, stream);
    }
    uint32_t best = 0;
    OK(cudaMemcpyAsync(&best, buffer + 4 * n - 1, sizeof best, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(buffer));
    OK(cudaStreamDestroy(stream));
    return best;
}

int winner_section(int n, int rounds)
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    uint32_t* ids = nullptr;
    int* flags = nullptr;
    OK(cudaMalloc(&ids, sizeof(uint32_t) * 2 * n));
    OK(cudaMalloc(&flags, sizeof(int) * 2 * n));
    for (int r = 0; r < rounds; ++r) {
        make_bids<<<(n + 255) / 256, 256, 0, stream>>>(ids, ids + n, n, 31u * r);
        mark_winners<<<(n + 255) / 256, 256, 0, stream>>>(ids, flags, n);
        number_winners(flags, flags + n, n, stream);
    }
    int count = 0;
    OK(cudaMemcpyAsync(&count, flags + 2 * n - 1, sizeof count, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(ids));
    OK(cudaFree(flags));
    OK(cudaStreamDestroy(stream));
    return count;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    uint32_t best = 0;
    int winners = 0;
    std::thread ranking([&] { best = ranking_section(n, 50); });
    std::thread counting([&] { winners = winner_section(n, 50); });
    ranking.join();
    counting.join();
    std::printf("best bidder %u, %d winners\n", best, winners);
    scratch.clear();
    return 0;
}
