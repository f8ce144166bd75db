"""What holds for the result of one backend's products."""

from paragone.results import Result, check_schema


def check(result: Result) -> None:
    """Raise `ValueError` if the result breaks its schema or counts its FLOP wrongly."""
    check_schema(result, "matmul")
    for case in result["cases"]:
        m, k, n = case["shape"]
        if case["flop"] != 2 * m * k * n:
            raise ValueError(f"flop of {m},{k},{n}: {case['flop']} is not 2 m k n")
