// Sum of one array per GPU, left on every GPU. The arrays travel around a ring.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ringsum {

inline void check(cudaError_t rc, const char* what)
{
    if (rc != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

__global__ void add_into(float* sum, const float* other, size_t n)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n)
        sum[i] += other[i];
}

// What one GPU needs.
struct Station {
    int device = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t sent = nullptr;
    cudaEvent_t inbox_free = nullptr;
    float* sum = nullptr;
    float* carry = nullptr;
    float* inbox = nullptr;
};

class RingSum {
public:
    RingSum(const std::vector<int>& devices, size_t n) : n_(n), stations_(devices.size())
    {
        for (size_t i = 0; i < devices.size(); ++i) {
            Station& station = stations_[i];
            station.device = devices[i];
            check(cudaSetDevice(station.device), "device");
            check(cudaStreamCreateWithFlags(&station.stream, cudaStreamNonBlocking), "stream");
            check(cudaEventCreateWithFlags(&station.sent, cudaEventDisableTiming), "event");
            check(cudaEventCreateWithFlags(&station.inbox_free, cudaEventDisableTiming), "event");
            for (float** buffer : {&station.sum, &station.carry, &station.inbox})
                check(cudaMalloc(buffer, n * sizeof(float)), "buffer");
        }
    }

    RingSum(const RingSum&) = delete;
    RingSum& operator=(const RingSum&) = delete;

    ~RingSum()
    {
        for (const Station& station : stations_) {
            cudaSetDevice(station.device);
            cudaStreamSynchronize(station.stream);
        }
        for (const Station& station : stations_) {
            cudaSetDevice(station.device);
            for (float* buffer : {station.sum, station.carry, station.inbox})
                cudaFree(buffer);
            cudaEventDestroy(station.sent);
            cudaEventDestroy(station.inbox_free);
            cudaStreamDestroy(station.stream);
        }
    }

    // Brings the values of one GPU in place. The vector is free when the call returns.
    void load(size_t index, const std::vector<float>& values)
    {
        Station& station = stations_.at(index);
        if (values.size() != n_)
            throw std::invalid_argument("length");
        check(cudaSetDevice(station.device), "device");
        check(cudaMemcpyAsync(station.sum, values.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, station.stream),
              "load");
        check(cudaMemcpyAsync(station.carry, station.sum, n_ * sizeof(float), cudaMemcpyDeviceToDevice, station.stream),
              "carry");
        check(cudaStreamSynchronize(station.stream), "load");
    }

    // Queues the whole exchange; nothing waits on the host.
    void reduce()
    {
        for (size_t step = 0; step + 1 < stations_.size(); ++step) {
            for (size_t i = 0; i < stations_.size(); ++i)
                send(stations_[i], next(i));
            for (size_t i = 0; i < stations_.size(); ++i)
                receive(stations_[i], previous(i));
        }
    }

    std::vector<float> fetch(size_t index)
    {
        const Station& station = stations_.at(index);
        std::vector<float> values(n_);
        check(cudaSetDevice(station.device), "device");
        check(cudaMemcpyAsync(values.data(), station.sum, n_ * sizeof(float), cudaMemcpyDeviceToHost, station.stream),
              "fetch");
        check(cudaStreamSynchronize(station.stream), "fetch");
        return values;
    }

private:
    Station& next(size_t i) { return stations_[(i + 1) % stations_.size()]; }
    Station& previous(size_t i) { return stations_[(i + stations_.size() - 1) % stations_.size()]; }

    void send(Station& from, Station& to)
    {
        check(cudaSetDevice(from.device), "device");
        check(cudaStreamWaitEvent(from.stream, to.inbox_free, 0), "wait for inbox");
        check(cudaMemcpyPeerAsync(to.inbox, to.device, from.carry, from.device, n_ * sizeof(float), from.stream),
              "send");
        check(cudaEventRecord(from.sent, from.stream), "sent");
    }

    void receive(Station& here, Station& from)
    {
        check(cudaSetDevice(here.device), "device");
        check(cudaStreamWaitEvent(here.stream, from.sent, 0), "wait for data");
        add_into<<<static_cast<unsigned>((n_ + 255) / 256), 256, 0, here.stream>>>(here.sum, here.inbox, n_);
        check(cudaGetLastError(), "add");
        std::swap(here.carry, here.inbox);
        check(cudaEventRecord(here.inbox_free, here.stream), "inbox free");
    }

    size_t n_;
    std::vector<Station> stations_;
};

std::vector<float> sum_everywhere(const std::vector<int>& devices, const std::vector<std::vector<float>>& values)
{
    RingSum ring(devices, values.front().size());
    for (size_t i = 0; i < values.size(); ++i)
        ring.load(i, values[i]);
    ring.reduce();
    return ring.fetch(0);
}

}  // namespace ringsum
