#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#define RECLAIM(x)                                                       \
    do {                                                                 \
        cudaError_t rr = (x);                                            \
        if (rr != cudaSuccess) {                                         \
            std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorName(rr));  \
            std::exit(1);                                                \
        }                                                                \
    } while (0)

__global__ void integrate(const double* force, double* position, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) position[i] += 0.5 * force[i];
}

struct Staging {
    double* host = nullptr;
    double* device = nullptr;
    cudaEvent_t used{};
};

class StagingCache {
public:
    explicit StagingCache(int n) : n_(n) {}
    ~StagingCache() {
        while (!busy_.empty()) {
            cudaEventSynchronize(busy_.front()->used);
            busy_.pop_front();
        }
        for (Staging* s : all_) {
            cudaEventDestroy(s->used);
            cudaFree(s->device);
            cudaFreeHost(s->host);
            delete s;
        }
    }
    StagingCache(const StagingCache&) = delete;

    Staging* get() {
        collect();
        if (!idle_.empty()) {
            Staging* s = idle_.back();
            idle_.pop_back();
            return s;
        }
        auto* s = new Staging;
        RECLAIM(cudaMallocHost(&s->host, n_ * sizeof(double)));
        RECLAIM(cudaMalloc(&s->device, n_ * sizeof(double)));
        RECLAIM(cudaEventCreateWithFlags(&s->used, cudaEventDisableTiming));
        all_.push_back(s);
        return s;
    }

    void put(Staging* s, cudaStream_t stream) {
        RECLAIM(cudaEventRecord(s->used, stream));
        busy_.push_back(s);
    }

private:
    void collect() {
        while (!busy_.empty()) {
            const cudaError_t state = cudaEventQuery(busy_.front()->used);
            if (state == cudaErrorNotReady) {
                (void)cudaGetLastError();
                break;
            }
            RECLAIM(state);
            idle_.push_back(busy_.front());
            busy_.pop_front();
        }
    }

    int n_;
    std::vector<Staging*> all_, idle_;
    std::deque<Staging*> busy_;
};

class Integrator {
public:
    explicit Integrator(int n) : n_(n), cache_(n) {
        for (cudaStream_t& s : streams_) RECLAIM(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
        for (int i = 0; i < 2; ++i) {
            RECLAIM(cudaMalloc(&position_[i], n * sizeof(double)));
            RECLAIM(cudaMemsetAsync(position_[i], 0, n * sizeof(double), streams_[i]));
        }
    }
    ~Integrator() {
        for (int i = 0; i < 2; ++i) {
            cudaStreamSynchronize(streams_[i]);
            cudaFree(position_[i]);
            cudaStreamDestroy(streams_[i]);
        }
    }
    void kick(int replica, double strength) {
        Staging* s = cache_.get();
        for (int i = 0; i < n_; ++i) s->host[i] = strength * i;
        cudaStream_t stream = streams_[replica];
        RECLAIM(cudaMemcpyAsync(s->device, s->host, n_ * sizeof(double), cudaMemcpyHostToDevice, stream));
        integrate<<<(n_ + 255) / 256, 256, 0, stream>>>(s->device, position_[replica], n_);
        cache_.put(s, stream);
    }

private:
    int n_;
    StagingCache cache_;
    cudaStream_t streams_[2]{};
    double* position_[2]{};
};

int main() {
    Integrator integrator(1 << 16);
    for (int step = 0; step < 200; ++step) integrator.kick(step % 2, 1e-3 * step);
    return 0;
}
