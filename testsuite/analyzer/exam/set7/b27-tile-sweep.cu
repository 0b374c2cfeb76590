// Shallow-water toy: the strip of cells is cut into tiles and every tile works on a stream of a ring.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x)                                                                    \
    do {                                                                         \
        cudaError_t e = (x);                                                     \
        if (e != cudaSuccess) {                                                  \
            std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e));       \
            std::exit(EXIT_FAILURE);                                             \
        }                                                                        \
    } while (0)

class StreamRing {
public:
    explicit StreamRing(int count) : streams_(count), reached_(count)
    {
        for (int i = 0; i < count; ++i) {
            CK(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking));
            CK(cudaEventCreateWithFlags(&reached_[i], cudaEventDisableTiming));
        }
    }
    ~StreamRing()
    {
        for (size_t i = 0; i < streams_.size(); ++i) {
            cudaStreamSynchronize(streams_[i]);
            cudaEventDestroy(reached_[i]);
            cudaStreamDestroy(streams_[i]);
        }
    }
    StreamRing(const StreamRing&) = delete;
    StreamRing& operator=(const StreamRing&) = delete;

    cudaStream_t at(int i) const { return streams_[i % streams_.size()]; }

    // Everything queued on any stream so far comes before everything queued from now on.
    void barrier()
    {
        for (size_t i = 0; i < streams_.size(); ++i)
            CK(cudaEventRecord(reached_[i], streams_[i]));
        for (cudaStream_t stream : streams_)
            for (cudaEvent_t event : reached_)
                CK(cudaStreamWaitEvent(stream, event, 0));
    }

private:
    std::vector<cudaStream_t> streams_;
    std::vector<cudaEvent_t> reached_;
};

struct Tile {
    int first;
    int last;
    cudaStream_t stream;
};

class TileRange {
public:
    TileRange(StreamRing& ring, int cells, int tile) : ring_(ring), cells_(cells), tile_(tile) {}

    template <class Body>
    void for_each(Body body) const
    {
        int index = 0;
        for (int first = 0; first < cells_; first += tile_, ++index)
            body(Tile{first, first + tile_ < cells_ ? first + tile_ : cells_, ring_.at(index)});
    }

private:
    StreamRing& ring_;
    int cells_;
    int tile_;
};

__global__ void init_height(float* h, int cells)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells)
        h[i] = i < cells / 2 ? 2.f : 1.f;
}

// flux[i] belongs to the face between the cells i-1 and i.
__global__ void face_flux(const float* h, float* flux, Tile tile)
{
    const int i = tile.first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tile.last)
        flux[i] = i == 0 ? 0.f : 0.5f * (h[i - 1] - h[i]);
}

__global__ void update_height(float* h, const float* flux, Tile tile, int cells)
{
    const int i = tile.first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tile.last)
        h[i] += 0.4f * (flux[i] - (i + 1 < cells ? flux[i + 1] : 0.f));
}

void advance(StreamRing& ring, const TileRange& tiles, float* h, float* flux, int cells)
{
    tiles.for_each([&](const Tile& tile) {
        const int n = tile.last - tile.first;
        face_flux<<<(n + 127) / 128, 128, 0, tile.stream>>>(h, flux, tile);
    });
    tiles.for_each([&](const Tile& tile) {
        const int n = tile.last - tile.first;
        update_height<<<(n + 127) / 128, 128, 0, tile.stream>>>(h, flux, tile, cells);
    });
    CK(cudaGetLastError());
    ring.barrier();
}

int main()
{
    const int cells = 1 << 16;
    StreamRing ring(4);
    TileRange tiles(ring, cells, 4096);
    float *h = nullptr, *flux = nullptr;
    CK(cudaMalloc(&h, sizeof(float) * cells));
    CK(cudaMalloc(&flux, sizeof(float) * cells));

    init_height<<<(cells + 255) / 256, 256, 0, ring.at(0)>>>(h, cells);
    ring.barrier();
    for (int step = 0; step < 200; ++step)
        advance(ring, tiles, h, flux, cells);

    std::vector<float> result(cells);
    CK(cudaMemcpyAsync(result.data(), h, sizeof(float) * cells, cudaMemcpyDeviceToHost, ring.at(0)));
    CK(cudaStreamSynchronize(ring.at(0)));
    double mass = 0;
    for (float value : result)
        mass += value;
    std::printf("mass %.3f, expected %.3f\n", mass, 1.5 * cells);
    CK(cudaFree(flux));
    CK(cudaFree(h));
    return std::fabs(mass - 1.5 * cells) < 1.0 ? 0 : 1;
}
