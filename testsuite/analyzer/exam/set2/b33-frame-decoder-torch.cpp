#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <ATen/cuda/CUDAEvent.h>

#include <vector>

namespace clipio {

struct YuvPlanes {
  at::Tensor luma;    // [H, W] uint8
  at::Tensor chroma;  // [2, H, W] uint8
};

// Converts decoded planes to RGB on a stream of its own, so that the caller's
// stream is not held up by the conversion of earlier frames.
class FrameConverter {
 public:
  explicit FrameConverter(c10::DeviceIndex device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  at::Tensor decode(const YuvPlanes& planes) {
    const auto caller = c10::cuda::getCurrentCUDAStream(stream_.device_index());
    at::Tensor rgb;
    {
      c10::cuda::CUDAStreamGuard guard(stream_);
      rgb = convert(planes);
    }
    at::cuda::CUDAEvent done;
    done.record(stream_);
    done.block(caller);
    rgb.record_stream(caller);
    return rgb;
  }

 private:
  static at::Tensor convert(const YuvPlanes& p) {
    at::Tensor y = p.luma.to(at::kFloat).sub(16.0).mul(1.164);
    at::Tensor uv = p.chroma.to(at::kFloat).sub(128.0);
    at::Tensor u = uv.select(0, 0);
    at::Tensor v = uv.select(0, 1);
    at::Tensor r = y + 1.596 * v;
    at::Tensor g = y - 0.392 * u - 0.813 * v;
    at::Tensor b = y + 2.017 * u;
    return at::stack({r, g, b}).clamp(0, 255).div(255.0);
  }

  c10::cuda::CUDAStream stream_;
};

static YuvPlanes denoise(const YuvPlanes& in, int64_t strength) {
  YuvPlanes out;
  out.luma = in.luma.div(strength, "floor").mul(strength);
  out.chroma = in.chroma.div(strength, "floor").mul(strength);
  return out;
}

at::Tensor load_clip(FrameConverter& converter, const std::vector<YuvPlanes>& frames, int64_t strength) {
  std::vector<at::Tensor> rgb;
  rgb.reserve(frames.size());
  for (const auto& f : frames) {
    YuvPlanes clean = denoise(f, strength);
    rgb.push_back(converter.decode(clean));
  }
  return at::stack(rgb);
}

}  // namespace clipio
