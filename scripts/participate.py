"""Train as a worker of one variant in a contest, whenever the coordinator on standard input says so."""

from pathlib import Path

from paragone.base.errors import entry_point
from paragone.base.processes import end_process
from paragone.config.run_spec import Spec
from paragone.engines import keep_programs
from paragone.machine import limits
from paragone.timing.messages import link
from paragone.timing.participant import take_turns
from paragone.training.clocks import Ledger
from paragone.training.worker import blaming_own_model, join
from paragone.workers.rendezvous import Rendezvous
from paragone.workers.run_options import worker_parser


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    ledger = Ledger()
    coordinator = link()
    parser = worker_parser(__doc__)
    text = "folder where the workers of the variant meet"
    parser.add_argument("--rendezvous", type=Path, required=True, help=text)
    options = parser.parse_args(arguments)
    limits.end_first()  # rather than the coordinator: the others go on
    spec = Spec.from_json(options.spec)
    meeting = Rendezvous(options.rendezvous, spec.workers, options.join_timeout)
    keep_programs()
    with meeting.reporting():
        worker = join(options, spec, meeting, ledger)
        with blaming_own_model(spec):
            take_turns(worker, coordinator)


if __name__ == "__main__":
    main()
    end_process()
