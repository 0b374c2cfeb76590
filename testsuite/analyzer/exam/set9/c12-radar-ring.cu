// Streams radar pulses through the device with a ring of buffers: upload, compression and
// download overlap, and the results of a pulse are picked up several pulses later.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#define GO(x)                                                                       \
    do {                                                                            \
        cudaError_t e_ = (x);                                                       \
        if (e_ != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (0)

constexpr int kRing = 3;
constexpr int kSamples = 1 << 18;
constexpr size_t kBytes = kSamples * sizeof(float);

__global__ void compress(const float* pulse, const float* previous, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = pulse[i] - 0.5f * previous[i];
}

class PulseRing {
public:
    PulseRing() {
        for (cudaStream_t* s : {&up_, &work_, &down_}) {
            GO(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
        }
        for (Entry& e : ring_) {
            GO(cudaMallocHost(&e.host_in, kBytes));
            GO(cudaMallocHost(&e.host_out, kBytes));
            GO(cudaMalloc(&e.in, kBytes));
            GO(cudaMalloc(&e.out, kBytes));
            for (cudaEvent_t* ev : {&e.uploaded, &e.worked, &e.downloaded}) {
                GO(cudaEventCreateWithFlags(ev, cudaEventDisableTiming));
            }
        }
        GO(cudaMalloc(&history_, kBytes));
        GO(cudaMemsetAsync(history_, 0, kBytes, work_));
    }

    ~PulseRing() {
        for (cudaStream_t s : {up_, work_, down_}) {
            cudaStreamSynchronize(s);
            cudaStreamDestroy(s);
        }
        for (Entry& e : ring_) {
            cudaFreeHost(e.host_in);
            cudaFreeHost(e.host_out);
            cudaFree(e.in);
            cudaFree(e.out);
            for (cudaEvent_t ev : {e.uploaded, e.worked, e.downloaded}) cudaEventDestroy(ev);
        }
        cudaFree(history_);
    }

    PulseRing(const PulseRing&) = delete;
    PulseRing& operator=(const PulseRing&) = delete;

    // Host memory for the next pulse.
    float* next_input() {
        Entry& e = ring_[head_ % kRing];
        GO(cudaEventSynchronize(e.uploaded));
        return e.host_in;
    }

    void push() {
        Entry& e = ring_[head_ % kRing];
        // The device input is free once the compression of kRing pulses ago is over.
        GO(cudaStreamWaitEvent(up_, e.worked, 0));
        GO(cudaMemcpyAsync(e.in, e.host_in, kBytes, cudaMemcpyHostToDevice, up_));
        GO(cudaEventRecord(e.uploaded, up_));

        GO(cudaStreamWaitEvent(work_, e.uploaded, 0));
        GO(cudaStreamWaitEvent(work_, e.downloaded, 0));
        compress<<<kSamples / 256, 256, 0, work_>>>(e.in, history_, e.out, kSamples);
        GO(cudaGetLastError());
        GO(cudaMemcpyAsync(history_, e.in, kBytes, cudaMemcpyDeviceToDevice, work_));
        GO(cudaEventRecord(e.worked, work_));

        GO(cudaStreamWaitEvent(down_, e.worked, 0));
        GO(cudaMemcpyAsync(e.host_out, e.out, kBytes, cudaMemcpyDeviceToHost, down_));
        GO(cudaEventRecord(e.downloaded, down_));
        ++head_;
    }

    bool full() const { return head_ - tail_ == kRing; }
    bool empty() const { return head_ == tail_; }

    // Oldest finished pulse; valid until the next push().
    const float* pop() {
        Entry& e = ring_[tail_ % kRing];
        GO(cudaEventSynchronize(e.downloaded));
        ++tail_;
        return e.host_out;
    }

private:
    struct Entry {
        float *host_in, *host_out, *in, *out;
        cudaEvent_t uploaded, worked, downloaded;
    };
    Entry ring_[kRing] = {};
    cudaStream_t up_ = nullptr, work_ = nullptr, down_ = nullptr;
    float* history_ = nullptr;
    unsigned head_ = 0, tail_ = 0;
};

static double energy(const float* x) {
    double acc = 0;
    for (int i = 0; i < kSamples; i += 64) acc += double(x[i]) * x[i];
    return acc;
}

int main(int argc, char** argv) {
    const int pulses = argc > 1 ? std::atoi(argv[1]) : 20;
    PulseRing ring;
    double total = 0;
    for (int p = 0; p < pulses; ++p) {
        if (ring.full()) total += energy(ring.pop());
        float* in = ring.next_input();
        for (int i = 0; i < kSamples; ++i) in[i] = float((i * 7 + p) % 31);
        ring.push();
    }
    while (!ring.empty()) total += energy(ring.pop());
    std::printf("%d pulses, energy %.1f\n", pulses, total);
    return 0;
}
