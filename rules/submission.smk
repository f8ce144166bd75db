# Submission: what is checked before the first job goes to a cluster.
#
# in:  the workflow profile
# out: nothing, or one message

import shutil


onstart:
    check_submission()
    follow_runs()


def check_submission():
    """Raise `WorkflowError` where the profile leaves Slurm to guess what decides the times, or the bill."""
    if workflow.executor_plugin.name != "slurm":
        return
    remedy = "set it under default-resources in the workflow profile (profiles/slurm/profile.yaml)"
    submitted = [each.resources for each in workflow.rules if not workflow.is_local(each)]
    if not all("slurm_partition" in resources for resources in submitted):
        raise WorkflowError(f"slurm: no slurm_partition; {remedy} to one that `sinfo` lists")
    free = workflow.executor_settings.no_account
    if not (free or all("slurm_account" in resources for resources in submitted)):
        raise WorkflowError(
            f"slurm: no slurm_account; {remedy}, or slurm-no-account: true where nobody is charged"
        )
    if shutil.which("sbatch") is None:
        raise WorkflowError("slurm: no sbatch on PATH; submit from a login node")
