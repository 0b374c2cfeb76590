// Streams compressed video tiles to a remote renderer. The encoder kernel writes straight into
// mapped page-locked packets, so the socket can send them without another copy.
#include <cuda_runtime.h>

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <system_error>
#include <vector>

namespace tiles {

void require(cudaError_t rc) {
  if (rc != cudaSuccess)
    throw std::system_error(static_cast<int>(rc), std::generic_category(), cudaGetErrorString(rc));
}

constexpr int kTileSide = 64;
constexpr std::size_t kPacketBytes = kTileSide * kTileSide / 2 + 16;

struct PacketHeader {
  std::uint32_t frame;
  std::uint16_t x, y;
  std::uint32_t payload;
  std::uint32_t reserved;
};

// 4-bit delta coder; one block per tile.
__global__ void encode_tile(const std::uint8_t* __restrict__ frame, int pitch, int x, int y,
                            std::uint32_t id, std::uint8_t* __restrict__ packet) {
  auto* header = reinterpret_cast<PacketHeader*>(packet);
  if (threadIdx.x == 0) {
    header->frame = id;
    header->x = static_cast<std::uint16_t>(x);
    header->y = static_cast<std::uint16_t>(y);
    header->payload = kTileSide * kTileSide / 2;
    header->reserved = 0;
  }
  std::uint8_t* body = packet + sizeof(PacketHeader);
  for (int i = threadIdx.x; i < kTileSide * kTileSide / 2; i += blockDim.x) {
    const int row = 2 * i / kTileSide;
    const int col = 2 * i % kTileSide;
    const std::uint8_t* p = frame + (y + row) * pitch + x + col;
    const int a = (p[0] - (col ? p[-1] : 0)) >> 4;
    const int b = (p[1] - p[0]) >> 4;
    body[i] = static_cast<std::uint8_t>((a & 15) | (b << 4));
  }
}

// Mapped packet buffer and the event behind the kernel that filled it last.
class Packet {
 public:
  Packet() {
    require(cudaHostAlloc(reinterpret_cast<void**>(&host_), kPacketBytes, cudaHostAllocMapped));
    require(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), host_, 0));
    require(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  ~Packet() {
    cudaEventSynchronize(filled_);
    cudaEventDestroy(filled_);
    cudaFreeHost(host_);
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  std::uint8_t* host() const { return host_; }
  std::uint8_t* device() const { return device_; }
  void mark_filled(cudaStream_t s) { require(cudaEventRecord(filled_, s)); }
  void wait_filled() const { require(cudaEventSynchronize(filled_)); }

 private:
  std::uint8_t* host_ = nullptr;
  std::uint8_t* device_ = nullptr;
  cudaEvent_t filled_ = nullptr;
};

class TileStreamer {
 public:
  TileStreamer(int socket, std::size_t packets) : socket_(socket) {
    require(cudaStreamCreateWithFlags(&encode_, cudaStreamNonBlocking));
    for (std::size_t i = 0; i < packets; ++i) idle_.push_back(std::make_unique<Packet>());
  }
  ~TileStreamer() {
    cudaStreamSynchronize(encode_);
    cudaStreamDestroy(encode_);
  }
  TileStreamer(const TileStreamer&) = delete;
  TileStreamer& operator=(const TileStreamer&) = delete;

  // `frame` must be complete, and stay valid until flush() has returned.
  void submit(const std::uint8_t* frame, int pitch, int x, int y, std::uint32_t id) {
    if (idle_.empty()) flush();
    std::unique_ptr<Packet> packet = std::move(idle_.back());
    idle_.pop_back();
    encode_tile<<<1, 256, 0, encode_>>>(frame, pitch, x, y, id, packet->device());
    require(cudaGetLastError());
    packet->mark_filled(encode_);
    queued_.push_back(std::move(packet));
  }

  // Hands every queued packet to the socket.
  void flush() {
    while (!queued_.empty()) {
      std::unique_ptr<Packet> packet = std::move(queued_.front());
      queued_.pop_front();
      packet->wait_filled();
      transmit(*packet);
      idle_.push_back(std::move(packet));
    }
  }

 private:
  void transmit(const Packet& packet) {
    iovec part{packet.host(), kPacketBytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t sent;
    do {
      sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) throw std::system_error(errno, std::generic_category(), "sendmsg");
  }

  int socket_;
  cudaStream_t encode_ = nullptr;
  std::vector<std::unique_ptr<Packet>> idle_;
  std::deque<std::unique_ptr<Packet>> queued_;
};

void send_frame(TileStreamer& out, const std::uint8_t* frame, int width, int height, int pitch,
                std::uint32_t id) {
  for (int y = 0; y + kTileSide <= height; y += kTileSide)
    for (int x = 0; x + kTileSide <= width; x += kTileSide) out.submit(frame, pitch, x, y, id);
  out.flush();
}

}  // namespace tiles
