// Stream-ordered glyph rasterisation. Bitmaps are allocated on the stream of the producer and
// released on the stream of the last consumer.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace glyphs {

inline void ensure(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// A device allocation that follows its user from stream to stream.
class Bitmap {
public:
    Bitmap(int side, cudaStream_t home) : side_(side), home_(home) {
        ensure(cudaMallocAsync(reinterpret_cast<void**>(&data_), size_t(side) * side, home));
    }
    Bitmap(Bitmap&& o) noexcept
        : data_(std::exchange(o.data_, nullptr)), side_(o.side_), home_(o.home_) {}
    Bitmap(const Bitmap&) = delete;
    Bitmap& operator=(const Bitmap&) = delete;
    ~Bitmap() {
        if (data_ != nullptr) cudaFreeAsync(data_, home_);
    }

    // Makes `stream` the home of the bitmap; everything enqueued so far comes first.
    void move_to(cudaStream_t stream, cudaEvent_t link) {
        if (stream == home_) return;
        ensure(cudaEventRecord(link, home_));
        ensure(cudaStreamWaitEvent(stream, link, 0));
        home_ = stream;
    }

    uint8_t* data() const { return data_; }
    int side() const { return side_; }
    cudaStream_t home() const { return home_; }

private:
    uint8_t* data_ = nullptr;
    int side_;
    cudaStream_t home_;
};

__global__ void rasterize(uint8_t* out, int side, uint32_t code) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= side * side) return;
    const int dx = i % side - side / 2;
    const int dy = i / side - side / 2;
    const int r = static_cast<int>(code % 13) + side / 4;
    out[i] = dx * dx + dy * dy < r * r ? 255 : 0;
}

__global__ void blur(const uint8_t* in, uint8_t* out, int side) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= side * side) return;
    const int x = i % side;
    const int left = x > 0 ? in[i - 1] : 0;
    const int right = x + 1 < side ? in[i + 1] : 0;
    out[i] = static_cast<uint8_t>((left + 2 * in[i] + right) / 4);
}

__global__ void blit(const uint8_t* in, int side, uint8_t* atlas, int pitch, int slot) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < side * side) atlas[(i / side) * pitch + slot * side + i % side] = in[i];
}

class Rasterizer {
public:
    explicit Rasterizer(int side) : side_(side) {
        ensure(cudaStreamCreateWithFlags(&draw_, cudaStreamNonBlocking));
        ensure(cudaStreamCreateWithFlags(&filter_, cudaStreamNonBlocking));
        ensure(cudaEventCreateWithFlags(&link_, cudaEventDisableTiming));
    }
    ~Rasterizer() {
        cudaStreamSynchronize(draw_);
        cudaStreamSynchronize(filter_);
        cudaEventDestroy(link_);
        cudaStreamDestroy(draw_);
        cudaStreamDestroy(filter_);
    }
    Rasterizer(const Rasterizer&) = delete;
    Rasterizer& operator=(const Rasterizer&) = delete;

    // Draws the glyphs side by side into `atlas` (pitch bytes per line). The work is ordered
    // on `stream`.
    void fill_atlas(const std::vector<uint32_t>& codes, uint8_t* atlas, int pitch,
                    cudaStream_t stream) {
        int slot = 0;
        for (uint32_t code : codes) {
            Bitmap soft = soften(draw(code));
            soft.move_to(stream, link_);
            blit<<<blocks(), 256, 0, stream>>>(soft.data(), side_, atlas, pitch, slot++);
            ensure(cudaGetLastError());
        }
    }

private:
    int blocks() const { return (side_ * side_ + 255) / 256; }

    Bitmap draw(uint32_t code) {
        Bitmap b(side_, draw_);
        rasterize<<<blocks(), 256, 0, draw_>>>(b.data(), side_, code);
        ensure(cudaGetLastError());
        return b;
    }

    Bitmap soften(Bitmap sharp) {
        sharp.move_to(filter_, link_);
        Bitmap out(side_, filter_);
        blur<<<blocks(), 256, 0, filter_>>>(sharp.data(), out.data(), side_);
        ensure(cudaGetLastError());
        return out;
    }

    int side_;
    cudaStream_t draw_ = nullptr;
    cudaStream_t filter_ = nullptr;
    cudaEvent_t link_ = nullptr;
};

}  // namespace glyphs
