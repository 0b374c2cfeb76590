// Training metrics are brought to the host in the background and written some steps later.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace metrics {

// A metric on its way to the host.
class Ticket {
public:
    Ticket(std::string name, int64_t step, at::Tensor host) : name_(std::move(name)), step_(step), host_(std::move(host)) {}

    at::Tensor& buffer() { return host_; }
    void mark(const c10::cuda::CUDAStream& stream) { landed_.record(stream); }
    bool landed() const { return landed_.query(); }

    // Waits if needed.
    const at::Tensor& value() const
    {
        landed_.synchronize();
        return host_;
    }

    const std::string& name() const { return name_; }
    int64_t step() const { return step_; }

private:
    std::string name_;
    int64_t step_;
    at::Tensor host_;
    at::cuda::CUDAEvent landed_;
};

class Readback {
public:
    explicit Readback(c10::DeviceIndex device) : copy_(at::cuda::getStreamFromPool(true, device)) {}

    // `metric` may be changed by later work on the current stream and dropped at once.
    Ticket start(std::string name, int64_t step, const at::Tensor& metric)
    {
        const c10::cuda::CUDAGuard device_guard(metric.device());
        const auto current = at::cuda::getCurrentCUDAStream(metric.get_device());
        const at::Tensor snapshot = metric.detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true).contiguous();

        at::cuda::CUDAEvent computed;
        computed.record(current);
        computed.block(copy_);
        snapshot.record_stream(copy_);

        at::Tensor host = at::empty(snapshot.sizes(), snapshot.options().device(at::kCPU).pinned_memory(true));
        Ticket ticket(std::move(name), step, std::move(host));
        {
            const c10::cuda::CUDAStreamGuard stream_guard(copy_);
            ticket.buffer().copy_(snapshot, /*non_blocking=*/true);
        }
        ticket.mark(copy_);
        return ticket;
    }

private:
    c10::cuda::CUDAStream copy_;
};

class MetricLog {
public:
    MetricLog(c10::DeviceIndex device, std::ostream& out, size_t window)
        : readback_(device), out_(out), window_(window)
    {
    }

    void add(const std::string& name, int64_t step, const at::Tensor& metric)
    {
        pending_.push_back(readback_.start(name, step, metric));
        while (pending_.size() > window_ || (!pending_.empty() && pending_.front().landed()))
            write_oldest();
    }

    void flush()
    {
        while (!pending_.empty())
            write_oldest();
        out_.flush();
    }

private:
    void write_oldest()
    {
        const Ticket ticket = std::move(pending_.front());
        pending_.pop_front();
        const at::Tensor& value = ticket.value();
        const float* numbers = value.data_ptr<float>();
        out_ << ticket.step() << ' ' << ticket.name();
        for (int64_t i = 0; i < value.numel(); ++i)
            out_ << ' ' << numbers[i];
        out_ << '\n';
    }

    Readback readback_;
    std::ostream& out_;
    size_t window_;
    std::deque<Ticket> pending_;
};

void log_epoch(MetricLog& log, const std::vector<at::Tensor>& losses)
{
    at::Tensor running = at::zeros({2}, losses.front().options().dtype(at::kFloat));
    for (size_t step = 0; step < losses.size(); ++step) {
        running.mul_(0.9).add_(losses[step].detach().to(at::kFloat).mean(), 0.1);
        log.add("running", static_cast<int64_t>(step), running);
    }
    log.flush();
}

}  // namespace metrics
