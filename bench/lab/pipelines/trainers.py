# SPDX-License-Identifier: Apache-2.0
"""A small GPT trained by Megatron core and by DeepSpeed, as schedules.Pipeline is by torch's own schedules: what the
program `pipeline` measures and tests/apps/python/trainers_test.py holds to the bit. The file
scripts/test_trainers.sh tells which versions of the trainers are known."""

import contextlib
import dataclasses

from lab import torch

SCHEDULES = {  # name → stages a rank; 0: DeepSpeed, which has one
    "megatron": 1,
    "megatron_interleaved": 2,  # on two ranks Megatron does that only with exchanges that overlap
    "deepspeed": 0,
}
VOCABULARY = 1024
HEADS = 4
WARM_UP = 3  # steps before Megatron captures one


@dataclasses.dataclass(kw_only=True)
class Training:
    """`width` is that of the layers, `rows` the length of a text. `named`: bubbles are named by micro-batch.
    `captured`: Megatron captures its fourth step by `full_iteration`; a process has one such training at a time."""

    width: int
    layers: int
    rows: int
    microbatches: int
    learning_rate: float = 1e-2
    dtype: str = "float32"
    named: bool = True
    captured: bool = False


def make(schedule, device, **given):
    kind, training = MegatronPipeline if SCHEDULES[schedule] else DeepSpeedPipeline, Training(**given)
    if training.captured and kind is DeepSpeedPipeline:
        raise ValueError("DeepSpeed captures no step: train with a schedule of Megatron's, or without captured")
    return kind(schedule, device, training)


def forget_captured():
    """Megatron's classes hold the graph of a training until the process ends."""
    from megatron.core import full_cuda_graph

    full_cuda_graph.StaticBufferLoader.static_buffers["training"] = []
    for of_kind, none in (("curr_iteration", 0), ("cuda_graph", None), ("result", None)):
        getattr(full_cuda_graph.FullCudaGraphWrapper, of_kind)["training"] = none


def texts(microbatches, rows, device):
    """A text for each micro-batch, one token longer than what is learnt of it."""
    made = torch.randint(0, VOCABULARY, (microbatches, 1, rows + 1), generator=torch.Generator().manual_seed(7))
    return made.to(device)


class MegatronPipeline:
    """Named by lull.megatron's communicator, in place of Megatron's own."""

    def __init__(self, schedule, device, given):
        from megatron.core import parallel_state, tensor_parallel
        from megatron.core.pipeline_parallel import get_forward_backward_func, p2p_communication
        from megatron.core.process_groups_config import ProcessGroupCollection
        from torch.distributed import get_world_size

        stages, kind = SCHEDULES[schedule], getattr(torch, given.dtype)
        interleaved = stages > 1
        if not parallel_state.model_parallel_is_initialized():
            parallel_state.initialize_model_parallel(1, get_world_size())
        parallel_state.set_virtual_pipeline_model_parallel_world_size(stages if interleaved else None)
        tensor_parallel.model_parallel_cuda_manual_seed(
            5, use_cudagraphable_rng=given.captured, force_reset_rng=given.captured
        )
        config = self._config(kind, given, stages)
        groups = ProcessGroupCollection.use_mpu_process_groups()
        self._chunks = [self._model(config, given.rows, stage, interleaved).to(device, kind) for stage in range(stages)]
        self.parameters = [parameter for chunk in self._chunks for parameter in chunk.parameters()]
        self._optimizer = torch.optim.SGD(self.parameters, given.learning_rate)
        self._texts = [{"text": text} for text in texts(given.microbatches, given.rows, device)]
        self._places = torch.arange(given.rows, device=device)[None]
        self._mask = torch.ones(1, 1, given.rows, given.rows, dtype=torch.bool, device=device).triu(1)
        self._captured = given.captured
        self._run = self._capturing(get_forward_backward_func()) if given.captured else get_forward_backward_func()
        self._given = {"num_microbatches": given.microbatches, "seq_length": given.rows, "micro_batch_size": 1}
        if given.named:
            import lull.megatron

            communicator = lull.megatron.P2PCommunicator(groups.pp, config)
        else:
            communicator = p2p_communication.P2PCommunicator(groups.pp, config)
        self._given |= {"p2p_communicator": communicator, "pg_collection": groups}
        self.on_gpu = device.type == "cuda"

    @staticmethod
    def _capturing(run):
        from megatron.core import full_cuda_graph

        forget_captured()
        return full_cuda_graph.FullCudaGraphWrapper(run, cuda_graph_warmup_steps=WARM_UP)

    @staticmethod
    def _config(kind, given, stages):
        from megatron.core.transformer import TransformerConfig
        from torch import bfloat16
        from torch.distributed import get_world_size

        return TransformerConfig(
            num_layers=given.layers,
            hidden_size=given.width,
            num_attention_heads=HEADS,
            attention_dropout=0.0,
            hidden_dropout=0.0,
            bf16=kind is bfloat16,
            params_dtype=kind,
            pipeline_dtype=kind,
            pipeline_model_parallel_size=get_world_size(),
            virtual_pipeline_model_parallel_size=stages if stages > 1 else None,
            overlap_p2p_comm=stages > 1,
            batch_p2p_comm=stages == 1,
            batch_p2p_sync=not given.captured,
            use_cpu_initialization=True,
            masked_softmax_fusion=False,
            persist_layer_norm=False,
            bias_dropout_fusion=False,
        )

    def _model(self, config, rows, stage, interleaved):
        from megatron.core import parallel_state
        from megatron.core.models.gpt import GPTModel
        from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec

        which = {"ignore_virtual": not interleaved, "vp_stage": stage if interleaved else None}
        torch.manual_seed(1000 + stage)
        return GPTModel(
            config,
            get_gpt_layer_local_spec(),
            VOCABULARY,
            rows,
            pre_process=parallel_state.is_pipeline_first_stage(**which),
            post_process=parallel_state.is_pipeline_last_stage(**which),
            vp_stage=which["vp_stage"],
        )

    def _forward(self, given, model):
        text = next(given)["text"]
        losses = model(text[:, :-1], self._places, self._mask, labels=text[:, 1:])
        return losses, lambda losses: (losses.float().mean(), {"loss": losses.detach().float().mean()})

    def step(self):
        """Returns the losses of the micro-batches, on the last rank."""
        self._optimizer.zero_grad(set_to_none=not self._captured)  # the graph adds to these
        given = [iter(self._texts) for _ in self._chunks]
        single = len(self._chunks) == 1
        losses = self._run(
            forward_step_func=self._forward,
            data_iterator=given[0] if single else given,
            model=self._chunks[0] if single else self._chunks,
            forward_only=False,
            **self._given,
        )
        self._optimizer.step()
        return [each["loss"].clone() for each in losses]  # a graph writes them again


class DeepSpeedPipeline:
    """As above; its stages hand on a pair, so that a micro-batch is two tensors: the layers' and the texts' places."""

    def __init__(self, schedule, device, given):
        import deepspeed
        from deepspeed.pipe import LayerSpec, PipelineModule

        from lab.pipelines import gpt_layers

        deepspeed.init_distributed(torch.distributed.get_backend())
        torch.manual_seed(1000)
        blocks = [LayerSpec(gpt_layers.Block, given.width, HEADS) for _ in range(given.layers)]
        module = PipelineModule(
            [
                LayerSpec(gpt_layers.First, VOCABULARY, given.width, given.rows),
                *blocks,
                LayerSpec(gpt_layers.Last, VOCABULARY, given.width),
            ],
            num_stages=torch.distributed.get_world_size(),
            loss_fn=gpt_layers.loss,
        )
        self._engine = deepspeed.initialize(
            model=module,
            config={
                "train_micro_batch_size_per_gpu": 1,
                "gradient_accumulation_steps": given.microbatches,
                "optimizer": {"type": "SGD", "params": {"lr": given.learning_rate}},
                "bf16": {"enabled": given.dtype == "bfloat16"},
                "steps_per_print": 10**9,
            },
        )[0]
        self._texts = texts(given.microbatches, given.rows, "cpu")
        self._named = given.named
        self.parameters = list(module.parameters())
        self.on_gpu = device.type == "cuda"

    @property
    def changed(self):
        """Whether the engine is not as DeepSpeed made it."""
        return "_INSTRUCTION_MAP" in vars(self._engine)

    def step(self):
        """Returns the mean loss, on each rank."""
        scope = contextlib.nullcontext()
        if self._named:
            import lull.deepspeed

            scope = lull.deepspeed.named_waits(self._engine)
        with scope:
            return [self._engine.train_batch(iter([(text[:, :-1], text[:, 1:]) for text in self._texts])).clone()]
