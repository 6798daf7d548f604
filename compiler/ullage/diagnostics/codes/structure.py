"""U2xx: keys, kinds of values and names."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U201",
        "unknown key",
        "Every key of a spec is read by something; a key that nothing reads is a mistake.",
        "positions: {shap: [tokens], dtype: int64}",
        "Correct the key, or delete it.",
    ),
    Code(
        "U202",
        "missing key",
        "A key that has no default is required.",
        "positions: {dtype: int64}   # no shape",
        "Add the key.",
    ),
    Code(
        "U203",
        "wrong kind of value",
        "A value is text, a list or a mapping, and the key wants another of the three.",
        "pipeline: {expand_topk: true}   # a list is wanted",
        "Write the wanted kind; an expression that starts with a bracket needs quotes.",
    ),
    Code(
        "U204",
        "not a legal name",
        "Names go into generated code as they are: a-z first, then a-z, 0-9 or _, at most 64 "
        "characters, and no reserved word of Python.",
        "parameters: {TP-Size: {type: int}}",
        "Rename it, for example to tp_size.",
    ),
    Code(
        "U205",
        "defined twice",
        "A name means one thing in the whole spec folder, or stands once in a list.",
        "two files with 'mode: decode'",
        "Rename or delete one of the two; the message shows both places.",
    ),
    Code(
        "U206",
        "not an integer",
        "Integers are decimal, optionally with groups of three or as a power: 65536, 65_536, 2^16.",
        "ullage: one",
        "Write the integer without leading zeros, other bases, fractions or shifts.",
    ),
    Code(
        "U207",
        "not true or false",
        "Truth values are written true or false; yes, no, on and off are ordinary text here.",
        "optional: yes",
        "Write true or false.",
    ),
    Code(
        "U208",
        "not one of the allowed values",
        "The key takes one of a few words; the message lists them.",
        "dtype: int46",
        "Write one of the words.",
    ),
    Code(
        "U209",
        "no value",
        "A key without a value, or with ~ left out, says nothing.",
        "doc:",
        "Write a value, or delete the key to get its default.",
    ),
    Code(
        "U210",
        "integer out of range",
        "The integer is outside of what the key allows.",
        "ullage: 0",
        "Write an integer in the range that the message shows.",
    ),
    Code(
        "U211",
        "unknown reference",
        "The text names a mode, transform, slot, runner or the like that no file defines.",
        "pipeline: [expand_topp]",
        "Correct the name, or define what it names.",
    ),
    Code(
        "U212",
        "language version",
        "The spec is written for a later version of the language than this compiler knows, so that "
        "nothing else is said about it.",
        "ullage: 7",
        "Install a compiler that knows the version. A later one reads every earlier version.",
    ),
    Code(
        "U213",
        "keys do not go together",
        "Two keys say opposite or overlapping things, or one needs what another does not give.",
        "slot: {source: batch.positions, value: live_tokens}",
        "Keep one of the two, or add the one that is needed.",
    ),
    Code(
        "U214",
        "wrong number of items",
        "The list has more or fewer items than the key takes.",
        "range: [1, 2, 3]",
        "Write as many items as the message says.",
    ),
    Code(
        "U215",
        "runners without an order",
        "The runners of one worker and mode are asked one after another whether they take a batch: "
        "one is first, and each but the last hands on what it refuses.",
        "two runners with 'modes: [decode]' and no 'fallback'",
        "Name the runner that is asked later as the 'fallback' of the other.",
    ),
    Code(
        "U216",
        "batches that no runner takes",
        "Every batch of a mode has to be taken, so the last runner of a chain has no 'accepts', "
        "exists wherever the mode occurs, and serves the modes of those before it.",
        "runner: decode_graph\naccepts: [requests <= 8]   # and no fallback",
        "Name a 'fallback' that serves the mode, or let the last runner take every batch.",
    ),
    Code(
        "U217",
        "not exclusive",
        "An exclusive runner takes a batch by configuration and extents alone, so that its "
        "fallback needs no room for what it takes; a fact can refuse any batch.",
        "accepts: [not replaced_embeds]\nexclusive: true",
        "Leave out 'exclusive', or the fact.",
    ),
    Code(
        "U218",
        "field named almost like another",
        "One place alone names a field of the batch, and it differs in a letter or two from a "
        "field that is named elsewhere. This is a warning.",
        "seen_in: batch.batch_sise   # elsewhere batch.batch_size",
        "Correct the name; if both fields exist, leave it as it is.",
    ),
    Code(
        "U219",
        "not a class of a library",
        "A wrapper is made of a class that generated code imports by its dotted name: the modules, "
        "then the class, each an identifier of Python.",
        "library: flashinfer   # and no class",
        "Write the name as one would import it, such as package.module.Class.",
    ),
    Code(
        "U220",
        "slots that no runner loads together",
        "A wrapper is made over the slots of one batch, so some runner has all of them, and loads "
        "them in one mode.",
        "make: {indptr: decode_indptr, mask: verify_mask}   # slots of two runners",
        "Use slots of one runner, name the missing ones under its 'slots', or split the wrapper.",
    ),
    Code(
        "U221",
        "not a row for each object",
        "Where a wrapper has one object for 'each' index, a slot that is taken 'at' the index has "
        "its first extent as long as there are objects.",
        "each: {step: steps}   # and indptr: {slot: indptr, at: step} of shape [steps + 1, rows]",
        "Say how many there are as the slot does, or take the slot without 'at'.",
    ),
    Code(
        "U222",
        "not in one axis",
        "A wrapper takes a slot as one axis, which is never a copy. The padded view of a slot is "
        "without gaps only if no extent but the first varies from batch to batch.",
        "mask: {slot: mask, flat: true}   # of shape [requests, tokens]",
        "Take the slot without 'flat', or give it later extents that follow from parameters.",
    ),
)
