// Burns vector layers into raster map tiles. The CPU scan-converts the features into a page-locked image,
// the GPU blends that image over the tile's relief shading.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GEO_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr int kTile = 512;
constexpr std::size_t kPixels = static_cast<std::size_t>(kTile) * kTile;

__global__ void blend(uchar4* tile, const uchar4* overlay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kTile * kTile) return;
  uchar4 o = overlay[i], t = tile[i];
  int a = o.w;
  tile[i] = make_uchar4((o.x * a + t.x * (255 - a)) / 255, (o.y * a + t.y * (255 - a)) / 255,
                        (o.z * a + t.z * (255 - a)) / 255, 255);
}

struct Segment {
  float x0, y0, x1, y1;
  uchar4 color;
};

struct Feature {
  std::vector<Segment> segments;
};

// CPU image in page-locked memory with its device counterpart.
struct Page {
  uchar4* host = nullptr;
  uchar4* device = nullptr;
  cudaEvent_t uploaded = nullptr;
};

class OverlayUploader {
 public:
  explicit OverlayUploader(cudaStream_t stream) : stream_(stream) {
    for (Page& p : pages_) {
      GEO_CHECK(cudaMallocHost(reinterpret_cast<void**>(&p.host), kPixels * sizeof(uchar4)));
      GEO_CHECK(cudaMalloc(reinterpret_cast<void**>(&p.device), kPixels * sizeof(uchar4)));
      GEO_CHECK(cudaEventCreateWithFlags(&p.uploaded, cudaEventDisableTiming));
    }
  }
  OverlayUploader(const OverlayUploader&) = delete;
  OverlayUploader& operator=(const OverlayUploader&) = delete;
  ~OverlayUploader() {
    cudaStreamSynchronize(stream_);
    for (Page& p : pages_) {
      cudaFreeHost(p.host);
      cudaFree(p.device);
      cudaEventDestroy(p.uploaded);
    }
  }

  // The page for the next tile. The pages take turns, so that drawing overlaps the previous upload.
  Page& next() {
    Page& p = pages_[turn_];
    turn_ = (turn_ + 1) % pages_.size();
    GEO_CHECK(cudaEventSynchronize(p.uploaded));
    return p;
  }

  const uchar4* upload(Page& p) {
    GEO_CHECK(cudaMemcpyAsync(p.device, p.host, kPixels * sizeof(uchar4), cudaMemcpyHostToDevice, stream_));
    GEO_CHECK(cudaEventRecord(p.uploaded, stream_));
    return p.device;
  }

 private:
  cudaStream_t stream_;
  std::array<Page, 2> pages_{};
  std::size_t turn_ = 0;
};

// Scan conversion with a fixed number of samples per segment: good enough for roads at this zoom level.
void rasterize(const Feature& f, uchar4* image) {
  std::fill(image, image + kPixels, make_uchar4(0, 0, 0, 0));
  for (const Segment& s : f.segments) {
    for (int k = 0; k <= kTile; ++k) {
      float t = static_cast<float>(k) / kTile;
      int x = static_cast<int>(s.x0 + t * (s.x1 - s.x0));
      int y = static_cast<int>(s.y0 + t * (s.y1 - s.y0));
      if (x >= 0 && x < kTile && y >= 0 && y < kTile) image[y * kTile + x] = s.color;
    }
  }
}

class TileRenderer {
 public:
  TileRenderer() {
    GEO_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    uploader_ = new OverlayUploader(stream_);
  }
  TileRenderer(const TileRenderer&) = delete;
  ~TileRenderer() {
    delete uploader_;
    cudaStreamDestroy(stream_);
  }

  void render(uchar4* tile, const Feature& overlay) {
    Page& page = uploader_->next();
    rasterize(overlay, page.host);
    const uchar4* image = uploader_->upload(page);
    blend<<<(kPixels + 255) / 256, 256, 0, stream_>>>(tile, image);
    GEO_CHECK(cudaGetLastError());
  }

  void finish() { GEO_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  OverlayUploader* uploader_ = nullptr;
};

Feature syntheticRoads(int tile) {
  Feature f;
  for (int i = 0; i < 40; ++i) {
    float o = static_cast<float>((tile * 37 + i * 13) % kTile);
    f.segments.push_back({0.f, o, kTile - 1.f, kTile - 1.f - o, make_uchar4(200, 160, 40, 255)});
  }
  return f;
}

int main() {
  constexpr int kTiles = 64;
  uchar4* tiles = nullptr;
  GEO_CHECK(cudaMalloc(reinterpret_cast<void**>(&tiles), kTiles * kPixels * sizeof(uchar4)));
  GEO_CHECK(cudaMemset(tiles, 0x80, kTiles * kPixels * sizeof(uchar4)));
  GEO_CHECK(cudaDeviceSynchronize());
  {
    TileRenderer renderer;
    for (int t = 0; t < kTiles; ++t) renderer.render(tiles + t * kPixels, syntheticRoads(t));
    renderer.finish();
  }
  std::vector<uchar4> last(kPixels);
  GEO_CHECK(cudaMemcpy(last.data(), tiles + (kTiles - 1) * kPixels, kPixels * sizeof(uchar4), cudaMemcpyDeviceToHost));
  std::printf("first pixel %d %d %d\n", last[0].x, last[0].y, last[0].z);
  cudaFree(tiles);
}
