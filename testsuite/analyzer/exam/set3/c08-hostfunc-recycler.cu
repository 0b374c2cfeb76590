// Telemetry writer: records are staged in a few pinned slabs; a host function queued behind the
// copy gives the slab back to the producer.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#define OK(expr)                                                                     \
    if (cudaError_t rc_ = (expr)) {                                                  \
        std::fprintf(stderr, "%s -> %s\n", #expr, cudaGetErrorString(rc_));          \
        std::abort();                                                                \
    }

struct Record {
    uint64_t stamp;
    float value;
};

class SlabRing {
public:
    static constexpr int kSlabs = 3;
    static constexpr int kRecords = 8192;

    struct Slab {
        Record* host = nullptr;
        SlabRing* ring = nullptr;
    };

    SlabRing()
    {
        for (Slab& s : slabs_) {
            OK(cudaMallocHost(&s.host, kRecords * sizeof(Record)));
            s.ring = this;
            idle_.push_back(&s);
        }
    }

    ~SlabRing()
    {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return idle_.size() == kSlabs; });
        for (Slab& s : slabs_) OK(cudaFreeHost(s.host));
    }

    Slab* take()
    {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return !idle_.empty(); });
        Slab* s = idle_.front();
        idle_.pop_front();
        return s;
    }

    void give_back_after(Slab* s, cudaStream_t stream) { OK(cudaLaunchHostFunc(stream, &SlabRing::on_copied, s)); }

private:
    static void CUDART_CB on_copied(void* arg)
    {
        Slab* s = static_cast<Slab*>(arg);
        std::lock_guard<std::mutex> lk(s->ring->m_);
        s->ring->idle_.push_back(s);
        s->ring->cv_.notify_one();
    }

    Slab slabs_[kSlabs];
    std::deque<Slab*> idle_;
    std::mutex m_;
    std::condition_variable cv_;
};

__global__ void fold(const Record* in, int n, double* acc)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(acc, static_cast<double>(in[i].value));
}

class TelemetryWriter {
public:
    TelemetryWriter()
    {
        OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        OK(cudaMalloc(&records_, SlabRing::kRecords * sizeof(Record)));
        OK(cudaMalloc(&acc_, sizeof(double)));
        OK(cudaMemsetAsync(acc_, 0, sizeof(double), stream_));
    }
    ~TelemetryWriter()
    {
        OK(cudaStreamSynchronize(stream_));
        OK(cudaFree(records_));
        OK(cudaFree(acc_));
        OK(cudaStreamDestroy(stream_));
    }

    void write(uint64_t base)
    {
        SlabRing::Slab* slab = ring_.take();
        for (int i = 0; i < SlabRing::kRecords; ++i) slab->host[i] = Record{base + i, 0.5f};
        OK(cudaMemcpyAsync(records_, slab->host, SlabRing::kRecords * sizeof(Record), cudaMemcpyHostToDevice, stream_));
        ring_.give_back_after(slab, stream_);
        fold<<<32, 256, 0, stream_>>>(records_, SlabRing::kRecords, acc_);
        OK(cudaGetLastError());
    }

    double total()
    {
        double t = 0;
        OK(cudaMemcpyAsync(&t, acc_, sizeof t, cudaMemcpyDeviceToHost, stream_));
        OK(cudaStreamSynchronize(stream_));
        return t;
    }

private:
    SlabRing ring_;
    cudaStream_t stream_{};
    Record* records_ = nullptr;
    double* acc_ = nullptr;
};

int main()
{
    TelemetryWriter w;
    for (uint64_t i = 0; i < 200; ++i) w.write(i * SlabRing::kRecords);
    std::printf("%.1f\n", w.total());
    return 0;
}
