#include <cuda_runtime.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace kv
{

inline void tllmCheck(cudaError_t result, char const* expr, int line)
{
    if (result != cudaSuccess)
    {
        throw std::runtime_error(std::string(expr) + " @" + std::to_string(line) + ": " + cudaGetErrorString(result));
    }
}
#define KV_CHECK(e) ::kv::tllmCheck((e), #e, __LINE__)

struct PageMove
{
    half const* src;
    half* dst;
};

__global__ void gatherLastToken(half const* page, half* out, int headDim, int pageTokens)
{
    for (int d = threadIdx.x; d < headDim; d += blockDim.x)
    {
        out[d] = page[(pageTokens - 1) * headDim + d];
    }
}

class CacheMigrator
{
public:
    CacheMigrator(int headDim, int pageTokens)
        : mHeadDim(headDim)
        , mPageTokens(pageTokens)
    {
        KV_CHECK(cudaStreamCreateWithFlags(&mMigrateStream, cudaStreamNonBlocking));
        KV_CHECK(cudaEventCreateWithFlags(&mStart, cudaEventDisableTiming));
        KV_CHECK(cudaEventCreateWithFlags(&mDone, cudaEventDisableTiming));
    }

    ~CacheMigrator()
    {
        cudaStreamSynchronize(mMigrateStream);
        cudaEventDestroy(mDone);
        cudaEventDestroy(mStart);
        cudaStreamDestroy(mMigrateStream);
    }

    CacheMigrator(CacheMigrator const&) = delete;
    CacheMigrator& operator=(CacheMigrator const&) = delete;

    //! Starts the moves behind all work that \p execStream has now.
    void migrate(std::vector<PageMove> const& moves, cudaStream_t execStream)
    {
        KV_CHECK(cudaEventRecord(mStart, execStream));
        KV_CHECK(cudaStreamWaitEvent(mMigrateStream, mStart, 0));
        for (auto const& m : moves)
        {
            KV_CHECK(cudaMemcpyAsync(m.dst, m.src, pageBytes(), cudaMemcpyDeviceToDevice, mMigrateStream));
        }
        KV_CHECK(cudaEventRecord(mDone, mMigrateStream));
    }

    //! Makes \p execStream wait for the last migrate().
    void fence(cudaStream_t execStream)
    {
        KV_CHECK(cudaStreamWaitEvent(execStream, mDone, 0));
    }

    std::size_t pageBytes() const
    {
        return sizeof(half) * mHeadDim * mPageTokens;
    }

    int headDim() const { return mHeadDim; }
    int pageTokens() const { return mPageTokens; }

private:
    int mHeadDim;
    int mPageTokens;
    cudaStream_t mMigrateStream{};
    cudaEvent_t mStart{};
    cudaEvent_t mDone{};
};

//! Moves pages to their new place and collects the last token of each of them.
void migrateAndGather(CacheMigrator& migrator, std::vector<PageMove> const& moves, half* out, cudaStream_t stream)
{
    migrator.migrate(moves, stream);
    migrator.fence(stream);
    for (auto const& m : moves)
    {
        gatherLastToken<<<1, 128, 0, stream>>>(m.dst, out, migrator.headDim(), migrator.pageTokens());
        KV_CHECK(cudaGetLastError());
        out += migrator.headDim();
    }
}

} // namespace kv
