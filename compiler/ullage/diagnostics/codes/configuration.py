"""U7xx: configurations and batches."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U701",
        "value of a parameter",
        "The value is of the wrong type, outside of the parameter's range, no value of its enum, "
        "or given although the parameter's 'when' does not hold.",
        "max_running_requests: 0",
        "Give a value that the message allows, or leave the parameter out.",
    ),
    Code(
        "U702",
        "constraint broken",
        "Parameters that are each in range break a constraint of the spec together; the message "
        "gives its reason.",
        "speculative_eagle_topk 1 with speculative_num_draft_tokens 8 and speculative_num_steps 3",
        "Change one of the parameters that the constraint relates.",
    ),
    Code(
        "U703",
        "unknown parameter",
        "The engine's spec has no parameter of this name.",
        "max_runing_requests: 64",
        "Correct the name; all of them are under 'parameters' in the engine's spec.",
    ),
    Code(
        "U704",
        "missing parameter",
        "The parameter has no default and was not given.",
        "a configuration without tp_size",
        "Give it a value.",
    ),
    Code(
        "U711",
        "batch exceeds a capacity",
        "After padding, the batch needs more than the static buffers have. Nothing was written.",
        "requests 65 in a buffer of 64",
        "Raise the parameter that binds, or send smaller batches.",
    ),
    Code(
        "U712",
        "live value out of range",
        "A live value lies outside of the range that the capacities were derived from.",
        "sum of seq_lens above the pool",
        "Correct the producer of the batch, or the mode's ranges.",
    ),
    Code(
        "U713",
        "source missing",
        "The batch lacks a field that the mode copies into a slot which is not optional.",
        "batch.positions is None",
        "Set the field, or mark the slot optional.",
    ),
    Code(
        "U714",
        "dtype of a source",
        "The source is no dense tensor, or the slot does not accept its dtype.",
        "a float32 source of an int64 slot",
        "Convert the source, or list its dtype under 'casts_from' if the values fit.",
    ),
    Code(
        "U715",
        "device of a source",
        "The source lies on another device than its slot.",
        "a host tensor as the source of a compute slot",
        "Move the source, or declare the slot with device: host.",
    ),
    Code(
        "U716",
        "shape of a source",
        "The source has another shape than the batch's extents imply.",
        "seq_lens of 7 rows in a batch of 8 requests",
        "Correct the producer of the batch, or the slot's shape.",
    ),
    Code(
        "U717",
        "mode not served",
        "The runner does not serve the mode of this batch.",
        "an extend batch given to a decode graph runner",
        "Ask the runner's modes (or select, where a worker has several runners) which it serves, "
        "or add the mode to the runner's spec.",
    ),
    Code(
        "U718",
        "source overlaps what is written",
        "The source shares memory with static storage that this same load overwrites.",
        "a batch made of slices of the registry's own buffers, shifted by a row",
        "Copy the source, or hand over the slot's own storage unchanged.",
    ),
    Code(
        "U719",
        "source records gradients",
        "Copying the source would record gradients into a static buffer.",
        "a source with requires_grad set, outside of inference mode",
        "Detach the source, or load in inference mode.",
    ),
    Code(
        "U720",
        "batch of another rank refused",
        "A rank whose batch is refused says so in the exchange of counts, and no rank loads.",
        "one of two ranks brings 9 requests where 8 are allowed",
        "See that rank's own error, whose code the message names.",
    ),
    Code(
        "U721",
        "generated code of another version",
        "The generated code was made for a runtime that this one is not compatible with.",
        "an upgraded runtime beside code that was compiled earlier",
        "Run 'ullage compile' with the installed version.",
    ),
    Code(
        "U731",
        "padding changes the output",
        "In debug mode, a padded or replayed step gave another output than the unpadded one.",
        "a kernel that reads padded rows without declaring it",
        "Declare the padded read, or correct the kernel.",
    ),
    Code(
        "U732",
        "poison left",
        "In debug mode, rows that a reader reads still hold the poison written before the load.",
        "a tail that no fill covers",
        "Declare the fill; if it is declared, report it as a fault of the compiler.",
    ),
    Code(
        "U733",
        "guard overwritten",
        "In debug mode, something wrote past the end of a slot.",
        "a kernel that writes one row too many",
        "Find the writer; the message names the slot before the guard.",
    ),
    Code(
        "U734",
        "ranks disagree",
        "In debug mode, ranks of a group were about to enter different collectives.",
        "one rank skips a collective because it is idle",
        "Let all ranks enter the same collectives in the same order.",
    ),
    Code(
        "U735",
        "loaded batch overwritten",
        "In debug mode, another runner loaded into storage that both share, before the steps "
        "that read the first one's batch had ended.",
        "a step of one runner that executes another runner",
        "Run one after the other, or put both into a group under 'concurrent'.",
    ),
    Code(
        "U736",
        "output without the rows of its batch",
        "A step of the engine gave tensors of which none has as many rows as the batch has along "
        "some axis, so that they cannot be cut back to live rows.",
        "logits of 7 rows for a batch padded to 8",
        "Give a row for each padded row, or only the live ones.",
    ),
    Code(
        "U737",
        "no graph of these rows",
        "A batch was padded to rows that no graph of the runner was captured with.",
        "a replay of 3 requests, where graphs of 2 and of 5 were captured",
        "Capture a graph for each bucket of the runner, and let select choose the runner.",
    ),
    Code(
        "U738",
        "batch elsewhere than its graph reads",
        "A tensor of the batch has another address, shape or dtype than when the graph of its rows "
        "was captured, or was not there then.",
        "a replay after the arenas were allocated anew",
        "Capture again after storage has moved, and with every source that a batch may bring.",
    ),
    Code(
        "U739",
        "constant overwritten",
        "In debug mode, a slot with 'lifetime: once' held something else after a load than what "
        "was written into it at the start.",
        "a kernel that writes into a table which it should only read",
        "Find the writer, or let a step of the engine write the slot: written_by.",
    ),
    Code(
        "U741",
        "wrapper that does not exist here",
        "An engine made a wrapper whose condition is false in this configuration.",
        "a wrapper with 'when: attention_backend == flashinfer' under another backend",
        "Ask the configuration before making it.",
    ),
    Code(
        "U742",
        "no object of this index",
        "A wrapper has one object for each index below a number, and another index was asked for.",
        "step 5 of a wrapper with 'each: {step: 5}'",
        "Make one object for each index from 0 on.",
    ),
    Code(
        "U743",
        "slot that a wrapper lacks",
        "The batch does not have a slot that the wrapper is made over or planned with, because of "
        "its mode, its configuration or what it brings.",
        "a wrapper over a mask, and a batch of a mode that loads none",
        "Make the wrapper over a batch that has its slots; the message says which do.",
    ),
    Code(
        "U744",
        "slot that is not in one axis",
        "A wrapper takes a slot as one axis, which is never a copy, but the batch's view of it has "
        "gaps between its rows.",
        "a view of 3 columns of a slot that is 8 wide",
        "Give the batch that a runner loaded; the later extents of such a slot do not vary.",
    ),
    Code(
        "U745",
        "library of a wrapper is missing",
        "The module that a wrapper names cannot be imported, or has no class of that name.",
        "library: flashinfer.BatchDecode   # in an environment without flashinfer",
        "Install the library in the version that the spec was written for.",
    ),
)
