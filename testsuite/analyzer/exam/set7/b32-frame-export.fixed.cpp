// Export of calibrated telescope frames for the archive.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

namespace telescope {

struct Calibration {
    at::Tensor dark;
    at::Tensor flat;
};

// A frame on the host, ready for consumers that know nothing of devices.
struct HostFrame {
    int64_t number = 0;
    at::Tensor pixels;
};

struct FrameStats {
    float lowest = std::numeric_limits<float>::infinity();
    float highest = -std::numeric_limits<float>::infinity();
    double mean = 0.0;
};

at::Tensor calibrate(const at::Tensor& raw, const Calibration& calibration)
{
    at::Tensor signal = raw.to(at::kFloat).sub(calibration.dark);
    return signal.div(calibration.flat.clamp_min(1e-3)).clamp_min(0.0);
}

HostFrame to_host(const at::Tensor& frame, int64_t number)
{
    TORCH_CHECK(frame.is_cuda() && frame.dim() == 2, "a 2-d CUDA frame is needed");
    const c10::cuda::CUDAGuard guard(frame.device());
    const at::Tensor device_pixels = frame.to(at::kFloat).contiguous();
    HostFrame host;
    host.number = number;
    host.pixels = at::empty(device_pixels.sizes(),
                            device_pixels.options().device(at::kCPU).pinned_memory(true));
    host.pixels.copy_(device_pixels, /*non_blocking=*/true);
    at::cuda::getCurrentCUDAStream().synchronize();
    return host;
}

FrameStats statistics(const HostFrame& frame)
{
    FrameStats stats;
    const float* value = frame.pixels.data_ptr<float>();
    const int64_t count = frame.pixels.numel();
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        stats.lowest = std::min(stats.lowest, value[i]);
        stats.highest = std::max(stats.highest, value[i]);
        sum += value[i];
    }
    stats.mean = count > 0 ? sum / static_cast<double>(count) : 0.0;
    return stats;
}

void write_text(const HostFrame& frame, std::ostream& out)
{
    const auto rows = frame.pixels.accessor<float, 2>();
    out << "frame " << frame.number << '\n';
    for (int64_t y = 0; y < rows.size(0); ++y) {
        for (int64_t x = 0; x < rows.size(1); ++x)
            out << rows[y][x] << (x + 1 < rows.size(1) ? ' ' : '\n');
    }
}

// Calibrates a night's frames and writes them, with a line of statistics each.
int64_t archive_night(const std::vector<at::Tensor>& raw_frames, const Calibration& calibration, std::ostream& out)
{
    int64_t number = 0;
    for (const at::Tensor& raw : raw_frames) {
        const HostFrame frame = to_host(calibrate(raw, calibration), number);
        const FrameStats stats = statistics(frame);
        out << "# " << stats.lowest << ' ' << stats.highest << ' ' << stats.mean << '\n';
        write_text(frame, out);
        ++number;
    }
    return number;
}

}  // namespace telescope
