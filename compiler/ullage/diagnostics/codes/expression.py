"""U3xx: expressions."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U301",
        "syntax of an expression",
        "The text is not an expression of the language.",
        "requests * * width",
        "Write one expression: + - * // %, comparisons, and or not, a if c else b, calls.",
    ),
    Code(
        "U302",
        "unknown name",
        "The name is no parameter, definition, axis, live variable or enum value of the spec.",
        "max_runing_requests * 2",
        "Correct the name, or define it.",
    ),
    Code(
        "U303",
        "wrong type",
        "Integers, truth values, enum values and lists do not mix.",
        "speculative + 1   # speculative is a truth value",
        "Compare or convert explicitly, for example 1 if speculative else 0.",
    ),
    Code(
        "U304",
        "units do not match",
        "Only like quantities are added or compared, and a size counts in its axis' unit.",
        "max_total_tokens + num_pages",
        "Multiply by the conversion, for example num_pages * page_size.",
    ),
    Code(
        "U305",
        "unguarded name",
        "The name exists only when its 'when' holds, and here it may not.",
        "requests * speculative_eagle_topk   # in a mode without 'when: speculative'",
        "Guard the use: a if speculative else b, or give the mode or slot the same 'when'.",
    ),
    Code(
        "U306",
        "divisor may be below 1",
        "Every divisor of // % align_up and cdiv is proved to be at least 1 where it is used.",
        "tokens // dllm_block_size   # its range starts at 0",
        "Use max(1, x), guard the expression, or raise the range's lower end.",
    ),
    Code(
        "U307",
        "expression over a limit",
        "The length of an expression, the depth of its brackets and operators, and the size of "
        "its literals (64 bits) are limited, all checked before parsing. So are the depth of a "
        "definition and the size of its value, with the definitions that it uses put in.",
        "2^80",
        "Name parts of the expression under definitions; write a smaller literal.",
    ),
    Code(
        "U308",
        "not a name",
        "A name is a-z first, then a-z, 0-9 or _, and no reserved word; a function's name stands "
        "only in a call.",
        "Requests + max",
        "Spell the name as it is defined, or call the function.",
    ),
    Code(
        "U309",
        "no value of the enum",
        "An enum parameter is compared with a word that is none of its values.",
        "speculative_algorithm == eagel",
        "Write one of the values that the message lists.",
    ),
    Code(
        "U310",
        "construct not allowed",
        "The language is a small part of Python's expressions: no attributes, subscripts, "
        "strings, floats, lambdas, true division or powers by **.",
        "batch.size / 2",
        "Write it with the operators and functions of the language.",
    ),
    Code(
        "U311",
        "wrong arguments",
        "The function takes another number or other kinds of arguments.",
        "align_up(tokens)",
        "Give the arguments that the message lists.",
    ),
    Code(
        "U312",
        "unknown function",
        "Functions are min, max, align_up, cdiv, next_in, upper, sum_requests, sum_ranks and "
        "max_ranks.",
        "ceil_div(tokens, 8)",
        "Use one of them; ceil_div is cdiv.",
    ),
    Code(
        "U313",
        "name not allowed here",
        "The name exists, but not at this place: a live variable in a parameter's range, say.",
        "parameters: {cap: {type: int, range: [1, requests]}}",
        "Use what is known there: parameters and definitions.",
    ),
    Code(
        "U314",
        "empty range",
        "The lower end of a range lies above its upper end.",
        "range: [8, 4]",
        "Exchange the ends or widen the range.",
    ),
    Code(
        "U315",
        "not a unit",
        "A unit is a product or quotient of requests, tokens, pages, ranks and bytes.",
        "unit: tokens per page",
        "Write it as in tokens/pages.",
    ),
    Code(
        "U316",
        "default out of range",
        "The default of a parameter is not in its range, so that nobody could leave it out.",
        "{type: int, range: [1, 64], default: 0}",
        "Widen the range or choose another default.",
    ),
)
