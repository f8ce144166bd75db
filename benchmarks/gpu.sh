#!/usr/bin/env bash
# What one GPU decides in 13 minutes, in order of worth: `make gpu`, see README.md. Each part ends with results/bundle.zip of all
# that is there by then; a part that fails, or that its limit cuts, is lost alone. Nothing is installed: the Python on PATH has
# Snakemake, the packages of envs/workflow.in and a PyTorch; other frameworks that it lacks are left out.
# PARAGONE_ACCELERATOR=cpu: a trial without a GPU, tiny. LIMIT: seconds of the whole.
set -uo pipefail
SECONDS=0
LIMIT="${LIMIT:-780}"
export PARAGONE_ACCELERATOR="${PARAGONE_ACCELERATOR:-auto}"
presets=(presets/gpu.yaml)
suite=()
if [ "$PARAGONE_ACCELERATOR" = cpu ]; then
    presets+=(benchmarks/gpu_on_cpu.yaml)
    suite=(-k "a_run_learns and not fsdp")
fi
frameworks="$(python -c '
from importlib.util import find_spec
needs = {"torch": ["torch"], "jax": ["jax", "flax", "optax"], "tensorflow": ["tensorflow"]}
print(",".join(name for name, modules in needs.items() if all(map(find_spec, modules))))')" || exit 2
parts=(one_device xla_fashion_cnn gpu_nanogpt gpu_resnet_18 batch_size_throughput batch_size_time_to_accuracy)
states=()
measured=""
trap 'kill $(jobs -p); exit 130' INT TERM

# limited NAME SECONDS COMMAND...: a part within so many seconds, and within what is left of the whole.
limited() {
    local begun=$SECONDS left=$((LIMIT - SECONDS)) status=124
    echo "== $1"
    if [ $left -gt 0 ]; then
        timeout --kill-after=10 $(($2 < left ? $2 : left)) "${@:3}" &  # which the trap can end
        wait $!
        status=$?
    fi
    case $status in 0) words="done" ;; 124 | 137) words="cut by its limit" ;; *) words="failed" ;; esac
    states+=("$1: $words, $((SECONDS - begun)) s")
    return $status
}

# measure EXPERIMENTS OPTION...: the bundle of these; options are Snakemake's.
measure() {
    printf '%s\0' snakemake -s workflows/bundles/Snakefile bundle "${@:2}" --cores all \
        --configfile "${presets[@]}" --config "only=[$1]" "frameworks=[$frameworks]"
}

# Data, and what the parity gate's reference computes on the CPU, while the suite keeps the GPU busy.
mapfile -d '' -t line < <(measure "$(IFS=,; echo "${parts[*]}")" --until first_steps \
    results/parity/{fashion-cnn,nanogpt-gpu,resnet-18,wide-resnet}/reference.npz)
timeout --kill-after=10 300 "${line[@]}" &
limited suite 300 bash tests/run.sh accelerator "${suite[@]}"
wait
for part in "${parts[@]}"; do
    mapfile -d '' -t line < <(measure "$measured$part" $([ "$part" != one_device ] || echo first_answer))
    if limited "$part" "$LIMIT" "${line[@]}"; then measured+="$part,"; fi
done
printf '%s\n' "== Parts of \`make gpu\`, in $SECONDS s; frameworks: $frameworks" "${states[@]}"
[ "$measured" = "$(printf '%s,' "${parts[@]}")" ]
