# SPDX-License-Identifier: Apache-2.0
"""Training steps of known models as side work, with random weights and inputs, and plain replays of them."""

import concurrent.futures
import contextlib
import functools

from lab import lull, torch

WARM_UPS = 3  # before a capture
PROBES = ("sleeps", "copies", "products")
PROBE_KERNELS = 80
SEGMENT_S = 1e-4
LEARNING_GROUPS = 14  # of the trainer, two steps each: with the warm-up 32 bubbles of a site, which it learns from


def vision(name, batch=64):
    import torchvision

    net = getattr(torchvision.models, name)().cuda().to(memory_format=torch.channels_last)
    x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (batch,), device="cuda")
    return net, lambda: torch.nn.functional.cross_entropy(net(x), y)


def bert(batch=16):
    import transformers

    net = transformers.BertForMaskedLM(transformers.BertConfig()).cuda()
    x, y = (torch.randint(0, 30_000, (batch, 128), device="cuda") for _ in range(2))
    return net, lambda: net(input_ids=x, labels=y).loss


def probe(name):
    """A step of one kind of kernel, each 50 to 100 µs long, which tells what in a model's step slows the stage around
    it: one thread that reads the clock, 128 MiB read and written, or a product of matrices that the L2 holds. It has no
    state."""
    if name == "sleeps":
        once = functools.partial(torch.cuda._sleep, 190_000)
    elif name == "copies":
        source, target = (torch.zeros(1 << 25, device="cuda") for _ in range(2))
        once = functools.partial(target.copy_, source)
    else:
        left, right, target = (torch.randn(2560, 2560, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        once = functools.partial(torch.mm, left, right, out=target)

    def step():
        for _ in range(PROBE_KERNELS):
            once()

    step.__name__ = name
    return step, ()


def step_of(name):
    """The step, and what it changes: the module and its optimizer. The step returns nothing: outputs would be copied to
    the host after each step, which plain replays do not do."""
    if name in PROBES:
        return probe(name)
    net, loss_of = bert() if name == "bert" else vision(name)
    net.train()
    adam = torch.optim.Adam(net.parameters(), 1e-5, fused=True, capturable=True)

    def step():
        adam.zero_grad(set_to_none=True)
        # As in the examples.
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = loss_of()
        loss.backward()
        adam.step()

    step.__name__ = name
    return step, (net, adam)


def _capture(graph, step, stream):
    # Backward passes run on this thread, too: so they use its plans.
    with torch.cuda.stream(stream), torch.autograd.set_multithreading_enabled(False):
        for _ in range(WARM_UPS):
            step()
        stream.synchronize()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            step()
        except Exception:
            with contextlib.suppress(Exception):  # it says the same
                graph.capture_end()
            raise
        graph.capture_end()
        graph.instantiate()
        graph.replay()  # writes the seed that every launch of the graph reads
        stream.synchronize()


@contextlib.contextmanager
def captured(step, optimizer, stream, has_few_sms=False):
    """The step's graph, captured on that stream. Its replays do not advance random numbers: each has the same masks,
    which takes as long. `has_few_sms`: captures on a new thread, for PyTorch keeps cuDNN's plans a thread, and one that
    it chose on all SMs may need clusters that the stream's SMs do not hold."""
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    try:
        if has_few_sms:
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                thread.submit(_capture, graph, step, stream).result()
        else:
            _capture(graph, step, stream)
        yield graph
    finally:
        torch.cuda.synchronize()
        graph.reset()
        optimizer.zero_grad(set_to_none=True)  # gradients lie in the graph's memory


def plain_ms(graph, stream, repeats=20):
    """Of a replay, without anything beside it."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        graph.replay()
        begin.record()
        for _ in range(repeats):
            graph.replay()
        end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def is_over(job, seconds):
    """As job.wait, which gives the step's memory back, too. Here it stays: the graph is replayed afterwards."""
    return lull.Job.wait(job, seconds)


def submitted(side, name, step, state, segment=SEGMENT_S, **options):
    """The step's job, which does not end by itself. Blocks while it is captured."""
    return side.submit(lull.side_step(step, steps=1 << 30, state=state, segment=segment, **options), name=name)
