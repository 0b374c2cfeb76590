// Packs rendered frames on the GPU and sends them over a datagram socket from a thread.
#include <cuda_runtime.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace egress {

constexpr int kSlots = 4;
constexpr int kPayload = 1200;

static void die_on(cudaError_t e, int line) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "egress:%d: %s\n", line, cudaGetErrorString(e));
    std::abort();
}
#define DIE_ON(e) die_on((e), __LINE__)

__global__ void pack_luma(const uchar4* rgba, uint8_t* packed, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels) {
        const uchar4 p = rgba[i];
        packed[i] = static_cast<uint8_t>((54 * p.x + 183 * p.y + 19 * p.z) >> 8);
    }
}

class FrameSender {
public:
    FrameSender(int socket, int pixels) : socket_(socket), pixels_(pixels) {
        DIE_ON(cudaStreamCreateWithFlags(&pack_, cudaStreamNonBlocking));
        DIE_ON(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
        for (Slot& s : slots_) {
            s.owner = this;
            DIE_ON(cudaMalloc(&s.packed, pixels));
            DIE_ON(cudaMallocHost(&s.wire, pixels));
            DIE_ON(cudaEventCreateWithFlags(&s.packed_done, cudaEventDisableTiming));
            idle_.push_back(&s);
        }
        thread_ = std::thread([this] { run(); });
    }

    ~FrameSender() {
        cudaStreamSynchronize(pack_);
        cudaStreamSynchronize(copy_);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        changed_.notify_all();
        thread_.join();
        for (Slot& s : slots_) {
            cudaFree(s.packed);
            cudaFreeHost(s.wire);
            cudaEventDestroy(s.packed_done);
        }
        cudaStreamDestroy(pack_);
        cudaStreamDestroy(copy_);
    }

    FrameSender(const FrameSender&) = delete;
    FrameSender& operator=(const FrameSender&) = delete;

    // Enqueues a frame. The frame may be overwritten by work that is ordered after `consumed`,
    // which is recorded here.
    void submit(const uchar4* frame, cudaEvent_t rendered, cudaEvent_t consumed) {
        Slot* s = take_idle();
        DIE_ON(cudaStreamWaitEvent(pack_, rendered, 0));
        pack_luma<<<(pixels_ + 255) / 256, 256, 0, pack_>>>(frame, s->packed, pixels_);
        DIE_ON(cudaGetLastError());
        DIE_ON(cudaEventRecord(consumed, pack_));
        DIE_ON(cudaEventRecord(s->packed_done, pack_));
        fetch(*s);
    }

private:
    struct Slot {
        FrameSender* owner = nullptr;
        uint8_t* packed = nullptr;
        uint8_t* wire = nullptr;
        cudaEvent_t packed_done = nullptr;
    };

    void fetch(Slot& s) {
        DIE_ON(cudaStreamWaitEvent(copy_, s.packed_done, 0));
        DIE_ON(cudaMemcpyAsync(s.wire, s.packed, pixels_, cudaMemcpyDeviceToHost, copy_));
        DIE_ON(cudaLaunchHostFunc(copy_, &FrameSender::on_ready, &s));
    }

    static void CUDART_CB on_ready(void* arg) {
        Slot* s = static_cast<Slot*>(arg);
        std::lock_guard<std::mutex> lock(s->owner->mutex_);
        s->owner->outgoing_.push_back(s);
        s->owner->changed_.notify_all();
    }

    Slot* take_idle() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !idle_.empty(); });
        Slot* s = idle_.front();
        idle_.pop_front();
        return s;
    }

    void run() {
        for (;;) {
            Slot* s = nullptr;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                changed_.wait(lock, [this] { return stop_ || !outgoing_.empty(); });
                if (outgoing_.empty()) return;
                s = outgoing_.front();
                outgoing_.pop_front();
            }
            for (int at = 0; at < pixels_; at += kPayload) {
                const int len = pixels_ - at < kPayload ? pixels_ - at : kPayload;
                if (send(socket_, s->wire + at, len, 0) < 0) std::perror("send");
            }
            std::lock_guard<std::mutex> lock(mutex_);
            idle_.push_back(s);
            changed_.notify_all();
        }
    }

    int socket_;
    int pixels_;
    cudaStream_t pack_ = nullptr;
    cudaStream_t copy_ = nullptr;
    std::array<Slot, kSlots> slots_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Slot*> idle_;
    std::deque<Slot*> outgoing_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace egress
