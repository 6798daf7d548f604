"""Loading `concurrent`: which runners may be alive at the same time."""

from __future__ import annotations

from ullage.spec import problems
from ullage.spec.model import Concurrent
from ullage.spec.reading import Reading
from ullage.text.fields import Fields


def load_concurrent(reading: Reading, library: Fields) -> tuple[Concurrent, ...]:
    """The groups of runners that keep their storage to themselves."""
    found = (reading.fields(item, "a concurrent group") for item in library.items("concurrent"))
    return tuple(_group(reading, fields) for fields in found if fields is not None)


def _group(reading: Reading, fields: Fields) -> Concurrent:
    runners = reading.names(fields, "runners", "runner of a worker", required=True)
    if len(runners) < 2 and "runners" in fields:
        found = "one runner, which is never beside itself" if runners else "no runner"
        message = f"'runners' of {fields.what} names {found}"
        hint = "name those that may be alive while it is"
        place = fields.place("runners")
        reading.collector.error(problems.WRONG_COUNT, message, place, hint=hint)
    group = Concurrent(
        runners, reading.when(fields), fields.text("doc", default=""), fields.place("runners")
    )
    fields.finish()
    return group
