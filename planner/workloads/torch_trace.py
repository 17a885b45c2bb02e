"""Trace one training step of a PyTorch model into an operation record, without a GPU and without data.

The model runs on the meta device: shapes flow, numbers do not. A dispatch mode sees every ATen operation of forward
and of autograd's backward; a function mode above autograd inserts the casts CUDA autocast would insert and replaces
what the meta device would decompose differently from a GPU (attention, recurrent layers, dropout, half softmax).
Every quantity is linear in the batch size, so two batch sizes determine it (``compaction`` draws the lines).

This file needs only torch and its neighbour ``window``: they also run by themselves inside a user's interpreter.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .window import common_stride, few_channels, shorter_side

HALF = torch.bfloat16
ALLOCATION_GRAIN_BYTES = 512  # the CUDA caching allocator rounds every block up to this


class OpRow(NamedTuple):
    """One operation at one batch size: counts of FLOPs, bytes read + written, and kernel launches."""

    op_class: str
    phase: str
    element_bytes: int
    width: float
    groups: int
    kernel_size: int
    flops: float
    bytes: float
    kernels: float
    stride: float = 1


class StepTrace(NamedTuple):
    """A traced step at one batch size; bytes exclude fp32 parameters, optimizer state and the CUDA context."""

    rows: list[OpRow]
    peak_live_bytes: int
    saved_bytes: int


# --- what an ATen operation is ---------------------------------------------------------------------------------------


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE = _names(
    "empty empty_like empty_strided new_empty new_empty_strided empty_permuted resize_ set_ detach_ alias "
    "_local_scalar_dense sym_size sym_numel sym_stride sym_storage_offset is_same_size"
)
_CLASS_BY_NAME = {
    name: op_class
    for op_class, names in {
        "bn": "native_batch_norm native_batch_norm_backward cudnn_batch_norm cudnn_batch_norm_backward "
        "_native_batch_norm_legit _native_batch_norm_legit_functional _batch_norm_with_update batch_norm_backward",
        "ln": "native_layer_norm native_layer_norm_backward _fused_rms_norm _fused_rms_norm_backward",
        "gn": "native_group_norm native_group_norm_backward",
        "softmax": "_softmax _softmax_backward_data _log_softmax _log_softmax_backward_data",
        "pool": "max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool2d avg_pool2d_backward "
        "max_pool3d_with_indices max_pool3d_with_indices_backward avg_pool3d avg_pool3d_backward "
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward adaptive_max_pool2d adaptive_max_pool2d_backward "
        "upsample_nearest2d upsample_nearest2d_backward upsample_bilinear2d upsample_bilinear2d_backward "
        "upsample_bicubic2d upsample_bicubic2d_backward upsample_nearest1d upsample_nearest1d_backward "
        "upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward "
        "_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa "
        "_upsample_bicubic2d_aa_backward",
        "gather": "embedding embedding_dense_backward _embedding_bag _embedding_bag_forward_only index index_put "
        "index_put_ _index_put_impl_ index_select index_add index_add_ gather scatter scatter_ scatter_add "
        "scatter_add_ take masked_select grid_sampler_2d grid_sampler_2d_backward",
        "red": "sum mean amax amin max min argmax argmin norm linalg_vector_norm var var_mean std std_mean prod any "
        "all cumsum cumprod logsumexp topk sort nll_loss_forward nll_loss2d_forward",
        "copy": "clone copy_ cat stack _to_copy constant_pad_nd reflection_pad1d reflection_pad2d replication_pad2d "
        "roll flip repeat slice_backward select_backward slice_scatter select_scatter as_strided_scatter "
        "unfold_backward diagonal_backward zeros zeros_like ones ones_like full full_like new_zeros new_ones "
        "new_full fill_ zero_ arange scalar_tensor im2col col2im unfold_copy pixel_shuffle pixel_unshuffle",
    }.items()
    for name in names.split()
}
_LOW_PRECISION = _names(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution "
    "matmul mm mv bmm baddbmm addmm addbmm addmv einsum prelu chain_matmul multi_dot conv_tbc bilinear"
)
_FULL_PRECISION = _names(
    "layer_norm group_norm nll_loss nll_loss_nd nll_loss2d mse_loss l1_loss smooth_l1_loss huber_loss kl_div pow "
    "rpow exp expm1 log log10 log1p log2 rsqrt reciprocal norm renorm softplus dist cdist pdist cosine_similarity "
    "cosine_embedding_loss margin_ranking_loss hinge_embedding_loss triplet_margin_loss poisson_nll_loss erfinv "
    "acos asin cosh sinh tan binary_cross_entropy_with_logits soft_margin_loss multi_margin_loss ctc_loss"
)
_WIDENING = _names("sum prod cumsum cumprod")  # read half, accumulate and return fp32 in the one kernel
_RECURRENT_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _numel_read(tensor: torch.Tensor) -> int:
    """Elements that exist: a broadcast (stride 0) operand is read once, not once a copy."""
    return min(tensor.numel(), tensor.untyped_storage().nbytes() // tensor.element_size())


def _nbytes(tensor: torch.Tensor) -> int:
    return _numel_read(tensor) * tensor.element_size()


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _tensors(item)
    elif isinstance(tree, dict):
        yield from _tensors(list(tree.values()))


def _element_bytes(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> int:
    """2 or 4: the size of the first floating-point result, else operand."""
    for tensor in (*outputs, *inputs):
        if tensor.is_floating_point():
            return 2 if tensor.element_size() <= 2 else 4
    return 4


def _like_first(data: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty_like(data)


def _batch_norm(data: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    statistics = [data.new_empty(data.shape[1], dtype=torch.float32) for _ in range(2)]
    return torch.empty_like(data), *statistics


def _layer_norm(data: torch.Tensor, shape: Sequence[int], *_: Any) -> tuple[torch.Tensor, ...]:
    kept = (*data.shape[: data.dim() - len(shape)], *[1] * len(shape))
    statistics = [data.new_empty(kept, dtype=torch.float32) for _ in range(2)]
    return data.new_empty(data.shape), *statistics


def _softmax_result(data: torch.Tensor, axis: int, half_to_float: bool) -> torch.Tensor:
    """Contiguous whatever the input's strides, as the CUDA kernel writes it."""
    return data.new_empty(data.shape, dtype=torch.float32 if half_to_float else data.dtype)


def _softmax_gradient(grad: torch.Tensor, output: torch.Tensor, axis: int, dtype: torch.dtype) -> torch.Tensor:
    return output.new_empty(output.shape, dtype=dtype)


def _norm_gradients(data: torch.Tensor, *parameters_and_mask: Any) -> tuple[torch.Tensor | None, ...]:
    *parameters, mask = parameters_and_mask
    weight = next((tensor for tensor in parameters if tensor is not None), None)
    likes = (data, weight, weight)
    return tuple(
        torch.empty_like(like) if wanted and like is not None else None
        for like, wanted in zip(likes, mask, strict=True)
    )


# Results by rule where torch's own meta implementation decomposes into dozens of calls (milliseconds each).
_SHAPE_RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gelu", "gelu_backward", "silu", "silu_backward", "sigmoid_backward"), _like_first),
    **dict.fromkeys(("threshold_backward", "hardswish_backward", "hardtanh_backward"), _like_first),
    **dict.fromkeys(("_softmax", "_log_softmax"), _softmax_result),
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data"), _softmax_gradient),
    "native_batch_norm": _batch_norm,
    "native_layer_norm": _layer_norm,
    "native_batch_norm_backward": lambda grad, data, weight, *rest: _norm_gradients(data, weight, rest[-1]),
    "native_layer_norm_backward": lambda grad, data, shape, mean, rstd, weight, bias, mask: _norm_gradients(
        data, weight, bias, mask
    ),
}


class LiveSet:
    """Bytes of storages alive: grows when an operation makes one, shrinks when the last reference to it dies."""

    def __init__(self) -> None:
        self.current_bytes = 0
        self.peak_bytes = 0
        self._known: dict[int, weakref.ref[Any]] = {}

    def ignore(self, tensors: Iterable[torch.Tensor]) -> None:
        """Count these (parameters, buffers) elsewhere."""
        for tensor in tensors:
            self._watch(tensor.untyped_storage(), 0)

    def add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._known:
            grain = ALLOCATION_GRAIN_BYTES
            self._watch(storage, -(-storage.nbytes() // grain) * grain)

    def _watch(self, storage: torch.UntypedStorage, size: int) -> None:
        key = storage._cdata

        def forget(_: weakref.ref[Any]) -> None:
            self.current_bytes -= size
            self._known.pop(key, None)

        self._known[key] = weakref.ref(storage, forget)
        self.current_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.current_bytes)


class Recorder(TorchDispatchMode):
    """Turns every ATen call into rows and keeps the live set."""

    def __init__(self, live: LiveSet) -> None:
        super().__init__()
        self.live = live
        self.rows: list[OpRow] = []
        self.phase = "forward"
        self.saved_bytes: int | None = None

    def begin_backward(self) -> None:
        """From here on rows are the backward's; what is live now was saved for it."""
        self.phase = "backward"
        self.saved_bytes = max(self.saved_bytes or 0, self.live.current_bytes)

    @contextlib.contextmanager
    def watching_backward(self) -> Iterator[None]:
        """Steps that call ``backward`` themselves (two optimizers, adversarial losses) change the phase as they do."""
        plain = torch.Tensor.backward

        def backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
            self.begin_backward()
            plain(tensor, *args, **kwargs)
            self.phase = "forward"

        torch.Tensor.backward = backward  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            torch.Tensor.backward = plain  # type: ignore[method-assign]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        shape_rule = _SHAPE_RULES.get(name)
        result = func(*args, **kwargs) if shape_rule is None else shape_rule(*args)
        outputs = list(_tensors(result))
        for tensor in outputs:
            self.live.add(tensor)
        if name not in _FREE and outputs:
            self._record(name, func, args, kwargs, outputs)
        return result

    def _record(
        self, name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: list[torch.Tensor]
    ) -> None:
        if name == "convolution":
            self._convolution(args, outputs[0])
        elif name == "convolution_backward":
            self._convolution_backward(args, outputs)
        elif name in ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot"):
            self._matrix_product(name, args, outputs[0])
        else:
            inputs = list(_tensors((args, kwargs)))
            if not func._schema.is_mutable and _is_view(inputs, outputs):
                return
            moved = self._bytes_moved(name, args, inputs, outputs)
            self.add(_memory_class(name, inputs, outputs), _element_bytes(outputs, inputs), 0.0, moved)

    def add(
        self,
        op_class: str,
        element_bytes: int,
        flops: float,
        moved: float,
        *,
        width: float = 0.0,
        groups: int = 0,
        kernel_size: int = 0,
        kernels: float = 1,
        stride: float = 1,
    ) -> None:
        row = OpRow(op_class, self.phase, element_bytes, width, groups, kernel_size, flops, moved, kernels, stride)
        self.rows.append(row)

    def _bytes_moved(
        self, name: str, args: tuple[Any, ...], inputs: list[torch.Tensor], outputs: list[torch.Tensor]
    ) -> float:
        """Read + written; look-ups read the rows they fetch, never the whole table."""
        written = sum(map(_nbytes, outputs))
        if name in ("embedding", "index", "index_select", "gather", "_embedding_bag"):
            fetched = (
                args[1].numel() * args[0].shape[-1] * args[0].element_size() if name == "_embedding_bag" else written
            )
            return written + fetched + sum(_nbytes(tensor) for tensor in inputs[1:])
        if name in ("index_add_", "index_put_", "scatter_", "scatter_add_"):
            return 2 * _nbytes(inputs[-1]) + sum(_nbytes(tensor) for tensor in inputs[1:])
        return written + sum(map(_nbytes, inputs))

    def _matrix_product(self, name: str, args: tuple[Any, ...], output: torch.Tensor) -> None:
        operands = [tensor for tensor in args if isinstance(tensor, torch.Tensor)]
        left = operands[-2]
        flops = 2.0 * output.numel() * left.shape[-1]
        moved = _nbytes(output) + sum(map(_nbytes, operands))
        self.add("bmm" if "bmm" in name else "mm", _element_bytes([output], operands), flops, moved)

    def _convolution(self, args: tuple[Any, ...], output: torch.Tensor) -> None:
        data, weight, bias, stride, transposed, groups = *args[:4], args[6], args[8]
        moved = _nbytes(data) + _nbytes(weight) + _nbytes(output) + (_nbytes(bias) if bias is not None else 0)
        self._add_convolution("", data, weight, output, stride, transposed, groups, moved)

    def _convolution_backward(self, args: tuple[Any, ...], outputs: list[torch.Tensor]) -> None:
        """Each wanted gradient costs as many multiply-adds as the forward convolution."""
        grad, data, weight = args[:3]
        stride, transposed, groups, (want_data, want_weight, want_bias) = args[4], args[7], args[9], args[10]
        if want_data:
            moved = _nbytes(grad) + _nbytes(weight) + _nbytes(data)
            self._add_convolution("_dg", data, weight, grad, stride, transposed, groups, moved)
        if want_weight:
            moved = _nbytes(grad) + _nbytes(data) + _nbytes(weight)
            self._add_convolution("_wg", data, weight, grad, stride, transposed, groups, moved)
        if want_bias:
            self.add("red", _element_bytes([grad], []), 0.0, _nbytes(grad) + grad.shape[1] * grad.element_size())

    def _add_convolution(
        self,
        suffix: str,
        data: torch.Tensor,
        weight: torch.Tensor,
        output: torch.Tensor,
        strides: Sequence[int],
        transposed: bool,
        groups: int,
        moved: float,
    ) -> None:
        sides = weight.shape[2:]
        window, step = math.prod(sides), common_stride(strides)
        per_group_in, per_group_out = weight.shape[1], weight.shape[0] // groups
        if transposed:  # weight is (in, out / groups, ...) and every input element meets the whole window
            flops = 2.0 * data.numel() * weight.shape[1] * window
        else:
            flops = 2.0 * output.numel() * per_group_in * window
        size, few = _element_bytes([data], []), few_channels(per_group_in, per_group_out)
        if groups == 1 and window == 1:
            self.add("conv1" + suffix, size, flops, moved, width=few)
        elif groups == 1:
            self.add("conv" + suffix, size, flops, moved, width=few, kernel_size=shorter_side(sides), stride=step)
        elif per_group_in == 1 or per_group_out == 1:
            kernel_size = round(window ** (1.0 / len(sides)))
            self.add("dw" + suffix, size, flops, moved, kernel_size=kernel_size, stride=step)
        else:
            width = math.sqrt(per_group_in * per_group_out)
            self.add("gconv" + suffix, size, flops, moved, width=width, groups=groups)


def _is_view(inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> bool:
    known = {tensor.untyped_storage()._cdata for tensor in inputs}
    return all(tensor.untyped_storage()._cdata in known for tensor in outputs)


def _memory_class(name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> str:
    if name in ("_to_copy", "copy_"):
        source, target = inputs[-1].dtype, outputs[0].dtype
        if source.is_floating_point and target.is_floating_point and source != target:
            return "cast"
    return _CLASS_BY_NAME.get(name, "ew")


# --- what CUDA would run, where the meta device differs --------------------------------------------------------------


class _Attention(torch.autograd.Function):
    """Fused attention: 2 matrix products forward, 5 backward (Dao et al. 2022, arXiv:2205.14135), no stored scores."""

    @staticmethod
    def forward(ctx: Any, recorder: Recorder, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        out = q.new_empty((*q.shape[:-1], v.shape[-1]))
        log_sum_exp = q.new_empty(q.shape[:-1], dtype=torch.float32)
        ctx.recorder = recorder
        ctx.save_for_backward(q, k, v, out, log_sum_exp)
        score_products = float(math.prod(q.shape[:-1]) * k.shape[-2])
        moved = sum(map(_nbytes, (q, k, v, out, log_sum_exp)))
        head_width = (q.shape[-1] + v.shape[-1]) / 2
        recorder.add("sdpa", _element_bytes([q], []), 4 * score_products * head_width, moved, width=head_width)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        q, k, v, out, log_sum_exp = ctx.saved_tensors
        gradients = tuple(torch.empty_like(tensor) for tensor in (q, k, v))
        score_products = float(math.prod(q.shape[:-1]) * k.shape[-2])
        moved = sum(map(_nbytes, (q, k, v, out, log_sum_exp, grad, *gradients)))
        flops = 2 * score_products * (3 * q.shape[-1] + 2 * v.shape[-1])
        head_width = (q.shape[-1] + v.shape[-1]) / 2
        ctx.recorder.add("sdpa_bw", _element_bytes([q], []), flops, moved, width=head_width, kernels=2)
        return (None, *gradients)


class _Recurrent(torch.autograd.Function):
    """A cuDNN-style recurrent stack, time-major inside: per step and layer one recurrent product and one gate kernel.

    The input product of a layer covers all time steps at once; recurrent weights are re-read every step.
    The reserve kept for backward holds the gates, the cell and the hidden state of every step.
    """

    @staticmethod
    def forward(
        ctx: Any, recorder: Recorder, shape: _RecurrentShape, data: torch.Tensor, *weights: torch.Tensor
    ) -> Any:
        positions, width = data.shape[:-1], shape.hidden * shape.directions
        out = data.new_empty((*positions, width))
        states = data.new_empty((shape.layers * shape.directions, shape.batch, shape.hidden))
        reserve = data.new_empty((shape.layers, shape.steps, shape.batch, (shape.gates + 2) * width))
        ctx.recorder, ctx.shape = recorder, shape
        ctx.save_for_backward(data, out, reserve, *weights)
        shape.record(recorder, _element_bytes([data], []), passes=1)
        return out, states, torch.empty_like(states)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
        data, _, _, *weights = ctx.saved_tensors
        ctx.shape.record(ctx.recorder, _element_bytes([data], []), passes=2)
        return (None, None, torch.empty_like(data), *map(torch.empty_like, weights))


class _RecurrentShape(NamedTuple):
    gates: int
    layers: int
    directions: int
    steps: int
    batch: int
    inputs: int
    hidden: int

    def record(self, recorder: Recorder, element_bytes: int, passes: int) -> None:
        """``passes`` is 1 forward, 2 backward (gradients of data and of weights)."""
        cells = self.directions * self.steps * self.batch
        for layer in range(self.layers):
            inputs = self.inputs if layer == 0 else self.hidden * self.directions
            gate_width = self.gates * self.hidden
            flops = 2.0 * passes * cells * gate_width * inputs
            moved = cells * (inputs + gate_width) + self.directions * gate_width * inputs
            recorder.add("mm", element_bytes, flops, float(passes * moved * element_bytes), kernels=passes)
            flops = 2.0 * passes * cells * gate_width * self.hidden
            recurrent_weights = self.steps * self.directions * gate_width * self.hidden
            moved = recurrent_weights + cells * (2 * gate_width + 4 * self.hidden)
            kernels = 2 * self.steps * self.directions
            recorder.add("rnn", element_bytes, flops, float(passes * moved * element_bytes), kernels=kernels)


class _CellGates(torch.autograd.Function):
    """The gates of an LSTM cell outside cuDNN: one kernel each way, and a sum over the batch for the biases."""

    @staticmethod
    def forward(
        ctx: Any, recorder: Recorder, from_data: torch.Tensor, from_state: torch.Tensor, cell: torch.Tensor
    ) -> Any:
        gates, next_cell, hidden = torch.empty_like(from_data), torch.empty_like(cell), torch.empty_like(cell)
        ctx.recorder = recorder
        ctx.save_for_backward(gates, cell, next_cell)
        moved = sum(map(_nbytes, (from_data, from_state, cell, gates, next_cell, hidden)))
        recorder.add("ew", _element_bytes([cell], []), 0.0, moved)
        return hidden, next_cell

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
        gates, cell, next_cell = ctx.saved_tensors
        of_gates, of_cell = torch.empty_like(gates), torch.empty_like(cell)
        moved = sum(map(_nbytes, (gates, cell, next_cell, *grads, of_gates, of_cell)))
        size = _element_bytes([cell], [])
        ctx.recorder.add("ew", size, 0.0, moved)
        ctx.recorder.add("red", size, 0.0, _nbytes(of_gates))
        return None, of_gates, of_gates, of_cell


class CudaSemantics(TorchFunctionMode):
    """Inserts autocast's casts (when ``autocast``) and replaces what a GPU runs as one kernel.

    The cast lists are those of PyTorch's "Automatic Mixed Precision" page; leaf weights are cast once a step.
    """

    def __init__(self, recorder: Recorder, *, autocast: bool) -> None:
        super().__init__()
        self._recorder = recorder
        self._autocast = autocast
        self._cast_weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._replacements: dict[str, Callable[..., Any]] = {
            "scaled_dot_product_attention": self._attention,
            "dropout": self._dropout,
            "cross_entropy_loss": self._cross_entropy,
            "softmax": self._softmax,
            "log_softmax": self._softmax,
            **dict.fromkeys(_RECURRENT_GATES, self._recurrent),
            "lstm_cell": self._lstm_cell,
        }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").strip("_")
        replacement = self._replacements.get(name)
        if replacement is not None:
            return replacement(func, args, kwargs)
        if self._casting():
            if name in _LOW_PRECISION or name == "rmatmul":
                args, kwargs = self._cast(args, HALF), self._cast(kwargs, HALF)
            elif name in _FULL_PRECISION:
                args, kwargs = self._cast(args, torch.float32), self._cast(kwargs, torch.float32)
            elif name in _WIDENING and args[0].dtype == HALF and kwargs.get("dtype") is None:
                kwargs = {**kwargs, "dtype": torch.float32}
        return func(*args, **kwargs)

    def _casting(self) -> bool:
        return self._autocast and torch.is_autocast_enabled()

    def _cast(self, tree: Any, dtype: torch.dtype) -> Any:
        if isinstance(tree, torch.Tensor):
            return self._cast_tensor(tree, dtype)
        if isinstance(tree, (list, tuple)):
            return type(tree)(self._cast(item, dtype) for item in tree)
        if isinstance(tree, dict):
            return {key: self._cast(value, dtype) for key, value in tree.items()}
        return tree

    def _cast_tensor(self, tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        if tensor.dtype == dtype or tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return tensor
        if dtype == HALF and tensor.is_leaf and tensor.requires_grad and torch.is_grad_enabled():
            if id(tensor) not in self._cast_weights:
                self._cast_weights[id(tensor)] = tensor, tensor.to(dtype)
            return self._cast_weights[id(tensor)][1]
        return tensor.to(dtype)

    def _operands(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [self._cast_tensor(tensor, HALF) for tensor in tensors] if self._casting() else list(tensors)

    def _attention(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        names = ("query", "key", "value")
        given = [*args[:3], *(kwargs[name] for name in names[len(args) :])]
        q, k, v = self._operands(given)
        return _Attention.apply(self._recorder, q, k, v)  # type: ignore[no-any-return, no-untyped-call]

    def _dropout(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        data, p, training = args if len(args) == 3 else (args[0], kwargs.get("p", 0.5), kwargs.get("train", True))
        if not training or p == 0.0:
            return data
        return torch.native_dropout(data, p, True)[0]

    def _softmax(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """CUDA reads half and writes fp32 in one kernel when fp32 is asked for."""
        data = args[0]
        wanted = kwargs.get("dtype", args[2] if len(args) > 2 else None)
        fused = torch._log_softmax if "log" in func.__name__ else torch._softmax
        axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if (data.dtype == HALF and wanted == torch.float32) or (
            self._casting() and data.dtype == HALF and wanted is None
        ):
            return fused(data, axis, True)
        return func(*args, **kwargs)

    def _cross_entropy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._casting():
            return func(*args, **kwargs)
        data, target, *rest = args
        weight = rest[0] if rest else kwargs.get("weight")
        if target.is_floating_point() or data.dtype != HALF or kwargs.get("label_smoothing"):
            return func(self._cast_tensor(data, torch.float32), *args[1:], **kwargs)
        log_probabilities = torch._log_softmax(data, 1 if data.dim() > 1 else 0, True)
        return F.nll_loss(log_probabilities, target, weight, ignore_index=kwargs.get("ignore_index", -100))

    def _recurrent(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called as (data, hx, weights, bias, layers, ...); packed with the batch sizes between data and hx."""
        packed = isinstance(args[1], torch.Tensor) and isinstance(args[3], (list, tuple))
        weights, layers = (args[3], args[5]) if packed else (args[2], args[4])
        bidirectional = args[8] if packed else args[7]
        data, *weights = self._operands([args[0], *weights])
        directions = 2 if bidirectional else 1
        if packed:
            steps, batch = args[1].numel(), max(1, data.shape[0] // args[1].numel())
        elif args[8]:
            batch, steps = data.shape[:2]
        else:
            steps, batch = data.shape[:2]
        gates = _RECURRENT_GATES[func.__name__]
        hidden = weights[1].shape[-1]
        shape = _RecurrentShape(gates, layers, directions, steps, batch, data.shape[-1], hidden)
        out, hidden_state, cell_state = _Recurrent.apply(self._recorder, shape, data, *weights)  # type: ignore[no-untyped-call]
        return (out, hidden_state, cell_state) if gates == 4 else (out, hidden_state)

    def _lstm_cell(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Two products and one kernel for the gates, which adds the biases, as CUDA runs ``nn.LSTMCell``."""
        data, (hidden, cell), data_weight, hidden_weight = args[:4]
        data, hidden, cell, data_weight, hidden_weight = self._operands(
            [data, hidden, cell, data_weight, hidden_weight]
        )
        from_data, from_state = data @ data_weight.t(), hidden @ hidden_weight.t()
        return _CellGates.apply(self._recorder, from_data, from_state, cell)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _torch_as_on_cuda(*, autocast: bool) -> Iterator[None]:
    """Let the function mode see the C functions torch's Python wrappers call, not the wrappers; and autocast as on.

    CUDA's autocast switch does nothing to meta tensors, but modules read it, and ``autocast(enabled=False)`` clears it.
    """
    names = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
    wrappers = [(module, name) for module in (F, torch.functional) for name in names if hasattr(module, name)]
    originals = [getattr(module, name) for module, name in wrappers]
    was_enabled = torch.is_autocast_enabled()
    for module, name in wrappers:
        setattr(module, name, lambda *_: False)
    torch.set_autocast_enabled(autocast)
    try:
        yield
    finally:
        torch.set_autocast_enabled(was_enabled)
        for (module, name), original in zip(wrappers, originals, strict=True):
            setattr(module, name, original)


# --- the step --------------------------------------------------------------------------------------------------------

Inputs = tuple[Any, ...]
StepLoss = Callable[[torch.nn.Module, Inputs], torch.Tensor]


def trace_step(model: torch.nn.Module, inputs: Inputs, loss: StepLoss, *, autocast: bool) -> StepTrace:
    """One forward and backward of ``loss(model, inputs)``; a scalar loss; tensors on the meta device.

    A ``loss`` that has called ``backward`` itself is taken to have done all of it, and may return anything.
    Half parameters count as live: they exist beside the fp32 master weights that everybody counts as parameters.
    """
    model.train()
    model.zero_grad(set_to_none=True)
    live = LiveSet()
    weights = (*model.parameters(), *model.buffers())
    live.ignore(tensor for tensor in weights if tensor.dtype != HALF)
    for tensor in weights:
        live.add(tensor)
    for tensor in _tensors(inputs):
        live.add(tensor)
    recorder = Recorder(live)
    with recorder:
        semantics = CudaSemantics(recorder, autocast=autocast)
        with _torch_as_on_cuda(autocast=autocast), semantics, recorder.watching_backward():
            value = loss(model, inputs)
        if recorder.saved_bytes is None:
            recorder.begin_backward()
            value.backward()  # type: ignore[no-untyped-call]
    del value
    model.zero_grad(set_to_none=True)
    return StepTrace(recorder.rows, live.peak_bytes, recorder.saved_bytes or 0)


class ModelTrace(NamedTuple):
    """A model's parameters, and its step at each batch size in mixed precision and in fp32."""

    parameters: int
    trainable_parameters: int
    embedding_parameters: int
    parameter_tensors: int
    amp: tuple[StepTrace, ...]
    fp32: tuple[StepTrace, ...]


def trace_model(
    model: torch.nn.Module,
    make_inputs: Callable[[int], Inputs],
    loss: StepLoss,
    batches: Sequence[int] = (4, 8),
    *,
    pure_half: bool = False,
) -> ModelTrace:
    """Trace ``model`` (on meta) at each batch size, in mixed precision and in fp32.

    Mixed precision is autocast, or with ``pure_half`` a model that is half itself (it stays so).
    """
    fp32 = tuple(trace_step(model, make_inputs(batch), loss, autocast=False) for batch in batches)
    if pure_half:
        model.to(HALF)
    amp = tuple(trace_step(model, make_inputs(batch), loss, autocast=not pure_half) for batch in batches)
    parameters = list(model.parameters())
    trainable = [parameter for parameter in parameters if parameter.requires_grad]
    tables = {module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    return ModelTrace(
        parameters=sum(parameter.numel() for parameter in parameters),
        trainable_parameters=sum(parameter.numel() for parameter in trainable),
        embedding_parameters=sum(table.numel() for table in tables),
        parameter_tensors=len(trainable),
        amp=amp,
        fp32=fp32,
    )
