"""What holds for the result of one backend's all-reduces."""

from paragone.results import Result, check_schema


def check(result: Result) -> None:
    """Raise `ValueError` if the result breaks its schema or a group has other devices than replicas."""
    check_schema(result, "allreduce")
    for group in result["groups"]:
        each = group["replicas"] // group["workers"]
        if group["status"] == "completed" and len(group["devices"]) != each:
            raise ValueError(f"groups: {group['devices']} are not {each} device(s) a worker")
