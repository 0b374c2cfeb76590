"""Whole training step in one CUDA graph, warmed up on a side stream."""
import torch
import torch.nn as nn

BATCH, DIM, CLASSES, STEPS = 1024, 2048, 128, 8


class GraphedTrainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, CLASSES)).cuda()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.loss_fn = nn.MSELoss()
        self.x = torch.randn(BATCH, DIM, device="cuda")
        self.y = torch.randn(BATCH, CLASSES, device="cuda")
        self._warm_up()
        self._capture()

    def _warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.opt.zero_grad(set_to_none=True)
                loss = self.loss_fn(self.model(self.x), self.y)
                loss.backward()
                self.opt.step()
        torch.cuda.current_stream().wait_stream(side)

    def _capture(self):
        self.graph = torch.cuda.CUDAGraph()
        self.opt.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            self.loss = self.loss_fn(self.model(self.x), self.y)
            self.loss.backward()
            self.opt.step()

    def step(self, x, y):
        self.x.copy_(x, non_blocking=True)
        self.y.copy_(y, non_blocking=True)
        self.graph.replay()
        return self.loss.detach().clone()


def main():
    trainer = GraphedTrainer()
    inputs = [torch.full((BATCH, DIM), 0.1 * i).pin_memory() for i in range(STEPS)]
    targets = [torch.full((BATCH, CLASSES), 0.2 * i).pin_memory() for i in range(STEPS)]
    losses = [trainer.step(x, y) for x, y in zip(inputs, targets)]
    print("losses", [round(v.item(), 4) for v in losses])


if __name__ == "__main__":
    main()
