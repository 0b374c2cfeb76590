// Pages of a huge terrain map are brought into a small atlas on the GPU when a frame needs them.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace terrain {

constexpr size_t kPageTexels = 256 * 256;

inline void ensure(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(what);
}

__global__ void shade_page(const uint16_t* page, float* frame, int pixels, float sun)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        frame[i] += sun * page[(i * 97) % kPageTexels];
}

// All pages on the host, page-locked and never changed while a pager uses them.
struct PageStore {
    const uint16_t* texels;
    int pages;
    const uint16_t* page(int id) const { return texels + static_cast<size_t>(id) * kPageTexels; }
};

class AtlasPager {
public:
    struct Slot {
        int page = -1;
        uint64_t touched = 0;
        uint16_t* texels = nullptr;
        cudaEvent_t loaded = nullptr;
        cudaEvent_t last_use = nullptr;
    };

    AtlasPager(const PageStore& store, int slots, cudaStream_t render) : store_(store), render_(render), slots_(slots)
    {
        ensure(cudaMalloc(&atlas_, slots * kPageTexels * sizeof(uint16_t)), "atlas");
        for (int i = 0; i < slots; ++i) {
            slots_[i].texels = atlas_ + i * kPageTexels;
            ensure(cudaEventCreateWithFlags(&slots_[i].loaded, cudaEventDisableTiming), "event");
            ensure(cudaEventCreateWithFlags(&slots_[i].last_use, cudaEventDisableTiming), "event");
        }
        for (cudaStream_t& stream : copiers_)
            ensure(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    }

    AtlasPager(const AtlasPager&) = delete;
    AtlasPager& operator=(const AtlasPager&) = delete;

    ~AtlasPager()
    {
        cudaDeviceSynchronize();
        for (const Slot& slot : slots_) {
            cudaEventDestroy(slot.loaded);
            cudaEventDestroy(slot.last_use);
        }
        for (cudaStream_t stream : copiers_)
            cudaStreamDestroy(stream);
        cudaFree(atlas_);
    }

    // The page may be used on the render stream until the next acquire(); end the use with done_with().
    Slot& acquire(int page)
    {
        Slot& slot = find_or_load(page);
        slot.touched = ++clock_;
        ensure(cudaStreamWaitEvent(render_, slot.loaded, 0), "wait for page");
        return slot;
    }

    void done_with(Slot& slot) { ensure(cudaEventRecord(slot.last_use, render_), "record use"); }

    cudaStream_t render_stream() const { return render_; }

private:
    Slot& find_or_load(int page)
    {
        Slot* oldest = &slots_.front();
        for (Slot& slot : slots_) {
            if (slot.page == page)
                return slot;
            if (slot.touched < oldest->touched)
                oldest = &slot;
        }
        load(*oldest, page);
        return *oldest;
    }

    void load(Slot& slot, int page)
    {
        cudaStream_t copier = copiers_[next_copier_];
        next_copier_ = (next_copier_ + 1) % copiers_.size();
        ensure(cudaMemcpyAsync(slot.texels, store_.page(page), kPageTexels * sizeof(uint16_t), cudaMemcpyHostToDevice,
                               copier),
               "load page");
        ensure(cudaEventRecord(slot.loaded, copier), "record load");
        slot.page = page;
    }

    const PageStore& store_;
    cudaStream_t render_;
    std::vector<Slot> slots_;
    std::array<cudaStream_t, 3> copiers_{};
    size_t next_copier_ = 0;
    uint64_t clock_ = 0;
    uint16_t* atlas_ = nullptr;
};

// Queues one frame on the render stream.
void draw_frame(AtlasPager& pager, const std::vector<int>& visible, float* frame, int pixels, float sun)
{
    const cudaStream_t render = pager.render_stream();
    ensure(cudaMemsetAsync(frame, 0, pixels * sizeof(float), render), "clear frame");
    for (const int page : visible) {
        AtlasPager::Slot& slot = pager.acquire(page);
        shade_page<<<(pixels + 255) / 256, 256, 0, render>>>(slot.texels, frame, pixels, sun);
        pager.done_with(slot);
    }
    ensure(cudaGetLastError(), "shade");
}

}  // namespace terrain
