#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>

namespace pipe {

inline void ck(cudaError_t rc, const char* file, int line) {
    if (rc == cudaSuccess) return;
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorName(rc));
    std::exit(EXIT_FAILURE);
}
#define CK(x) ::pipe::ck((x), __FILE__, __LINE__)

__global__ void augment(unsigned char* out, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<unsigned char>((i * 2654435761u) ^ seed);
}

struct Slot {
    unsigned char* data = nullptr;
    cudaEvent_t produced{};
};

class ImagePipeline {
public:
    ImagePipeline(int depth, int bytes) : bytes_(bytes), slots_(depth) {
        CK(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
        CK(cudaEventCreateWithFlags(&taken_, cudaEventDisableTiming));
        for (size_t i = 0; i < slots_.size(); ++i) {
            CK(cudaMalloc(&slots_[i].data, bytes_));
            CK(cudaEventCreateWithFlags(&slots_[i].produced, cudaEventDisableTiming));
            free_.push(static_cast<int>(i));
        }
    }

    ~ImagePipeline() {
        cudaDeviceSynchronize();
        for (auto& s : slots_) {
            cudaEventDestroy(s.produced);
            cudaFree(s.data);
        }
        cudaEventDestroy(taken_);
        cudaStreamDestroy(stage_);
    }

    bool run() {
        if (free_.empty()) return false;
        const int id = free_.front();
        free_.pop();
        Slot& s = slots_[id];
        augment<<<(bytes_ + 255) / 256, 256, 0, stage_>>>(s.data, bytes_, ++seed_);
        CK(cudaEventRecord(s.produced, stage_));
        ready_.push(id);
        return true;
    }

    void copyOutputTo(void* dst, cudaStream_t user) {
        Slot& s = slots_[ready_.front()];
        CK(cudaStreamWaitEvent(user, s.produced, 0));
        CK(cudaMemcpyAsync(dst, s.data, bytes_, cudaMemcpyDeviceToDevice, user));
        CK(cudaEventRecord(taken_, user));
        CK(cudaStreamWaitEvent(stage_, taken_, 0));
    }

    void release() {
        free_.push(ready_.front());
        ready_.pop();
    }

private:
    int bytes_;
    unsigned seed_ = 0;
    std::vector<Slot> slots_;
    std::queue<int> free_, ready_;
    cudaStream_t stage_{};
    cudaEvent_t taken_{};
};

}  // namespace pipe

class Trainer {
public:
    explicit Trainer(int bytes) {
        CK(cudaMalloc(&batch_, bytes));
        CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~Trainer() {
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
        cudaFree(batch_);
    }
    void consume(pipe::ImagePipeline& p) {
        p.copyOutputTo(batch_, stream_);
        p.release();
    }

private:
    void* batch_ = nullptr;
    cudaStream_t stream_{};
};

int main() {
    constexpr int kBytes = 3 << 20;
    pipe::ImagePipeline p(2, kBytes);
    Trainer t(kBytes);
    p.run();
    for (int i = 0; i < 100; ++i) {
        p.run();
        t.consume(p);
    }
    return 0;
}
