// Broadcast of a block of model state around a ring of GPUs, in chunks, so that all links are
// busy at the same time.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace fabric {

inline void ok(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class DeviceScope {
public:
    explicit DeviceScope(int device) {
        ok(cudaGetDevice(&previous_));
        ok(cudaSetDevice(device));
    }
    ~DeviceScope() { cudaSetDevice(previous_); }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int previous_ = 0;
};

class RingBroadcast {
public:
    RingBroadcast(const std::vector<int>& devices, size_t chunk_bytes, int max_chunks)
        : chunk_bytes_(chunk_bytes), max_chunks_(max_chunks) {
        for (int d : devices) {
            const DeviceScope scope(d);
            Hop h;
            h.device = d;
            ok(cudaStreamCreateWithFlags(&h.link, cudaStreamNonBlocking));
            ok(cudaEventCreateWithFlags(&h.idle, cudaEventDisableTiming));
            ok(cudaEventCreateWithFlags(&h.complete, cudaEventDisableTiming));
            h.sent.resize(max_chunks);
            for (cudaEvent_t& e : h.sent) {
                ok(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
            }
            hops_.push_back(h);
        }
    }

    ~RingBroadcast() {
        int previous = 0;
        cudaGetDevice(&previous);
        for (Hop& h : hops_) {
            cudaSetDevice(h.device);
            cudaStreamSynchronize(h.link);
            for (cudaEvent_t e : h.sent) cudaEventDestroy(e);
            cudaEventDestroy(h.idle);
            cudaEventDestroy(h.complete);
            cudaStreamDestroy(h.link);
        }
        cudaSetDevice(previous);
    }

    RingBroadcast(const RingBroadcast&) = delete;
    RingBroadcast& operator=(const RingBroadcast&) = delete;

    // buffers[i] and streams[i] belong to the i-th device. Copies buffers[0] to all others;
    // ordered on every one of the streams, before and after.
    void run(const std::vector<char*>& buffers, size_t bytes,
             const std::vector<cudaStream_t>& streams) {
        const int chunks = static_cast<int>((bytes + chunk_bytes_ - 1) / chunk_bytes_);
        if (chunks > max_chunks_) throw std::length_error("too many chunks");
        enter(streams);
        for (int c = 0; c < chunks; ++c) {
            const size_t offset = size_t(c) * chunk_bytes_;
            const size_t length = std::min(chunk_bytes_, bytes - offset);
            for (size_t i = 0; i + 1 < hops_.size(); ++i) forward(i, c, buffers, offset, length);
        }
        leave(streams);
    }

private:
    struct Hop {
        int device = 0;
        cudaStream_t link = nullptr;
        cudaEvent_t idle = nullptr;       // the caller's stream is done with the buffer
        cudaEvent_t complete = nullptr;   // this hop has sent all of its chunks
        std::vector<cudaEvent_t> sent;    // chunk has arrived at the next device
    };

    // The link of hop i reads buffer i and writes buffer i + 1.
    void enter(const std::vector<cudaStream_t>& streams) {
        for (size_t i = 0; i < hops_.size(); ++i) {
            const DeviceScope scope(hops_[i].device);
            ok(cudaEventRecord(hops_[i].idle, streams[i]));
        }
        for (size_t i = 0; i + 1 < hops_.size(); ++i) {
            ok(cudaStreamWaitEvent(hops_[i].link, hops_[i].idle, 0));
            ok(cudaStreamWaitEvent(hops_[i].link, hops_[i + 1].idle, 0));
        }
    }

    void forward(size_t i, int chunk, const std::vector<char*>& buffers, size_t offset,
                 size_t length) {
        Hop& me = hops_[i];
        Hop& next = hops_[i + 1];
        const DeviceScope scope(me.device);
        if (i > 0) ok(cudaStreamWaitEvent(me.link, hops_[i - 1].sent[chunk], 0));
        ok(cudaMemcpyPeerAsync(buffers[i + 1] + offset, next.device, buffers[i] + offset,
                               me.device, length, me.link));
        ok(cudaEventRecord(me.sent[chunk], me.link));
    }

    void leave(const std::vector<cudaStream_t>& streams) {
        for (size_t i = 0; i + 1 < hops_.size(); ++i) {
            const DeviceScope scope(hops_[i].device);
            ok(cudaEventRecord(hops_[i].complete, hops_[i].link));
        }
        for (size_t i = 0; i < hops_.size(); ++i) {
            if (i + 1 < hops_.size()) ok(cudaStreamWaitEvent(streams[i], hops_[i].complete, 0));
            if (i > 0) ok(cudaStreamWaitEvent(streams[i], hops_[i - 1].complete, 0));
        }
    }

    size_t chunk_bytes_;
    int max_chunks_;
    std::vector<Hop> hops_;
};

}  // namespace fabric
