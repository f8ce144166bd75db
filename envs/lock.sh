#!/usr/bin/env bash
# Pin all that is ever installed, from the short lists *.in; `make lock` calls this with its uv.
#
#   requirements.txt, dev.txt, uv.txt   what `make` installs, on every platform
#   cloud.txt, audit.txt                what submits to clouds, what asks for vulnerabilities, likewise
#   base.linux-64.txt                   what `make all FRAMEWORKS=...` installs beside frameworks
#   gpu-compiler.txt                    what `make gpu-compiler` installs beside all frameworks
#   <name>.linux-64.txt                 the pin file of one backend, for Linux on x86-64
#   <name>.yaml                         the same pins for conda
#
# Two things about Snakemake decide the form of the last two. It copies the conda file elsewhere, so that
# its pip section must hold the pins themselves, not the name of a list. And it hands a file named
# <name>.linux-64.pin.txt to conda in place of the conda file, whose pip section would be lost.
set -euo pipefail
cd "$(dirname "$0")"

python=3.11.9
pip=25.1.1
environments=(
    workflow
    tensorflow tensorflow-gpu tensorflow-tpu
    torch torch-cuda torch-xla torch-xla-tpu
    jax jax-cuda jax-tpu
)
constraints=$(mktemp)
trap 'rm "$constraints"' EXIT

pin() {
    uv pip compile --quiet --generate-hashes --no-annotate --no-header "$@"
}

for name in requirements dev cloud audit uv; do
    pin "$name.in" --output-file "$name.txt" --universal --python-version "${python%.*}"
done

# Every environment has the versions of requirements.txt, and TensorFlow one version under each of its
# names. NVIDIA's libraries and the TPU's are left out: each framework asks for its own.
sed -n 's/ \\$//; /^nvidia-.*-cu/d; /^libtpu/d; /^[a-z0-9]/p; s/^tensorflow-cpu==/tensorflow==/p' requirements.txt >"$constraints"

platform=(--python-platform x86_64-manylinux_2_31 --python-version "$python")

pin_for_linux() {
    pin "$1.in" --output-file "$1.linux-64.txt" "${platform[@]}" --constraints "$constraints"
}

pin_for_linux base
for name in "${environments[@]}"; do
    pin_for_linux "$name"
    {
        sed -n '/^#/p' "$name.in"
        echo "# Written by \`make lock\` from $name.in: the pins of $name.linux-64.txt."
        printf '%s\n' 'channels:' '  - conda-forge' 'dependencies:'
        printf '  - %s\n' "python =$python" "pip =$pip" 'pip:'
        sed -n 's/^\([a-z0-9][^ ]*\).*/      - \1/p' "$name.linux-64.txt"
    } >"$name.yaml"
done

# The versions of jax-cuda, whose other packages the compiler does not need.
pin gpu-compiler.in --output-file gpu-compiler.txt "${platform[@]}" --no-deps --constraints jax-cuda.linux-64.txt
