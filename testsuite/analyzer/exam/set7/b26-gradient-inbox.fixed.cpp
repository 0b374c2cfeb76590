// Parameter server: packets of half-precision deltas arrive on network threads and are summed per layer.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace paramserver {

// What the transport hands over: a view of its receive buffer, valid until the next fetch.
struct WireChunk {
    int64_t layer = 0;
    int64_t count = 0;
    double scale = 1.0;
    void* halves = nullptr;
};

struct Packet {
    int64_t layer = 0;
    at::Tensor values;
    at::cuda::CUDAEvent ready;
};

class Inbox {
public:
    void push(Packet packet)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            packets_.push_back(std::move(packet));
        }
        filled_.notify_one();
    }

    bool pop(Packet& packet)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        filled_.wait(lock, [this] { return closed_ || !packets_.empty(); });
        if (packets_.empty())
            return false;
        packet = std::move(packets_.front());
        packets_.pop_front();
        return true;
    }

    void close()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
        }
        filled_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<Packet> packets_;
    bool closed_ = false;
};

// Runs on one network thread until the transport has nothing more.
void receive_loop(Inbox& inbox, const std::function<bool(WireChunk&)>& fetch, c10::DeviceIndex device)
{
    const c10::cuda::CUDAGuard device_guard(device);
    const c10::cuda::CUDAStreamGuard stream_guard(at::cuda::getStreamFromPool(false, device));
    const auto target = at::Device(at::kCUDA, device);
    WireChunk chunk;
    while (fetch(chunk)) {
        at::Tensor staged = at::from_blob(chunk.halves, {chunk.count}, at::kHalf).pin_memory();
        Packet packet;
        packet.layer = chunk.layer;
        packet.values = staged.to(target, /*non_blocking=*/true).to(at::kFloat).mul_(chunk.scale);
        packet.ready.record();
        inbox.push(std::move(packet));
    }
}

// Sums of all layers. Constructed and used on one stream, the current one of the training thread.
class LayerSums {
public:
    LayerSums(const std::vector<int64_t>& sizes, c10::DeviceIndex device)
    {
        const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device);
        for (const int64_t size : sizes)
            sums_.push_back(at::zeros({size}, options));
    }

    // Returns the number of packets that were added.
    int64_t drain(Inbox& inbox)
    {
        int64_t added = 0;
        Packet packet;
        while (inbox.pop(packet)) {
            add(packet);
            ++added;
        }
        return added;
    }

    const at::Tensor& layer(size_t index) const { return sums_.at(index); }

private:
    void add(Packet& packet)
    {
        const auto stream = at::cuda::getCurrentCUDAStream(packet.values.get_device());
        packet.ready.block(stream);
        packet.values.record_stream(stream);
        sums_.at(static_cast<size_t>(packet.layer)).add_(packet.values);
    }

    std::vector<at::Tensor> sums_;
};

int64_t run_round(LayerSums& sums, const std::vector<std::function<bool(WireChunk&)>>& peers,
                  c10::DeviceIndex device)
{
    Inbox inbox;
    std::vector<std::thread> receivers;
    for (const auto& fetch : peers)
        receivers.emplace_back([&inbox, &fetch, device] { receive_loop(inbox, fetch, device); });
    std::thread closer([&] {
        for (std::thread& receiver : receivers)
            receiver.join();
        inbox.close();
    });
    const int64_t added = sums.drain(inbox);
    closer.join();
    return added;
}

}  // namespace paramserver
