"""Rules of values of version 2: MAN-1 to MAN-8 and what sections 3 and 11 say of each item."""

import math

from google.protobuf.descriptor import FieldDescriptor as F

from reprise_reader.schema import annotations_pb2 as annotations
from reprise_reader.schema import training_pb2
from reprise_reader.schema import vocabulary_pb2 as vocabulary
from reprise_reader.refusal import Refused
from reprise_reader.v2.need import need
from reprise_reader.v2.table import check_name, unpack_names

SAVED, EMPTY, NOT_APPLICABLE, OMITTED = 1, 2, 3, 4
ITEMS = {number: name for name, number in vocabulary.Item.items() if 1 <= number <= 50}
MAY_BE_EMPTY = {"OPTIM_MOMENTS", "OPTIM_STEP", "LOADER_INFLIGHT", "ACCUM_GRADS", "EMA_WEIGHTS",
                "BEST"}


def _finite(*numbers):
    return all(math.isfinite(n) for n in numbers)


class Values:
    """Checks a parsed manifest; `presence` maps names of items to presences."""

    def __init__(self, manifest):
        self.m = manifest
        self.presence = {}

    def saved(self, item):
        return self.presence[item] == SAVED

    def check_records(self):
        m = self.m
        need(m.HasField("step"), "MISSING_ITEM", "counters.step")
        need(m.run.run_id, "MISSING_ITEM", "run.run_id")
        need(m.run.HasField("attempt"), "MISSING_ITEM", "run.attempt")
        if m.run.HasField("parent"):
            need(m.run.parent.HasField("step"), "MISSING_ITEM", "run.parent.step")
        last = 0
        for record in m.inventory:
            need(record.HasField("as_of_step"), "MISSING_ITEM", "inventory.as_of_step")
            need(record.item >= last, "INVALID_VALUE", "records out of order")
            last = record.item
        for step in m.history:
            need(step.HasField("from_major") and step.HasField("to_major"), "MISSING_ITEM",
                 "history")
        for record in m.inventory:
            need(record.item in ITEMS, "INVALID_VALUE", f"record of {record.item}")
            name = ITEMS[record.item]
            need(name not in self.presence, "INVALID_VALUE", f"{name}: two records")
            self.presence[name] = record.presence
        for name in ITEMS.values():
            need(name in self.presence, "MISSING_ITEM", f"{name}: no record")
        for record in m.inventory:
            name = ITEMS[record.item]
            need(SAVED <= record.presence <= OMITTED, "INVALID_VALUE", f"{name}: presence")
            need(record.presence != EMPTY or name in MAY_BE_EMPTY, "INVALID_VALUE",
                 f"{name}: EMPTY")
            if record.presence in (NOT_APPLICABLE, OMITTED):
                need(record.reason, "MISSING_ITEM", f"{name}: no reason")
            else:
                need(not record.reason, "INVALID_VALUE", f"{name}: a reason")
            need(record.as_of_step == m.step, "INVALID_VALUE", f"{name}: of another step")
        need(self.saved("COUNTERS_STEP"), "MISSING_ITEM", "COUNTERS_STEP")

    def check_fields(self, message=None, inherited=None):
        """MAN-2 and MAN-4, from the options of the schema."""
        message = self.m if message is None else message
        for field in message.DESCRIPTOR.fields:
            options = field.GetOptions()
            own = ITEMS.get(options.Extensions[annotations.item])
            optional = options.Extensions[annotations.may_be_absent]
            repeated = field.label == F.LABEL_REPEATED
            value = getattr(message, field.name)
            if repeated:
                has = len(value) > 0
            elif field.has_presence:
                has = message.HasField(field.name)
            else:
                has = bool(value)
            if own:
                need(self.saved(own) or not has, "INVALID_VALUE", f"{own}: {field.full_name}")
                need(has or optional or not self.saved(own), "MISSING_ITEM",
                     f"{own}: {field.full_name}")
            elif inherited and not has and not optional:
                real_oneof = field.containing_oneof and not field.containing_oneof.name.startswith("_")
                need(real_oneof, "MISSING_ITEM", f"{inherited}: {field.full_name}")
            item = own or inherited
            if field.enum_type is not None and has:
                for number in value if repeated else [value]:
                    need(number != 0 and number in field.enum_type.values_by_number,
                         "INVALID_VALUE", f"{field.full_name} is {number}")
            if field.message_type is None or field.message_type.name == "Names":
                continue
            if repeated:
                for element in value:
                    self.check_fields(element, item)
            elif has or not item:
                self.check_fields(value, item)

    def check_sorted(self):
        m = self.m
        lists = [[f.path for f in m.config.fields], [f.path for f in m.config.recorded],
                 [u.name for u in m.user], [x.name for x in m.evaluation.last.metrics],
                 [p.name for p in m.schedule.parameters]]
        for names in lists:
            keys = [name.encode() for name in names]
            need(all(a < b for a, b in zip(keys, keys[1:])), "INVALID_VALUE", "a list not sorted")

    def names(self, what, names):
        """A sorted list of unique names, as text."""
        raw = unpack_names(names)
        need(all(a < b for a, b in zip(raw, raw[1:])), "INVALID_VALUE", f"{what}: not sorted")
        return [check_name(what, name) for name in raw]

    # What belongs to one item each.

    def check_values(self, rows):
        self.tensors = {}
        for row in rows:
            self.tensors.setdefault(row.item_name, {})[(row.name, row.part)] = row
        for f in self.m.config.fields:
            need(f.rule != vocabulary.RECORDED, "INVALID_VALUE", f"{f.path}: wrong list")
        for f in self.m.config.recorded:
            need(f.rule == vocabulary.RECORDED, "INVALID_VALUE", f"{f.path}: wrong list")
        for value in self.m.user:
            need(value.WhichOneof("value"), "MISSING_ITEM", f"{value.name}: no value")
        self.groups = [([name.decode("utf-8", "replace") for name in unpack_names(g.parameters)], g)
                       for g in self.m.optimizer.groups]
        if self.saved("OPTIM_STEP"):
            for names, group in self.groups:
                need(len(group.steps) == len(names), "CORRUPT", f"{group.name}: steps")
        self._ties(rows)
        for check in (self._run, self._model, self._optimizer, self._schedule, self._scaler,
                      self._sampler, self._counters, self._ema_and_clip, self._generators,
                      self._rest):
            check()

    def _ties(self, rows):
        in_groups = {name for names, _ in self.groups for name in names}
        for row in rows:
            if row.item_name == "OPTIM_MOMENTS":
                need(row.name in in_groups, "INVALID_VALUE", f"moments of {row.name}")
        any_alias = any(row.alias for row in rows)
        need(any_alias or not self.saved("MODEL_TIES"), "MISSING_ITEM", "MODEL_TIES")
        need(not any_alias or self.saved("MODEL_TIES"), "INVALID_VALUE", "MODEL_TIES")

    def _run(self):
        run = self.m.run
        need(len(run.run_id) == 32 and set(run.run_id) <= set("0123456789abcdef"),
             "INVALID_VALUE", "run id")
        need(run.attempt >= 1, "INVALID_VALUE", "attempt 0")
        for step in self.m.history:
            need(step.to_major in (step.from_major, step.from_major + 1), "INVALID_VALUE",
                 "history skips a major")
            need(len(step.source_manifest_digest) == 16, "INVALID_VALUE", "history: digest")
        if not run.HasField("parent"):
            return
        parent = run.parent
        need(run.attempt > 1, "INVALID_VALUE", "attempt 1 has no parent")
        digests = [d for d in (parent.manifest_digest, parent.value_digest) if d]
        need(digests, "MISSING_ITEM", "the parent has no digest")
        need(all(len(d) == 16 for d in digests), "INVALID_VALUE", "parent digest")
        need(parent.step <= self.m.step, "INVALID_VALUE", "the parent is of a later step")

    def _model(self):
        of = self.tensors.get
        for item in ("MODEL_PARAMS", "MODEL_BUFFERS", "MASTER", "EMA_WEIGHTS", "ACCUM_GRADS"):
            need(not of(item) or self.saved(item), "INVALID_VALUE", f"{item}: tensors")
            need(of(item) or not self.saved(item), "MISSING_ITEM", f"{item}: no tensors")
        parameters = {name: row.shape for (name, _), row in (of("MODEL_PARAMS") or {}).items()}
        everything = dict(parameters)
        for (name, _), row in (of("MODEL_BUFFERS") or {}).items():
            need(name not in everything, "INVALID_VALUE", f"{name}: parameter and buffer")
            everything[name] = row.shape
        self.parameters = parameters
        if self.saved("MODEL_PARAMS"):
            for item, owners in (("MASTER", parameters), ("ACCUM_GRADS", parameters),
                                 ("EMA_WEIGHTS", everything)):
                for (name, _), row in (of(item) or {}).items():
                    need(owners.get(name) == row.shape, "INVALID_VALUE", f"{item} {name}")
        self.names("module", self.m.model.modules_in_other_mode)
        frozen = self.names("parameter", self.m.model.frozen)
        if self.saved("MODEL_PARAMS"):
            for name in frozen:
                need(name in parameters, "INVALID_VALUE", f"frozen {name}")

    def _options(self, group, adam):
        need(_finite(group.lr, group.base_lr), "INVALID_VALUE", f"{group.name}: lr")
        options = [("weight_decay", True, 0, False), ("beta1", adam, 0, True),
                   ("beta2", adam, 0, True), ("eps", adam, 0, False),
                   ("momentum", not adam, 0, False), ("dampening", not adam, -math.inf, False),
                   ("nesterov", not adam, 0, False)]
        for name, wanted, low, below_one in options:
            has = group.HasField(name)
            need(has or not wanted, "MISSING_ITEM", f"{group.name}: {name}")
            need(wanted or not has, "INVALID_VALUE", f"{group.name}: {name}")
            value = getattr(group, name)
            fits = not wanted or (_finite(value) and value >= low
                                  and not (below_one and value >= 1))
            need(fits, "INVALID_VALUE", f"{group.name}: {name} {value}")

    def _nothing_applied(self):
        """ITEM-6: EMPTY says that no step was applied."""
        applied = self.m.counters.applied if self.saved("COUNTERS_APPLIED") else 0
        if self.saved("SCHED_UNIT") and self.saved("SCHED_POSITION"):
            if self.m.schedule.unit == training_pb2.Schedule.APPLIED:
                applied = max(applied, self.m.schedule.position)
        for item in ("OPTIM_MOMENTS", "OPTIM_STEP"):
            need(not applied or self.presence[item] != EMPTY, "MISSING_ITEM",
                 f"{item}: EMPTY after {applied} applied steps")

    def _optimizer(self):
        self._nothing_applied()
        m = self.m
        for item in ("OPTIM_IDENTITY", "OPTIM_STEP", "SCHED_BASE", "SCHED_APPLIED"):
            need(self.saved("OPTIM_GROUPS") or not self.saved(item), "MISSING_ITEM",
                 "OPTIM_GROUPS")
        states = self.saved("OPTIM_MOMENTS") or self.saved("OPTIM_STEP")
        for item in ("OPTIM_IDENTITY", "OPTIM_KIND"):
            need(self.saved(item) or not states, "MISSING_ITEM", item)
        if not m.HasField("optimizer"):
            need(not states, "MISSING_ITEM", "OPTIM_MOMENTS")
            return
        adam = m.optimizer.kind in ("adam", "adamw")
        if self.saved("OPTIM_KIND"):
            need(adam or m.optimizer.kind == "sgd", "INVALID_VALUE", m.optimizer.kind)
        group_names = set()
        seen = set()
        for names, group in self.groups:
            check_name("group", group.name.encode())
            if self.saved("OPTIM_KIND"):
                self._options(group, adam)
            need(group.name not in group_names, "INVALID_VALUE", f"two groups {group.name}")
            group_names.add(group.name)
            for name in names:
                known = name in self.parameters or not self.saved("MODEL_PARAMS")
                need(known, "INVALID_VALUE", f"{name} is no parameter")
                need(name not in seen, "INVALID_VALUE", f"{name} is in the groups twice")
                seen.add(name)
        need(seen or not self.saved("OPTIM_IDENTITY"), "MISSING_ITEM", "OPTIM_IDENTITY")
        self._moments(adam)

    def _moments(self, adam):
        wanted = {"exp_avg", "exp_avg_sq"} if adam else {"momentum_buffer"}
        moments = {}
        for (name, part), row in self.tensors.get("OPTIM_MOMENTS", {}).items():
            moments.setdefault(name, {})[part] = row
        saved = self.saved("OPTIM_MOMENTS")
        for names, group in self.groups:
            for index, name in enumerate(names):
                step = group.steps[index] if group.steps else 0
                if name in moments:
                    need(saved, "INVALID_VALUE", f"moments of {name}")
                    need(step or not self.saved("OPTIM_STEP"), "INVALID_VALUE",
                         f"{name}: moments before its first step")
                    for part, row in moments[name].items():
                        need(part in wanted, "INVALID_VALUE", f"{name}: {part}")
                        need(row.dtype in (1, 2, 3, 4, 14, 15), "INVALID_VALUE", f"{name}: dtype")
                        shape = self.parameters.get(name, row.shape)
                        need(row.shape == shape, "INVALID_VALUE", f"{name}: shape of {part}")
                    need(set(moments[name]) == wanted, "MISSING_ITEM", f"{name}: moments")
                elif saved or self.presence["OPTIM_MOMENTS"] == EMPTY:
                    need(step == 0, "MISSING_ITEM", f"{name}: {step} steps without moments")
        need(moments or not saved, "MISSING_ITEM", "OPTIM_MOMENTS")

    def _schedule(self):
        schedule = self.m.schedule
        if self.saved("SCHED_HORIZON"):
            need(schedule.horizon >= 1, "INVALID_VALUE", "horizon 0")
        if schedule.HasField("state"):
            need(0 < schedule.state.factor <= 1, "INVALID_VALUE", "plateau factor")
        if not self.saved("SCHED_DEFINITION"):
            return
        if self.saved("SCHED_HORIZON"):
            need(schedule.warmup <= schedule.horizon, "INVALID_VALUE", "warm-up beyond horizon")
        need(0 <= schedule.final_fraction <= 1, "INVALID_VALUE", "final fraction")

    def _scaler(self):
        scaler = self.m.scaler
        if self.saved("SCALER_SCALE"):
            need(scaler.scale > 0 and _finite(scaler.scale), "INVALID_VALUE", "scale")
        if not self.saved("SCALER_CONFIG"):
            return
        need(scaler.growth_interval >= 1, "INVALID_VALUE", "growth interval")
        if self.saved("SCALER_GROWTH_TRACKER"):
            need(scaler.growth_tracker < scaler.growth_interval, "INVALID_VALUE", "tracker")
        need(scaler.growth_factor > 1 and _finite(scaler.growth_factor), "INVALID_VALUE",
             "growth factor")
        need(0 < scaler.backoff_factor < 1, "INVALID_VALUE", "backoff factor")
        need(scaler.min_scale >= 0 and _finite(scaler.min_scale), "INVALID_VALUE", "min scale")

    def _sampler(self):
        sampler = self.m.sampler
        batch, order = self.saved("DATA_BATCH"), self.saved("SAMPLER_ORDER")
        if batch:
            need(sampler.batch_size >= 1, "INVALID_VALUE", "batch size 0")
        if order:
            need(sampler.dataset_size >= 1, "INVALID_VALUE", "no samples")
        if not (batch and order):
            return
        drop = sampler.tail == 1
        if drop:
            need(sampler.dataset_size >= sampler.batch_size, "INVALID_VALUE", "no whole batch")
        if self.saved("SAMPLER_CURSOR"):
            epoch = sampler.dataset_size
            if drop:
                epoch = epoch // sampler.batch_size * sampler.batch_size
            since = sampler.cursor if sampler.tail == 3 else sampler.cursor % epoch
            need(since % sampler.batch_size == 0, "INVALID_VALUE", "cursor inside a batch")

    def _counters(self):
        m = self.m
        applied, skipped = self.saved("COUNTERS_APPLIED"), self.saved("COUNTERS_SKIPPED")
        if applied:
            need(m.counters.applied <= m.step, "INVALID_VALUE", "applied")
        if skipped:
            need(m.counters.skipped <= m.step, "INVALID_VALUE", "skipped")
        if applied and skipped:
            need(m.counters.applied + m.counters.skipped == m.step, "INVALID_VALUE",
                 "applied and skipped")
        if self.saved("COUNTERS_SAMPLES") and self.saved("SAMPLER_CURSOR"):
            need(m.counters.samples == m.sampler.cursor, "INVALID_VALUE", "samples")
        if m.HasField("accumulation"):
            need(m.accumulation.count < m.accumulation.per_step, "INVALID_VALUE", "micro-steps")
        gradients = self.presence["ACCUM_GRADS"]
        if m.accumulation.count:
            need(gradients != EMPTY, "MISSING_ITEM", "ACCUM_GRADS")
        else:
            need(gradients != SAVED, "INVALID_VALUE", "gradients at a boundary")

    def _ema_and_clip(self):
        m = self.m
        if self.saved("EMA_CONFIG"):
            need(0 <= m.ema.decay < 1, "INVALID_VALUE", "decay")
        if self.presence["EMA_WEIGHTS"] == EMPTY and self.saved("EMA_UPDATES"):
            need(m.ema.updates == 0, "MISSING_ITEM", "EMA_WEIGHTS")
        if m.HasField("clip"):
            need(m.clip.limit > 0 and _finite(m.clip.limit), "INVALID_VALUE", "clip limit")
            norm = m.clip.kind == training_pb2.GradientClip.NORM
            need(norm == m.clip.HasField("norm_type"), "INVALID_VALUE", "norm type")
            need(not norm or m.clip.norm_type > 0, "INVALID_VALUE", "norm type")

    def _generators(self):
        if self.m.random.HasField("cpu"):
            need(self.m.random.cpu.name == "cpu", "INVALID_VALUE", self.m.random.cpu.name)
        last = -1
        for generator in self.m.random.cuda:
            index = generator.name[5:]
            need(generator.name.startswith("cuda:") and index.isdigit()
                 and str(int(index)) == index, "INVALID_VALUE", generator.name)
            need(int(index) > last, "INVALID_VALUE", "generators out of order")
            last = int(index)

    def _rest(self):
        m = self.m
        paths = [f.path for f in m.config.fields] + [f.path for f in m.config.recorded]
        for path in paths:
            check_name("field", path.encode())
        need(len(set(paths)) == len(paths), "INVALID_VALUE", "a configuration path twice")
        if self.saved("ENVIRONMENT"):
            need(m.environment.threads and m.environment.world_size, "INVALID_VALUE", "threads")
            need(len(m.environment.kernel_probe) == 16, "INVALID_VALUE", "kernel probe")
        need(m.evaluation.last.step <= m.step, "INVALID_VALUE", "a later evaluation")
        if m.HasField("best"):
            need(m.best.step <= m.step, "INVALID_VALUE", "best of a later step")
            need(not math.isnan(m.best.value), "INVALID_VALUE", "best is NaN")
        if m.HasField("early_stop"):
            need(m.early_stop.min_delta >= 0 and _finite(m.early_stop.min_delta),
                 "INVALID_VALUE", "min_delta")
        for value in m.user:
            check_name("value", value.name.encode())
        any_user = bool(m.user or self.tensors.get("USER"))
        need(not any_user or self.saved("USER"), "INVALID_VALUE", "USER")
        need(any_user or not self.saved("USER"), "MISSING_ITEM", "USER")
        if m.HasField("witness"):
            witness = m.witness
            need(witness.ByteSize() > 0, "MISSING_ITEM", "an empty witness")
            digests = [d.digest for d in witness.draws]
            if witness.next_samples:
                digests.append(witness.next_samples)
            need(all(len(d) == 16 for d in digests), "INVALID_VALUE", "digest of the witness")
        if m.data.HasField("fingerprint"):
            need(len(m.data.fingerprint.digest) == 16, "INVALID_VALUE", "fingerprint")


def refuse_unknown_features(manifest):
    """FEAT-1: version 2.0 knows none."""
    for feature in manifest.required_features:
        raise Refused("UNKNOWN_FEATURE", feature)
