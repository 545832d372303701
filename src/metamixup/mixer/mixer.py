"""MetaMixUp for a training loop of one's own: three lines, any `nn.Module`, any tensor input."""

import warnings
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from metamixup import world
from metamixup.choices import DEFAULT_POLICY, estimator_named, policy_named
from metamixup.errors import UserError, unknown
from metamixup.meta import Estimator, Stage, learning_rates, make_stage
from metamixup.meta.lookahead import highest_rate
from metamixup.mixer import batches
from metamixup.mixer.batches import Inputs, Samples
from metamixup.mixer.meta_batches import MetaBatches, Source
from metamixup.mixer.mixed import Mixed, outputs
from metamixup.mixing import Mixture, Pairs, own_partners, soft_cross_entropy, soft_labels
from metamixup.mixing.at import BlendPoint
from metamixup.mixing.blendable import LossFunction, is_cross_entropy, require_blendable
from metamixup.network import (
    Classifiers,
    Net,
    NextPass,
    alone_with,
    classifier_name,
    ends_otherwise,
    knowing,
    known_classifier,
    logits_of,
)
from metamixup.policy import Policy
from metamixup.trust import Suspect, Trust

PATIENCE = 3  # passes that are waited for in vain before the mixer stops listening to the user's own


class MetaMixUp:
    """Blends each batch; how much, and whose label is trusted, is learned while training.

        mixer = MetaMixUp(model, num_classes=10, meta=(x_meta, y_meta), lr=optimizer)
        mixed = mixer(x, y, index)
        loss = cross_entropy(model(mixed.x), mixed.y)

    The model is never changed: parameters, buffers, gradients, mode and the global random state stay. Samples with an
    `index` are remembered: those that are not blended are judged in your own pass, if it is on `mixed.x` itself, and a
    look at a part of the batch now and then tells the rest. Without, each batch is looked at while labels are
    distrusted or it is not known whether to, and a step then costs about 1.6 MixUp steps instead of 1.1.

    model: any module; it may return logits, an object or dictionary that has them, or a tuple that they come first in.
    num_classes: of the labels; None for regression and for several labels a sample, which need a `loss`.
    meta: the meta set, which is surely right: (x, y) tensors, a Dataset or a DataLoader. It may also be given batch by
        batch when the mixer is called. Without any, the default policy judges labels by the network's own predictions.
    lr: the optimizer, each of whose groups counts with its own rate, or a number; it may also be given in each call.
    policy: a name of `metamixup.choices.POLICIES`, a policy or a stage; "trust", which is TrustMix, if nothing else is
        asked for. The paper's own is `Learned(projection="paper")`.
    estimator: a name of `metamixup.choices.ESTIMATORS` or an estimator, for policies that learn by ∇λ.
    every: learn on each k-th step only; the default policy does so twice as often until it is known whether labels are
        wrong and whether a long run overfits, and half as often once there is little left to learn.
    loss: of (what the model returns, targets), smooth in the targets, since those are blended. A cross entropy,
        weighted, smoothed or plain, is given the logits in what the model returns; with another one the policy is the
        paper's unless one is asked for.
    mix_at: "input", "features" (what the linear layer that the model ends in is given) or the name of a module whose
        output is blended, called once in each pass; the loss is then taken of `mixed.outputs(model)`.
    seed: decides partners, λ and meta batches.
    """

    def __init__(
        self,
        model: nn.Module,
        num_classes: int | None,
        *,
        meta: Source | None = None,
        lr: float | Optimizer | None = None,
        policy: str | Policy | Stage | None = None,
        estimator: str | Estimator | None = None,
        every: int | None = None,
        loss: LossFunction = soft_cross_entropy,
        mix_at: str = "input",
        seed: int = 0,
    ):
        _require_model(model)
        if num_classes is not None and (
            not isinstance(num_classes, Integral) or isinstance(num_classes, bool) or num_classes < 1
        ):
            raise UserError(f"num_classes is the number of classes, for instance 10, not {num_classes!r:.80}")
        if num_classes is None and loss is soft_cross_entropy:
            raise UserError("without num_classes give the loss of (outputs, targets), for instance loss=mse_loss")
        self.model, self.num_classes, self.loss, self.lr = model, num_classes, loss, lr
        self.stage = _stage(policy, estimator, plain=num_classes is not None and is_cross_entropy(loss))
        if num_classes is None and self.stage.by_class:
            name = type(policy if isinstance(policy, Policy) else self.stage).__name__
            raise UserError(f"{name} learns by class; without num_classes use Learned() or Beta()")
        if every is not None and every < 1:
            raise UserError(f"every={every}: λ is learned on every k-th step with k ≥ 1")
        self._every, self._usual_every = every, self.stage.every
        self.mix_at = mix_at
        if mix_at != "features":  # they are found by a forward pass
            _point(model, mix_at)
        self.meta = None if meta is None else MetaBatches(meta, seed)
        self.generator = torch.Generator().manual_seed(seed)
        self._checked = loss is soft_cross_entropy
        self._warned = False  # of inputs that cannot be blended
        self._classifiers: Classifiers = {}  # its own, since another mixer of the model may be there for another head
        self._next_pass: NextPass | None = None
        self._unheard = 0  # passes in a row that were not on the very inputs that were given out

    def __call__(
        self,
        x: Any,
        y: Any = None,
        *more: Any,
        lr: float | Optimizer | None = None,
        index: Any = None,
        meta_index: Any = None,
    ) -> Mixed:
        """`mixer(x, y, index)`, `mixer(x, y, x_meta, y_meta, index=index)` or, of a dictionary, `mixer(batch)`.

        x: (B, …) a tensor, or a dictionary or tuple of tensors, of which those with B rows are the samples', and
            others are shared by them;
        y: (B,) classes or (B, C) soft labels;
        index: (B,) the samples' positions in the training set: a tensor, an array or a list;
        x_meta, y_meta: the meta batch, where it is not drawn from `meta`; meta_index: its positions in the meta set;
        lr: as in the constructor.
        """
        batch, meta = batches.arranged(x, y, more, index, meta_index)
        with knowing(self._classifiers):
            return self._mixed(batch, meta, lr)

    def _mixed(self, batch: Samples, meta: Samples | None, lr: float | Optimizer | None) -> Mixed:
        x = batches.taken_by(self.model, batch.x)
        targets = self._targets(batch.y, x)
        n = len(targets)
        point = self._blend_point(x, targets)
        device = batches.tensors_of(x)[0].device
        positions = None if batch.index is None else batches.index_of(batch.index, n).to(device)
        self.stage.every = self._every or (1 if positions is None and self.stage.forgets else self._usual_every)
        meta = self._meta_batch(n, meta) if self.stage.meta_due else None
        partner = own_partners([n], self.generator).to(device)
        by_area = point.module is None and self.num_classes is not None  # labels, by the areas of images
        size = batches.image_size_of(x, n) if by_area else None
        pairs = Pairs(partner, targets, positions, positions=world.global_positions([n]), image_size=size)
        with alone_with(self.model):
            mixture = self._mixture(x, pairs, point, meta, lr)
        mixed = Mixed(mixture.labels(targets), mixture, point, x, n)
        self._listen(mixed, pairs)
        return mixed

    def _listen(self, mixed: Mixed, pairs: Pairs) -> None:
        """What is not blended is judged in the pass that the user is about to make, if it is on `mixed.x` itself. Where
        several processes share a step nothing assures that all of them make it."""
        if self._next_pass is not None:
            self._next_pass.remove()
            self._next_pass, self._unheard = None, self._unheard + 1
        classifier = self.model if ends_otherwise(self.model) else known_classifier(self.model)
        listens = self.stage.listens and pairs.index is not None and world.size() == 1 and self._unheard < PATIENCE
        if not listens or classifier is None:
            return

        def tell(logits: Tensor) -> None:
            self._next_pass, self._unheard = None, 0
            self.stage.witness(logits, pairs, mixed.mixture)

        self._next_pass = NextPass(self.model, classifier, lambda: mixed.asked_for, tell)

    def __getstate__(self) -> dict[str, Any]:
        """A copy waits for no pass: the hook is the original's."""
        return {**self.__dict__, "_next_pass": None}

    def _mixture(
        self, x: Inputs, pairs: Pairs, point: BlendPoint, meta: Samples | None, lr: float | Optimizer | None
    ) -> Mixture:
        device, meta_loss = pairs.labels.device, None
        if meta is not None:
            x_meta = batches.to_device(batches.taken_by(self.model, meta.x), device)
            y_meta = self._targets(meta.y, x_meta).to(device)
            pairs = pairs.beside(y_meta, None if meta.index is None else _meta_index(meta.index, y_meta))

            def meta_loss(net: Net) -> Tensor:
                with batches.naming_meta_samples(x, x_meta, len(y_meta)):
                    return self._loss(batches.call(net, x_meta), y_meta)

        def loss(net: Net, mixture: Mixture) -> Tensor:
            return self._loss(outputs(net, x, mixture, point, len(pairs.labels)), mixture.labels(pairs.labels))

        lr = self.lr if lr is None else lr
        if lr is not None:
            self.stage.see(highest_rate(lr))
        elif self.stage.due:
            raise UserError("the meta stage looks one step ahead: give lr=optimizer (or a number) to MetaMixUp(…)")
        eta = learning_rates(self.model, lr) if self.stage.due and lr is not None else {}
        return self.stage(self.model, loss, meta_loss, pairs, eta, self.generator)

    def _meta_batch(self, n: int, given: Samples | None) -> Samples | None:
        """For a step that learns: what was given with the call, or else drawn from the meta set."""
        if given is not None:
            return given
        if self.meta is not None:
            return self.meta.next(self.stage.meta_batch(n))
        if self.stage.needs_meta:
            raise UserError(
                "this step learns λ, so it needs a meta batch: MetaMixUp(…, meta=(x, y)), or "
                "mixer(x, y, x_meta, y_meta) in each call"
            )
        return None

    def _blend_point(self, x: Inputs, targets: Tensor) -> BlendPoint:
        """Asked for anew in each step: modules are replaced, as a head is for other classes."""
        if self.mix_at == "features":
            name = classifier_name(self.model, lambda net: self._loss(batches.call(net, x), targets))
            return BlendPoint(self.model.get_submodule(name), before=True)
        point = _point(self.model, self.mix_at)
        if point.module is None:
            self._require_blendable(x, len(targets))
        return point

    def _require_blendable(self, x: Inputs, n: int) -> None:
        """Labels are blended whether inputs can be or not."""
        floats, others = batches.by_sample(x, n)
        if not floats:
            kind = (others or [part for part in batches.tensors_of(x) if part.ndim and len(part) == n])[0].dtype
            raise UserError(f"inputs of {kind} cannot be blended: {_as_floats(kind)}")
        if others and not self._warned:
            self._warned = True
            warnings.warn(
                f"inputs of {others[0].dtype} cannot be blended: of each pair the first sample's are kept, though its "
                "label is blended. If they tell of the class, blend where all inputs have come together: give mix_at "
                "'features' or the name of that module",
                stacklevel=5,
            )

    def _loss(self, found: Any, targets: Tensor) -> Tensor:
        found = logits_of(found) if is_cross_entropy(self.loss) else found
        if not self._checked:
            require_blendable(self.loss, found, targets)
            self._checked = True
        return self.loss(found, targets)

    def _targets(self, y: Any, x: Inputs) -> Tensor:
        y = batches.labels_of(y)
        n = batches.size_of(x, len(y))
        if len(y) != n:
            raise UserError(f"{n} samples have {len(y)} labels")
        parts = batches.tensors_of(x)
        dtype = next((part.dtype for part in parts if part.is_floating_point()), torch.float32)
        if self.num_classes is not None:
            return soft_labels(y, self.num_classes, dtype).to(parts[0].device)
        if not y.is_floating_point():
            raise UserError(
                f"targets of {y.dtype} cannot be blended: give num_classes if they are classes, else floating targets"
            )
        return y.to(parts[0].device, dtype)

    def trust(self, index: Any) -> Tensor:
        """(n,) how likely the labels of these training samples are right; 1 for one that has not been judged. Of the
        default policy.

        index: positions as the mixer takes them, a single one, or a mask that is True for those meant.
        """
        return self._trusting().trust_of(batches.places_of(index))

    def suspects(self, k: int = 100) -> list[Suspect]:
        """The k training samples whose labels are most likely wrong, the worst first, with what they likely are
        (None with 128 classes or more). They are known by their `index`; a warning says why there are none."""
        stage = self._trusting()
        if stage.labels.division.fit is None or not stage.labels.samples.count:
            early = "it is too early: labels are judged once all samples have been looked at twice"
            why = early if stage.labels.samples.count else "give mixer(x, y, index) their place in the training set"
            warnings.warn(f"no training sample has been judged yet; {why}", stacklevel=2)
        return stage.labels.suspects(k)

    def _trusting(self) -> Trust:
        if not isinstance(self.stage, Trust):
            raise UserError(f"{type(self.stage).__name__} does not judge labels; the default policy, Trust(), does")
        return self.stage

    def state_dict(self) -> dict[str, Any]:
        meta = 0 if self.meta is None else self.meta.steps
        return {"stage": self.stage.state_dict(), "generator": self.generator.get_state(), "meta": meta}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """UserError, and the mixer stays as it was, if the state is of another policy or version."""
        before = self.stage.state_dict()
        self._require_same_classes(state)
        try:
            self.stage.load_state_dict(state["stage"])
            self.generator.set_state(state["generator"])
        except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            self.stage.load_state_dict(before)
            raise UserError(
                f"this state was not saved by {type(self.stage).__name__} of this version of metamixup (see {error}): "
                "go on with the version and policy that saved it, or leave it out, and the mixer learns anew"
            ) from error
        if self.meta is not None:
            self.meta.steps = int(state.get("meta", 0))

    def _require_same_classes(self, state: dict[str, Any]) -> None:
        try:
            found = self.stage.classes_in(state["stage"], self.num_classes or 0)
        except (LookupError, TypeError, ValueError, AttributeError):
            return  # it is no state of this policy, which loading it tells
        if found is not None:
            raise UserError(
                f"this state was saved with {found} classes and the mixer has num_classes={self.num_classes}: what is "
                "remembered of one task says nothing of another; leave it out, and the mixer learns anew"
            )


def _as_floats(kind: torch.dtype) -> str:
    """What to do about inputs that are none, or are called what masks are."""
    if kind.is_floating_point:
        names = " or ".join(repr(name) for name in batches.MASKS)
        return f"an entry called {names} is joined with its partner's; if it is an image or a quantity, rename it"
    if kind.is_complex:
        return "blend their real and imaginary parts, as by torch.view_as_real(x)"
    if kind == torch.uint8:
        return "scale images to floats, as by x.float() / 255, or give mix_at the name of their embedding"
    return "of tokens give mix_at the name of their embedding; quantities become floats by x.float()"


def _require_model(model: Any) -> None:
    if isinstance(model, nn.DataParallel):
        raise UserError("the mixer needs the plain module, not nn.DataParallel's: give it model.module")
    if isinstance(model, torch.jit.ScriptModule):
        raise UserError("the mixer needs the plain module, not one of torch.jit: give it the one this was made from")
    if not isinstance(model, nn.Module):
        raise UserError(f"model is what is trained, an nn.Module, not a {type(model).__name__}")


def _meta_index(index: Any, labels: Tensor) -> Tensor:
    return batches.index_of(index, len(labels), "meta_index").to(labels.device)


def _stage(policy: Any, estimator: str | Estimator | None, plain: bool) -> Stage:
    """Another loss than cross entropy, or an estimator of ∇λ, asks for the policy of the paper."""
    found = policy if policy is not None else (DEFAULT_POLICY if plain and estimator is None else "learned")
    if isinstance(found, str):
        found = policy_named(found)
    if not isinstance(found, Policy | Stage):
        raise UserError(f"policy is a name, a policy or a stage, not a {type(found).__name__}")
    estimator = estimator or (found.default_estimator if found.learned else None)
    return make_stage(found, estimator_named(estimator) if isinstance(estimator, str) else estimator)


def _point(model: nn.Module, name: str) -> BlendPoint:
    if name == "input":
        return BlendPoint()
    try:
        return BlendPoint(model.get_submodule(name))
    except AttributeError:
        raise unknown("module", name, ["input", "features", *filter(None, dict(model.named_modules()))]) from None
