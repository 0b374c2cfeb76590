#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define TLLM_CUDA_CHECK(stat)                                                                      \
    do                                                                                             \
    {                                                                                              \
        auto const result = (stat);                                                                \
        if (result != cudaSuccess)                                                                 \
        {                                                                                          \
            std::fprintf(stderr, "[TensorRT-LLM][ERROR] %s\n", cudaGetErrorString(result));        \
            std::exit(EXIT_FAILURE);                                                               \
        }                                                                                          \
    } while (0)

namespace tensorrt_llm::batch_manager
{

using SizeType32 = std::int32_t;

struct LlmRequest
{
    std::uint64_t requestId;
    std::vector<SizeType32> cacheBlockIds;
};

__global__ void gatherKvKernel(float* __restrict__ out, float const* __restrict__ pool,
    SizeType32 const* __restrict__ blockOffsets, SizeType32 maxBlocks, SizeType32 blockElems)
{
    auto const seq = blockIdx.y;
    auto const slot = blockIdx.x;
    auto const block = blockOffsets[seq * maxBlocks + slot];
    for (SizeType32 i = threadIdx.x; i < blockElems; i += blockDim.x)
    {
        out[(seq * maxBlocks + slot) * blockElems + i] = pool[block * blockElems + i];
    }
}

class TransformerBuffers
{
public:
    TransformerBuffers(SizeType32 maxBatchSize, SizeType32 maxBlocksPerSeq)
        : mMaxBlocks{maxBlocksPerSeq}
        , mNumEntries{maxBatchSize * maxBlocksPerSeq}
    {
        TLLM_CUDA_CHECK(cudaMallocHost(&kvCacheBlockOffsetsHost, mNumEntries * sizeof(SizeType32)));
        TLLM_CUDA_CHECK(cudaMalloc(&kvCacheBlockOffsetsDevice, mNumEntries * sizeof(SizeType32)));
        TLLM_CUDA_CHECK(cudaEventCreateWithFlags(&mCopied, cudaEventDisableTiming));
    }

    ~TransformerBuffers()
    {
        cudaEventDestroy(mCopied);
        cudaFree(kvCacheBlockOffsetsDevice);
        cudaFreeHost(kvCacheBlockOffsetsHost);
    }

    void setKvBlockOffsets(std::vector<LlmRequest> const& requests)
    {
        std::fill_n(kvCacheBlockOffsetsHost, mNumEntries, 0);
        SizeType32 row = 0;
        for (auto const& req : requests)
        {
            auto* dst = kvCacheBlockOffsetsHost + (row++) * mMaxBlocks;
            std::copy(req.cacheBlockIds.begin(), req.cacheBlockIds.end(), dst);
        }
    }

    void copyKvBlockOffsets(cudaStream_t stream)
    {
        TLLM_CUDA_CHECK(cudaMemcpyAsync(kvCacheBlockOffsetsDevice, kvCacheBlockOffsetsHost,
            mNumEntries * sizeof(SizeType32), cudaMemcpyHostToDevice, stream));
        TLLM_CUDA_CHECK(cudaEventRecord(mCopied, stream));
    }

    SizeType32 const* blockOffsets() const
    {
        return kvCacheBlockOffsetsDevice;
    }

private:
    SizeType32 mMaxBlocks;
    SizeType32 mNumEntries;
    SizeType32* kvCacheBlockOffsetsHost{nullptr};
    SizeType32* kvCacheBlockOffsetsDevice{nullptr};
    cudaEvent_t mCopied{nullptr};
};

class DecoderLoop
{
public:
    static constexpr SizeType32 kMaxBatch = 8, kMaxBlocks = 64, kBlockElems = 4096, kPoolBlocks = 1024;

    DecoderLoop()
        : mBuffers{kMaxBatch, kMaxBlocks}
    {
        TLLM_CUDA_CHECK(cudaStreamCreateWithFlags(&mStream, cudaStreamNonBlocking));
        TLLM_CUDA_CHECK(cudaMalloc(&mPool, sizeof(float) * kPoolBlocks * kBlockElems));
        TLLM_CUDA_CHECK(cudaMalloc(&mOut, sizeof(float) * kMaxBatch * kMaxBlocks * kBlockElems));
        TLLM_CUDA_CHECK(cudaMemsetAsync(mPool, 0, sizeof(float) * kPoolBlocks * kBlockElems, mStream));
    }

    ~DecoderLoop()
    {
        cudaStreamSynchronize(mStream);
        cudaFree(mOut);
        cudaFree(mPool);
        cudaStreamDestroy(mStream);
    }

    // The host runs ahead of the device; results are collected by the caller of finish().
    void forwardAsync(std::vector<LlmRequest> const& requests)
    {
        mBuffers.setKvBlockOffsets(requests);
        mBuffers.copyKvBlockOffsets(mStream);
        gatherKvKernel<<<dim3(kMaxBlocks, kMaxBatch), 256, 0, mStream>>>(
            mOut, mPool, mBuffers.blockOffsets(), kMaxBlocks, kBlockElems);
        TLLM_CUDA_CHECK(cudaGetLastError());
    }

    void finish()
    {
        TLLM_CUDA_CHECK(cudaStreamSynchronize(mStream));
    }

private:
    TransformerBuffers mBuffers;
    cudaStream_t mStream{nullptr};
    float* mPool{nullptr};
    float* mOut{nullptr};
};

} // namespace tensorrt_llm::batch_manager

int main()
{
    using namespace tensorrt_llm::batch_manager;
    DecoderLoop loop;
    for (SizeType32 step = 0; step < 32; ++step)
    {
        std::vector<LlmRequest> requests(DecoderLoop::kMaxBatch);
        for (auto& r : requests)
        {
            r.requestId = step;
            r.cacheBlockIds.resize(DecoderLoop::kMaxBlocks);
            std::iota(r.cacheBlockIds.begin(), r.cacheBlockIds.end(), step * 8);
        }
        loop.forwardAsync(requests);
    }
    loop.finish();
    return 0;
}
