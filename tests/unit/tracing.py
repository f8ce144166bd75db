"""Which runs a table or the sidecar of a figure names."""

import pandas as pd


def named_runs(table: pd.DataFrame) -> set[str]:
    """The names in its columns of runs; of published rows, what is printed there is none."""
    if "kind" in table:
        table = table[table["kind"] != "published"]
    columns = [name for name in table if name in ("run", "names") or name.startswith("runs")]
    texts = [table[name].dropna() for name in columns if not is_count(table[name])]
    return {word for text in texts for words in text for word in words.split()}


def is_count(column: pd.Series) -> bool:
    """Whether the column says how many runs there were, not which."""
    return pd.api.types.is_numeric_dtype(column)
