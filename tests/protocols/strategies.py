"""Values that frames carry, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, MAX_ATTRIBUTES, Event

ids = st.sampled_from([1, 127, 128, 1 << 32 | 1, (1 << 63) - 1]) | st.integers(1, (1 << 63) - 1)
attributes = st.dictionaries(
    st.text(max_size=5),
    st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | st.booleans() | st.text(max_size=40),
    max_size=5,
)
events: st.SearchStrategy[Event] = st.builds(
    Event,
    ids,
    st.text(max_size=40),
    attributes | st.just({f"a{k}": k for k in range(MAX_ATTRIBUTES)}),
    st.binary(max_size=300),
    st.integers(1, FOREVER) | st.just(FOREVER),
    st.sampled_from([GLOBAL, LOCAL]),
)
