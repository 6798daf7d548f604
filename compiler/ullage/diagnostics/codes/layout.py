"""U6xx: tails, readers, dtypes and shared memory."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U601",
        "readers disagree",
        "Two readers of the same padded rows want different contents.",
        "one reader fills seq_lens with 0, another with 1",
        "Agree on one fill, or give each reader a slot of its own.",
    ),
    Code(
        "U602",
        "padded rows of unknown content",
        "A reader reads padded rows and does not say what it may find there: it would see what an "
        "earlier batch left.",
        "reads: {positions: {rows: padded}}",
        "State a fill or a range, or read live rows only.",
    ),
    Code(
        "U603",
        "dtype too narrow",
        "Some legal configuration gives the slot values that its dtype cannot hold.",
        "dtype: int32, range: [0, 2^33]",
        "Widen the dtype, or say on_overflow: refuse_config.",
    ),
    Code(
        "U604",
        "index too narrow",
        "A size or an offset can pass 2^31, and something counts it in 32 bits.",
        "rows * row_width beyond 2^31 elements",
        "Use 64-bit indices, or say on_overflow: refuse_config.",
    ),
    Code(
        "U606",
        "narrowing copy",
        "The source's dtype holds values that the slot's dtype does not.",
        "dtype: int32, casts_from: [int64]",
        "Bound the values so that they fit, or widen the slot.",
    ),
    Code(
        "U607",
        "fill or result outside of the values",
        "A tail is filled with, a scalar computed as, or a batch said to bring a value outside of "
        "the slot's range or dtype.",
        "values: [0, 9], fill: -1",
        "Choose a fill in the range, or widen the range.",
    ),
    Code(
        "U608",
        "storage overlaps",
        "Two slots that are alive together share bytes of the arena.",
        "an offset table changed by hand",
        "This is a fault of the planner: report it together with the spec.",
    ),
    Code(
        "U609",
        "order of collectives",
        "Ranks of a group would enter their collectives in different orders and hang.",
        "two modes with the same two collectives, exchanged",
        "Use the same order in all modes that run in the same round.",
    ),
    Code(
        "U610",
        "collective without an idle peer",
        "Ranks of a mode wait in a collective for all others, but a rank without work is in no "
        "mode that is their peer: it would skip the collective, and the others hang. This is a "
        "warning, for an engine may never leave a rank without work.",
        "mode: mixed   # and 'mode: idle' has peers: [decode]",
        "Name the mode in the 'peers' of an idle one whose pipeline has the same collectives.",
    ),
    Code(
        "U611",
        "reader that no step names",
        "A reader of padded rows counts for a runner in the steps that name it. A runner that "
        "loads its slot and names it nowhere may have forgotten it, and then nobody knows in which "
        "modes the rows are read. This is a warning, for a runner may do without the reader.",
        "rotary: {reads: {positions: {rows: padded, fill: 0}}}   # and no step names rotary",
        "Name the reader under the 'readers' of the step in which it reads.",
    ),
    Code(
        "U612",
        "slot that no step writes",
        "A slot is written by a step of the engine, and a runner that has the slot runs no such "
        "step after it loads, or not in every mode that has the slot.",
        "logits: {written_by: forward}   # and the runner has no step forward",
        "Add the step, or narrow the 'slots' of the runner or the 'modes' of the slot.",
    ),
    Code(
        "U613",
        "read before it is written",
        "A reader reads a slot in a step that runs before the load or the step which writes it, or "
        "also where that one does not run: it would see what an earlier batch left.",
        "steps: [{do: load}, {step: sample, readers: [sampler]}, {step: forward}]",
        "Move the reader behind what writes, or narrow its 'when' and 'modes'.",
    ),
    Code(
        "U614",
        "lost before it is read",
        "A reader reads what another runner has left in a slot, but runners that take turns lie "
        "at the same addresses: what one of them loads, the other one loses.",
        "sampler: {reads: {logits: {rows: live, from: verify}}}   # without a lifetime of logits",
        "Say 'lifetime: runner' of the slot, so that it shares storage with nothing.",
    ),
    Code(
        "U615",
        "padded write to a live place",
        "A reader stores into the place that each row of an index slot names, padded rows "
        "included. Where these can name a place of a live row, padding overwrites what a request "
        "keeps there. A place below 0, be it of live or padded rows, is counted from the end.",
        "live_range: [0, 99]   # and reads: {places: {rows: padded, fill: 0, scatters: true}}",
        "Reserve a place from 0 on for padding: fill with it, and leave it out of the slot's "
        "'live_range'.",
    ),
    Code(
        "U616",
        "more rows than the limit",
        "A padded batch can be larger than the 'limits' of its runner say that the engine has room "
        "for elsewhere: a capture list, say, goes above the rows of the request pool.",
        "limits: {requests: pool_rows}   # and the mode pads to max(capture_sizes)",
        "Bound the mode or the list that it pads to, or refuse configurations by a constraint.",
    ),
    Code(
        "U617",
        "captured otherwise than replayed",
        "A mode replays graphs that another one captures. A graph keeps the addresses and shapes "
        "that it was captured with, so both load the same slots with the same padded rows, and "
        "every batch that replays ends with extents of a batch that was captured.",
        "captures: {capture: [decode]}   # and decode has more tokens for each request",
        "Give both modes the same slots and readers, and the axes one form in both.",
    ),
    Code(
        "U618",
        "promise that batches break",
        "A runner promises to take some batches of a mode, such as those that fit into a graph, "
        "but a condition of its 'when' or 'accepts' lets some of them fall back.",
        "promises: {decode: requests <= max(captured)}   # and when: attn_cp_size == 1",
        "Take the condition away, or say in the promise that it is meant.",
    ),
    Code(
        "U620",
        "collective that a rank may skip",
        "A rank enters the collectives of its mode when its runner loads. Here the runner does not "
        "always load: by what a fact says, which each rank answers by itself, or in a "
        "configuration in which the collective runs. One rank would go on without the others.",
        "steps: [{do: load, when: has_work}, {step: forward}]   # and the mode has mlp_sync",
        "Load in every round of the mode, or exclude the configuration with a constraint.",
    ),
    Code(
        "U621",
        "transforms out of order",
        "A pipeline has a transform before one that it says to follow, and the two orders come to "
        "different extents, or one of them takes something over ranks. Both are shown.",
        "expand: {after: [align], …}   # and pipeline: [expand, align]",
        "Exchange the two in the pipeline, or drop the name from 'after'.",
    ),
    Code(
        "U622",
        "reader without a slot",
        "A step names a reader, but the runner has none of the slots that this one reads.",
        "slots: [positions]   # and a step with readers: [embedding], which reads input_ids",
        "Give the runner the slots, or take the reader out of the step.",
    ),
    Code(
        "U623",
        "reader of a slot that is not loaded",
        "A reader reads a slot of the runner in a mode that does not load it, or padded rows of a "
        "slot that the runner does not have: it would see what another batch left.",
        "positions: {modes: [decode], …}   # and its reader reads in extend as well",
        "Let the mode load the slot, or say in which modes the reader reads.",
    ),
    Code(
        "U624",
        "padded rows of a slot without any",
        "A reader wants something of padded rows of a slot whose shape follows from parameters "
        "alone, so that no batch has fewer rows than it.",
        "count: {shape: [1], …}   # and reads: {count: {rows: padded, fill: 0}}",
        "Say rows: live, or give the slot an extent along an axis.",
    ),
    Code(
        "U625",
        "slot that nobody reads",
        "Load fills a slot that no reader mentions. Either it is of no use, or a reader is "
        "missing, and nobody has said what its padded rows must hold.",
        "slots: {mrope_positions: {source: batch.mrope_positions, …}}   # and no reader of it",
        "Declare who reads it, and name that reader in a step; or remove the slot.",
    ),
    Code(
        "U626",
        "mode that no runner serves",
        "No runner lists a mode, by its name or by its family: its batches are never loaded, and "
        "what it would capture is not captured.",
        "mode: capture   # and runners with modes: [decode] only",
        "List the mode in a runner, or remove it.",
    ),
    Code(
        "U627",
        "list without a limit",
        "A runner has room for the largest of a list, such as the sizes of its graphs, and another "
        "runner takes what is larger. Nothing says for how many rows the engine has room, such as "
        "in a request pool or in tables of its own, so that a long list is not noticed.",
        "accepts: [requests <= max(captured)]   # and no limits",
        "State the rows that there is room for: limits: {requests: request_pool_size}.",
    ),
    Code(
        "U628",
        "written once, and another for each batch",
        "A slot with 'lifetime: once' is written when its runner is made, before there is a batch. "
        "What it holds and how long it is then follows from the configuration alone: not from "
        "axes, live or padded extents, live variables, or parameters that vary while serving.",
        "counts: {shape: [1], dtype: int32, lifetime: once, value: live_tokens}",
        "Use parameters and definitions only, or let each load write the slot.",
    ),
    Code(
        "U629",
        "carried, and padded or captured",
        "Where a slot with 'otherwise: carried' does not exist, load passes the source on as the "
        "batch has it: its live rows, wherever they lie. Nobody may look for padded rows there, "
        "nor may a graph be captured, which reads one address.",
        "when: pads_alike, otherwise: carried   # and a transform that also pads elsewhere",
        "Let the slot exist, by its 'when', wherever its rows are padded or captured.",
    ),
    Code(
        "U630",
        "overwritten before it is read",
        "Two steps write the same slot for one batch, or one step does so twice, and nobody reads "
        "what the first of them wrote.",
        "written_by: [plan, replan]   # and steps: [{do: load}, {step: plan}, {step: replan}]",
        "Let 'when', 'modes' or 'padded' of the two steps exclude each other, or name a reader at "
        "the first or between them.",
    ),
    Code(
        "U631",
        "more is read than was left",
        "A reader reads what an earlier batch has left in a slot, such as one of another runner. "
        "It reads as many rows as its own batch brings, and that slot can have room for less, or "
        "have been left by nobody in some configuration.",
        "sampler: {reads: {logits: {rows: live, from: verify}}}   # of a mode with twice the rows",
        "Say by the 'modes' and 'when' of the reader for which batches it reads, or bound these.",
    ),
    Code(
        "U634",
        "mode left to the fallback",
        "In some configuration all batches of a mode fall back, such as from a runner of graphs to "
        "one without, though each switch that turns the first one off as a whole is on. Such a "
        "condition is often one too many, and nothing would fail but speed. This is a warning, for "
        "it may be meant.",
        "when: cuda_graph and attn_cp_size == 1   # and fallback: eager, and no promises",
        "Take the condition away, or say by 'promises' which batches the runner takes.",
    ),
    Code(
        "U635",
        "collective that another mode skips",
        "Two modes of one worker can occur together and run different collectives, and nothing is "
        "said about the peers of one of them. If one rank is in the first mode while another is in "
        "the second, the ranks wait for each other in different collectives, or for ever.",
        "mode: decode, pipeline: [mlp_sync]   # and mode: draft, pipeline: [], without peers",
        "Name the modes that other ranks may be in meanwhile under 'peers', whose collectives are "
        "then held to be the same; or say peers: [] if all ranks are in the mode at once.",
    ),
)
