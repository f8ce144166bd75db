# Submission: what is checked and set before the first job starts, or goes to a cluster.
#
# in:  the workflow profile
# out: nothing, or one message; <results>/.lock, held by this call

import shutil


onstart:
    check_submission()
    hold_results()
    start_jobs_when_others_end()
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


def start_jobs_when_others_end():
    """Take Snakemake's limit of submissions per timespan away where nothing is submitted.

    It looks for jobs again after each timespan, once more for every job that has ended: after 150 jobs that took
    a tenth of two cores during timed runs. The end of a call waits for its timers, too.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
