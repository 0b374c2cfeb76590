// Uploads a point cloud in pieces through few pinned slots, which a host function hands back.
#include <cuda_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#define CUDA_TRY(call)                                                               \
    do {                                                                             \
        const cudaError_t try_rc = (call);                                           \
        if (try_rc != cudaSuccess) {                                                 \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(try_rc)); \
            std::exit(3);                                                            \
        }                                                                            \
    } while (0)

class SlotRing {
public:
    struct Slot {
        SlotRing* ring = nullptr;
        float* memory = nullptr;
    };

    SlotRing(int slots, size_t floats) : floats_(floats)
    {
        for (int i = 0; i < slots; ++i) {
            auto slot = std::make_unique<Slot>();
            slot->ring = this;
            CUDA_TRY(cudaMallocHost(&slot->memory, floats * sizeof(float)));
            idle_.push_back(slot.get());
            slots_.push_back(std::move(slot));
        }
    }

    SlotRing(const SlotRing&) = delete;
    SlotRing& operator=(const SlotRing&) = delete;

    // Waits until every slot is back.
    ~SlotRing()
    {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            returned_.wait(lock, [this] { return idle_.size() == slots_.size(); });
        }
        for (const auto& slot : slots_)
            cudaFreeHost(slot->memory);
    }

    Slot* take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        returned_.wait(lock, [this] { return !idle_.empty(); });
        Slot* slot = idle_.back();
        idle_.pop_back();
        return slot;
    }

    // The slot comes back when everything that is on the stream now has run.
    void give_back_behind(cudaStream_t stream, Slot* slot)
    {
        CUDA_TRY(cudaLaunchHostFunc(stream, &SlotRing::on_reached, slot));
    }

    size_t floats() const { return floats_; }

private:
    static void CUDART_CB on_reached(void* data)
    {
        Slot* slot = static_cast<Slot*>(data);
        SlotRing* ring = slot->ring;
        std::lock_guard<std::mutex> lock(ring->mutex_);
        ring->idle_.push_back(slot);
        ring->returned_.notify_all();
    }

    size_t floats_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<Slot*> idle_;
};

void upload(SlotRing& ring, float* target, const std::vector<float>& source, cudaStream_t stream)
{
    for (size_t done = 0; done < source.size();) {
        const size_t part = std::min(ring.floats(), source.size() - done);
        SlotRing::Slot* slot = ring.take();
        std::memcpy(slot->memory, source.data() + done, part * sizeof(float));
        CUDA_TRY(cudaMemcpyAsync(target + done, slot->memory, part * sizeof(float), cudaMemcpyHostToDevice, stream));
        ring.give_back_behind(stream, slot);
        done += part;
    }
}

__global__ void highest(const float* points, int n, unsigned* best)
{
    unsigned local = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        local = max(local, static_cast<unsigned>(points[i]));
    atomicMax(best, local);
}

int main()
{
    const int n = 3000000;
    cudaStream_t stream;
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float* points = nullptr;
    unsigned *best = nullptr, *host_best = nullptr;
    CUDA_TRY(cudaMalloc(&points, n * sizeof(float)));
    CUDA_TRY(cudaMalloc(&best, sizeof(unsigned)));
    CUDA_TRY(cudaMallocHost(&host_best, sizeof(unsigned)));

    SlotRing ring(3, 1 << 18);
    for (int round = 0; round < 5; ++round) {
        {
            std::vector<float> cloud(n);
            for (int i = 0; i < n; ++i)
                cloud[i] = static_cast<float>((i * 7) % (1000 + round));
            upload(ring, points, cloud, stream);
        }
        CUDA_TRY(cudaMemsetAsync(best, 0, sizeof(unsigned), stream));
        highest<<<96, 256, 0, stream>>>(points, n, best);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaMemcpyAsync(host_best, best, sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(cudaStreamSynchronize(stream));
        std::printf("round %d: highest %u\n", round, *host_best);
    }

    CUDA_TRY(cudaFree(points));
    CUDA_TRY(cudaFree(best));
    CUDA_TRY(cudaFreeHost(host_best));
    CUDA_TRY(cudaStreamDestroy(stream));
    return 0;
}
