# SPDX-License-Identifier: Apache-2.0
"""Sections of Google Benchmark programs, a row a benchmark, and of small programs that print one JSON object."""

from lab.process import of_bench, read_json, shell
from lab.record import benches, once, paired, without
from lab.section import section
from lab.sections.graphs import RATINGS, TASKS, at_instants

BURSTS = ("burst_132", "burst_264", "cublas_2048")


def yields(*rest, tasks=("compute",)):
    """Benchmarks of yield_latency: a name for each task and each rest."""
    parts = ((task, *each.partition(" --")) for task in tasks for each in rest)
    return [f"yield_latency/task:{task}/{name}/iterations:{dashes}{more}" for task, name, dashes, more in parts]


YIELD = yields(*(f"behind:{burst}" for burst in BURSTS), tasks=("compute", "streaming", "pagerank"))
CAPTURED = yields(*(f"behind:{burst}/captured" for burst in BURSTS), tasks=("compute", "streaming"))
CAPTURED += yields("behind:burst_264/captured --others", tasks=("compute", "streaming"))
CLOSINGS = ("at_once", "500ns_later", "1000ns_later", "2000ns_later", "waited")
LANDING = yields(*(f"behind:burst_264/landing:{how}" for how in CLOSINGS))
LANDING += yields(*(f"behind:burst_264/landing:{how}" for how in CLOSINGS[3:]), tasks=("streaming", "pagerank"))
ARRIVAL = yields(*(f"arrival:{what}" for what in ("one_thread", "blocks_132", "nccl_shape")))
HOST_CALLS = [
    f"host_calls/call:{call}/launch:{launch}/iterations: --connections={connections}"
    for call in ("nothing", "stream_synchronise", "device_synchronise", "free")
    for launch in ("at_close", "at_open")
    for connections in ((1, 8, 32) if call == "nothing" else (1, 8))
]
LEAVING = yields(*(f"behind:burst_132 --size={size} --bubbles=3000" for size in (4096, 1024)), tasks=("product",))
LEAVING += yields("behind:burst_132 --size=4096 --bubbles=3000 --leave=saved", tasks=("product",))
LEAVING += yields("behind:burst_132 --bubbles=3000", tasks=("mlp",))
PICTURES = ("lanczos3_rgb", "lanczos3_grey", "area_rgb", "lanczos3_rgb_watermark", "area_rgb_watermark")
RESIZE = [f"resize_npp/what:{what}/width:{width}/" for what in PICTURES for width in (1920, 640)]
WHOLE_JOB = ["whole_job/from:3840/to:1920/iterations: --executor=cuda --count=300 --from=3840 --to=1920 --pairs=7"]
RATING_TEXTS, GRAPH_TEXTS = ("csv",), ("el", "wel", "gr", "mtx")
TEXTS = {name: RATING_TEXTS if task.inputs is RATINGS else GRAPH_TEXTS for name, task in TASKS.items() if not task.task}
GRAPH_SETUP = [f"graph_setup/task:{name}/text:{text}/cores:1/" for name, texts in TEXTS.items() for text in texts]
GRAPH_SETUP += [f"graph_setup/task:{name}/text:{texts[0]}/cores:0/" for name, texts in TEXTS.items()]
GRAPH_SETUP += [f"graph_setup/part:{part}/cores:1/" for part in (*GRAPH_TEXTS, "read_ratings")]
ATTACH = [f"two_processes/what:{what}/" for what in ("attach", "notice")]
ATTACH += [f"two_processes/what:calls/side:{side}/" for side in ("none", "shared", "own", "attached")]

QUEUE = [f"spool_rates/what:{what}/" for what in ("bare", "submit", "idle")]
QUEUE += [f"spool_rates/what:batch/jobs:{jobs}/" for jobs in (100, 1000)]
QUEUE += [f"spool_rates/what:claim/agents:{agents}/" for agents in (1, 64)]
QUEUE += [f"spool_rates/what:list/jobs:{jobs}/" for jobs in (10_000, 100_000)]
POSTGRES = [f"postgres_rates/what:submit/clients:{clients}/" for clients in (1, 8)]
POSTGRES += [f"postgres_rates/what:batch/jobs:{jobs}/" for jobs in (100, 1000)]
POSTGRES += [
    f"postgres_rates/what:claim/agents:{agents}/" for agents in ("1/among:1", "64/among:512", "64/among:10000")
]
POSTGRES += ["postgres_rates/what:paced/agents:64/among:10000/"]
POSTGRES += [f"postgres_rates/what:list/jobs:{jobs}/" for jobs in (10_000, 100_000)]

POLICIES = [
    f"policy_outcomes/jobs:{jobs}/policy:{policy}/load:{load}/"
    for jobs in ("drawn", "trace")
    for policy, loads in {
        **dict.fromkeys(("first-come", "shortest", "deadline", "fair", "aging", "priority"), (50, 90, 120)),
        "largest": (0,),
        "shortest:0.5.fair:0.5": (90,),  # a dot stands for the plus
    }.items()
    for load in loads
]

OF_BENCHES = {  # unit, seconds, benchmarks, what
    "yield": ("us", 72, YIELD, "How fast a bubble is given back, and its price."),
    "captured": ("us", 50, CAPTURED, "The same of bubbles in captured graphs."),
    "landing": ("us", 60, LANDING, "The price of a bubble by when the edge closes."),
    "host_calls": ("host in us, calls in ms", 120, HOST_CALLS, "Host time beside calls that wait for the device."),
    "arrival": ("us", 17, ARRIVAL, "How long a kernel that arrives in mid-bubble waits."),
    "leaving": ("us", 40, LEAVING, "How blocks leave within a tile of a product."),
    "resize": ("us", 60, RESIZE, "Pictures made smaller, beside NPP."),
    "whole_job": ("files a second", 60, WHOLE_JOB, "The image task from folder to folder."),
    "graph_setup": (
        "times in ms, rates as named",
        488,
        GRAPH_SETUP,
        "How fast a graph task is ready from 100 MB of text.",
    ),
    "queue": ("as named", 120, QUEUE, "A queue of jobs in a folder on this machine's disk."),
    "queue_postgres": ("as named", 90, POSTGRES, "A queue in the empty database that LULL_BENCH_QUEUE names."),
    "policies": ("as named", 150, POLICIES, "What policies come to in a simulated queue: an outcome, without noise."),
    "attach": ("as named", 30, ATTACH, "A trainer and a worker in two processes, on CPU threads."),
}


def of_benches(name, unit, seconds, names, text):
    limit = 240 if names is GRAPH_SETUP else 120
    needs = "an idle machine" if names in (GRAPH_SETUP, ATTACH, POLICIES, QUEUE, POSTGRES) else "1 gpu"

    def measure(build):
        return benches(build, names, limit)

    measure.__doc__ = text
    section(name, unit, needs=needs, seconds=seconds)(measure)


for name, about in OF_BENCHES.items():
    of_benches(name, *about)


@section("product", "TFLOP/s", seconds=60)
def product(build):
    """Large products beside cuBLAS; the intervals are the spread of the pairs, 10th to 90th percentile."""
    rows = []
    # So many rounds that the worker's start counts for nothing.
    for size, count, rounds in ((4096, 1, 100), (1024, 131, 100), (512, 524, 100)):
        command = of_bench(build, f"product_speed --size {size} --count {count} --rounds {rounds}")
        runs = [read_json(shell(command, 150)) for _ in range(2)]
        figures = [{key: v["p50"] if isinstance(v, dict) else v for key, v in run.items()} for run in runs]
        spread = [{key: [v["p10"], v["p90"]] for key, v in run.items() if isinstance(v, dict)} for run in runs]
        interval = {"first": spread[0], "second": spread[1]}
        rows.append({"size": size, "products": count, **paired(command, *figures, interval=interval)})
    return rows


INSTANTS = [
    "pagerank:kronecker=18,sweeps=60,tolerance=1e-30",
    "mlp:hidden=256,batch=512,epochs=20",
    # One round, and little to compare: what another round stores again would hide what was left out.
    "product:rows=2048,columns=2048,depth=16384,count=2",
    "product:rows=2048,columns=2048,depth=16384,count=2,leave=saved",
    "product:rows=1024,columns=1024,depth=1024,count=16,rounds=160",
    "compute:rounds=125",
    "streaming:rounds=200",
    "images_unfed",
]


@section("instants", None, seconds=600)
def instants(build):
    """Whether a task that is preempted at random instants ends with the bits of one that never was; `second` is at
    others."""
    return [{"task": task, **at_instants(build, task, 200, "--instants", "500")} for task in INSTANTS]


@section("governor", None, needs="an idle machine", seconds=90)
def governor(build):
    """Whether simulated trainers keep a bound on slowdown: an outcome, which has no noise."""
    return governed(build)


@section("governor_carried", None, needs="an idle machine", seconds=90)
def governor_carried(build):
    """Ten thousand long runs of simulated trainers whose side work costs later steps too, or whose steps are not
    alike."""
    return governed(
        build,
        "--bounds=0.005",
        "--steps=20000",
        "--seeds=500",
        "--trainers=carried,work,checkpoints,accumulated,evaluations",
    )


def governed(build, *options):
    command = of_bench(build, ["governed_trainers", *options])
    found = read_json(shell(command, 600))
    rows = [{"trainer": "all", **once(command, without(["rows"], found))}]
    named = ("trainer", "steps", "bound_percent")
    return rows + [
        {**{key: row[key] for key in named}, **once(command, without(named, row))} for row in found.get("rows", [])
    ]
